package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestMainRefuses(t *testing.T) {
	for _, c := range []struct{ name, fn, in, code string }{
		{"another build", "read", `{"build":"x","params":{}}`, "conflict"},
		{"no function", "", `{"build":"b"}`, "usage"},
		{"unknown function", "rm", `{"build":"b"}`, "usage"},
		{"no JSON", "read", `{`, "usage"},
		{"unknown field", "read", `{"build":"b","caps":["*"]}`, "usage"},
		{"a key twice", "read", `{"build":"b","params":{"path":"a","path":"b"}}`, "usage"},
		{"unknown parameter", "read", `{"build":"b","params":{"path":"a","mode":1}}`, "usage"},
		{"another case", "bash", `{"build":"b","params":{"Command":"true"}}`, "usage"},
		{"no project", "read", `{"build":"b","params":{"path":"a"}}`, "usage"},
	} {
		var out bytes.Buffer
		exit := Main(context.Background(), []string{c.fn}, "b", strings.NewReader(c.in), &out)
		var a answer
		if err := json.Unmarshal(out.Bytes(), &a); err != nil || exit != 1 || a.Code != c.code {
			t.Errorf("%s: exit %d, %s, want code %s", c.name, exit, out.Bytes(), c.code)
		}
	}
}

func TestRead(t *testing.T) {
	w := newWorld(t)
	w.file("a.txt", "one\r\ntwo\r\n\r\nfour")
	a := w.call("read", m{"path": "a.txt", "line_ids": false})
	if a.Content != "one\ntwo\n\nfour\n" || a.Total != 4 || a.LineIDs {
		t.Errorf("bare: %+v", a)
	}
	a = w.call("read", m{"path": "a.txt", "offset": 2, "limit": 2})
	if f := strings.Split(a.Content, "\t"); len(f) != 5 || f[0] != "2" || len(f[1]) != 6 || f[2] != "two\n3" {
		t.Errorf("content %q", a.Content)
	}
	if a.Endings != "crlf" || !a.Truncated || a.Next != 4 || a.Total != 4 || a.Lines != 2 {
		t.Errorf("window: %+v", a)
	}
	for _, p := range []string{w.path("a.txt"), "./x/../a.txt", "a.txt"} {
		w.file("x/y", "")
		if a := w.call("read", m{"path": p}); !a.Success {
			t.Errorf("read %q: %s", p, a.Error)
		}
	}
	w.file("empty", "")
	if a = w.call("read", m{"path": "empty"}); !a.Success || a.Content != "" || a.Total != 0 || a.Truncated {
		t.Errorf("empty: %+v", a)
	}
	if a = w.call("read", m{"path": "a.txt", "offset": 99}); !a.Success || a.Content != "" || a.Truncated {
		t.Errorf("behind the end: %+v", a)
	}
	w.file("bad", "a\xffb\n")
	if a = w.call("read", m{"path": "bad", "line_ids": false}); a.Content != "a\uFFFDb\n" || !a.BadUTF8 {
		t.Errorf("invalid UTF-8: %+v", a)
	}
	w.file("bin", "ELF\x00")
	w.refused("read", m{"path": "bin"}, "malformed")
	w.refused("read", m{"path": "x"}, "usage")
	w.refused("read", m{"path": "nothing"}, "not_found")
	w.refused("read", m{"path": "no/thing"}, "not_found")
	w.refused("read", m{"path": "a.txt/x"}, "usage")
	w.refused("read", m{"path": "a.txt", "limit": 2001}, "usage")
	w.refused("read", m{"path": "a\x00b"}, "usage")
	w.refused("read", m{"path": strings.Repeat("x/", 3000)}, "limit")
	w.refused("read", m{"path": strings.Repeat("x/", 1000)}, "limit")
}

// The limits are RYE OS's: 2,000 lines, 2,000 characters of a line, 51,200 bytes.
func TestReadLimits(t *testing.T) {
	w := newWorld(t)
	w.file("many", strings.Repeat("x\n", 5000))
	if a := w.call("read", m{"path": "many"}); a.Lines != 2000 || a.Next != 2001 || a.Total != 5000 || len(a.Content) > maxReadBytes {
		t.Errorf("many lines: %d, next %d, total %d, %d bytes", a.Lines, a.Next, a.Total, len(a.Content))
	}
	w.file("long", strings.Repeat("é", 3000)+"\nnext\n")
	a := w.call("read", m{"path": "long", "line_ids": false})
	if want := strings.Repeat("é", 2000) + " [rye: 1000 characters more]\nnext\n"; a.Content != want || !a.Truncated || a.Next != 0 {
		t.Errorf("long line: %d bytes, truncated %v, next %d", len(a.Content), a.Truncated, a.Next)
	}
	w.file("wide", strings.Repeat(strings.Repeat("y", 1000)+"\n", 100))
	a = w.call("read", m{"path": "wide", "line_ids": false})
	if len(a.Content) > maxReadBytes || a.Lines != 51 || a.Next != 52 {
		t.Errorf("wide: %d bytes, %d lines, next %d", len(a.Content), a.Lines, a.Next)
	}
	// Going on where the last answer ended gives the whole file, once.
	var all strings.Builder
	for off := 1; off != 0; {
		a := w.call("read", m{"path": "wide", "offset": off, "line_ids": false})
		all.WriteString(a.Content)
		off = a.Next
	}
	if all.String() != w.text("wide") {
		t.Error("the pages are not the file")
	}
}

// A file too large for ids is still read, in a window, without reading the rest.
func TestReadHuge(t *testing.T) {
	w := newWorld(t)
	f, err := os.Create(w.path("huge"))
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(strings.Repeat("line\n", 4000))
	size := int64(64 << 20)
	if os.Getenv("RYE_SOAK") != "" {
		size = 1 << 30
	}
	if err := f.Truncate(size); err != nil { // sparse: one line of NUL bytes
		t.Skip(err)
	}
	f.Close()
	a := w.call("read", m{"path": "huge", "offset": 10, "limit": 3})
	if !a.Success || a.LineIDs || a.Content != "line\nline\nline\n" || a.Total != 0 || a.Next != 13 {
		t.Errorf("huge: %+v", a)
	}
	// Its last line is nearly all of it. It is shortened, not held.
	if a = w.call("read", m{"path": "huge", "offset": 4001}); !a.Success || len(a.Content) > maxReadBytes || !a.Truncated {
		t.Errorf("huge, last line: success %v %s, %d bytes", a.Success, a.Error, len(a.Content))
	}
	w.refused("edit_lines", m{"path": "huge", "changes": []m{{"line_id": "aaaaaa", "new_content": "x"}}}, "limit")
}

func TestWrite(t *testing.T) {
	w := newWorld(t)
	if a := w.call("write", m{"path": "a/b/c.txt", "content": "hi\r\n"}); !a.Success || w.text("a/b/c.txt") != "hi\r\n" {
		t.Errorf("new: %+v, %q", a, w.text("a/b/c.txt"))
	}
	w.file("run.sh", "old")
	os.Chmod(w.path("run.sh"), 0o750)
	if a := w.call("write", m{"path": "run.sh", "content": ""}); !a.Success || w.text("run.sh") != "" {
		t.Errorf("replace: %+v", a)
	}
	if info, _ := os.Stat(w.path("run.sh")); runtime.GOOS != "windows" && info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, want 0750", info.Mode())
	}
	a := w.call("write", m{"files": []m{{"path": "x", "content": "1"}, {"path": "d/y", "content": "2"}}})
	if !a.Success || w.text("x") != "1" || w.text("d/y") != "2" {
		t.Errorf("files: %+v", a)
	}
	for _, bad := range []m{{}, {"path": "x"}, {"content": "x"}, {"files": []m{}}, {"path": "x", "content": "y", "files": []m{{"path": "z", "content": ""}}},
		{"files": []m{{"path": "z"}}}, {"files": []m{{"path": "z", "content": ""}, {"path": "d/../z", "content": ""}}}} {
		w.refused("write", bad, "usage")
	}
	w.refused("write", m{"path": "d", "content": ""}, "denied")
	w.refused("write", m{"path": ".", "content": ""}, "denied")
	many := make([]m, 101)
	for i := range many {
		many[i] = m{"path": fmt.Sprint("m", i), "content": ""}
	}
	w.refused("write", m{"files": many}, "limit")
}

// All or nothing: a file that cannot be written keeps the others from being written.
func TestWriteAllOrNothing(t *testing.T) {
	w := newWorld(t)
	w.file("keep.txt", "old")
	w.file("dir/x", "")
	before := listing(t, w.in.Project)
	for name, last := range map[string]m{
		"a directory": {"path": "dir", "content": "x"}, "git": {"path": "new/.git/x", "content": "x"}, "outside": {"path": "../x", "content": "x"},
		"a file on the way": {"path": "keep.txt/x", "content": "x"}, "an item": {"path": ".ai/x", "content": "x"},
	} {
		a := w.call("write", m{"files": []m{{"path": "keep.txt", "content": "new"}, {"path": "made/deep/new.txt", "content": "new"}, last}})
		if a.Success {
			t.Errorf("%s: written", name)
		}
		if now := listing(t, w.in.Project); now != before {
			t.Errorf("%s: left behind\n%s\nwas\n%s", name, now, before)
		}
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		var raw []byte
		if err == nil && d.Type().IsRegular() {
			raw, _ = os.ReadFile(p)
		}
		fmt.Fprintf(&b, "%s %q\n", strings.TrimPrefix(p, dir), raw)
		return err
	})
	return b.String()
}

// ids reads a file's ids, by line number from 1.
func (w *world) ids(path string) []string {
	w.t.Helper()
	out := []string{""}
	for _, l := range strings.Split(strings.TrimSuffix(w.call("read", m{"path": path}).Content, "\n"), "\n") {
		out = append(out, strings.Split(l, "\t")[1])
	}
	return out
}

func TestEditLines(t *testing.T) {
	type change = m
	for _, c := range []struct {
		name, old string
		changes   func(id []string) []change
		want      string
	}{
		{"one line", "a\nb\nc\n", func(id []string) []change { return []change{{"line_id": id[2], "new_content": "B"}} }, "a\nB\nc\n"},
		{"a range", "a\nb\nc\nd\n", func(id []string) []change {
			return []change{{"start_line_id": id[2], "end_line_id": id[3], "new_content": "x\ny\nz\n"}}
		}, "a\nx\ny\nz\nd\n"},
		{"remove", "a\nb\nc\n", func(id []string) []change { return []change{{"line_id": id[2], "new_content": ""}} }, "a\nc\n"},
		{"an empty line", "a\nb\n", func(id []string) []change { return []change{{"line_id": id[2], "new_content": "\n"}} }, "a\n\n"},
		{"several, in any order", "a\nb\nc\n", func(id []string) []change {
			return []change{{"line_id": id[3], "new_content": "C\nD"}, {"line_id": id[1], "new_content": "A\nA2"}}
		}, "A\nA2\nb\nC\nD\n"},
		{"CRLF is kept", "a\r\nb\r\n", func(id []string) []change { return []change{{"line_id": id[1], "new_content": "x\ny"}} }, "x\r\ny\r\nb\r\n"},
		{"no last line end", "a\nb", func(id []string) []change { return []change{{"line_id": id[2], "new_content": "x\ny\n"}} }, "a\nx\ny"},
		{"bytes that are no UTF-8 elsewhere", "a\n\xff\n\nc\n", func(id []string) []change { return []change{{"line_id": id[4], "new_content": "C"}} }, "a\n\xff\n\nC\n"},
		{"upper case id", "a\nb\n", func(id []string) []change { return []change{{"line_id": strings.ToUpper(id[1]), "new_content": "x"}} }, "x\nb\n"},
		{"one of many alike", strings.Repeat("}\n", 9), func(id []string) []change { return []change{{"line_id": id[5], "new_content": "x"}} },
			strings.Repeat("}\n", 4) + "x\n" + strings.Repeat("}\n", 4)},
		{"all", "a\n", func(id []string) []change { return []change{{"line_id": id[1], "new_content": ""}} }, ""},
	} {
		w := newWorld(t)
		w.file("f", c.old)
		a := w.call("edit_lines", m{"path": "f", "changes": c.changes(w.ids("f"))})
		if !a.Success || w.text("f") != c.want {
			t.Errorf("%s: %s %q, want %q", c.name, a.Error, w.text("f"), c.want)
		}
		// The ids of the answer are those that read gives now.
		if fresh := w.call("read", m{"path": "f"}); a.Version != fresh.Version {
			t.Errorf("%s: version %s, read says %s", c.name, a.Version, fresh.Version)
		} else {
			for _, e := range a.Changes {
				if !strings.Contains(fresh.Content, e.Content) {
					t.Errorf("%s: the answer shows %q, read %q", c.name, e.Content, fresh.Content)
				}
			}
		}
	}
}

func TestEditRefuses(t *testing.T) {
	w := newWorld(t)
	w.file("f", "a\nb\nc\nd\n")
	id := w.ids("f")
	for _, bad := range []m{
		{"path": "f", "changes": []m{}},
		{"path": "f", "changes": []m{{"new_content": "x"}}},
		{"path": "f", "changes": []m{{"line_id": id[1]}}},
		{"path": "f", "changes": []m{{"line_id": id[1], "end_line_id": id[2], "new_content": "x"}}},
		{"path": "f", "changes": []m{{"start_line_id": id[1], "new_content": "x"}}},
		{"path": "f", "changes": []m{{"start_line_id": id[3], "end_line_id": id[1], "new_content": "x"}}},
		{"path": "f", "changes": []m{{"line_id": id[1], "new_content": "x"}, {"start_line_id": id[1], "end_line_id": id[2], "new_content": "y"}}},
	} {
		w.refused("edit_lines", bad, "usage")
	}
	w.refused("edit_lines", m{"path": "f", "changes": []m{{"line_id": "000000", "new_content": "x"}}}, "stale")
	w.refused("edit_lines", m{"path": "none", "changes": []m{{"line_id": "000000", "new_content": "x"}}}, "not_found")
	w.refused("edit_lines", m{"path": ".ai/tools/x.sh", "changes": []m{{"line_id": "000000", "new_content": "x"}}}, "denied")
	w.refused("edit_lines", m{"path": "f", "version": "0123456789abcdef", "changes": []m{{"line_id": id[1], "new_content": "x"}}}, "stale")
	if w.text("f") != "a\nb\nc\nd\n" {
		t.Errorf("changed: %q", w.text("f"))
	}
}

// An edit against a file that changed hits the line that was meant, or is refused.
// Never another line.
func TestEditIsNeverMisplaced(t *testing.T) {
	block := "func f() {\n\treturn\n}\n\n"
	for name, c := range map[string]struct {
		old   string
		line  int
		now   string
		stale bool
	}{
		"elsewhere":                      {"a\nb\nc\nd\ne\nf\n", 2, "a\nb\nc\nd\ne\nF\nG\n", false},
		"lines inserted far above":       {"a\nb\nc\nd\n", 4, "x\ny\na\nb\nc\nd\n", false},
		"the line itself":                {"a\nb\nc\n", 2, "a\nB\nc\n", true},
		"its ending":                     {"a\nb\nc\n", 2, "a\nb\r\nc\n", true},
		"the line before":                {"a\nb\nc\n", 2, "A\nb\nc\n", true},
		"the line behind":                {"a\nb\nc\n", 2, "a\nb\nC\n", true},
		"removed":                        {"a\nb\nc\n", 2, "a\nc\n", true},
		"the first of two alike removed": {block + block, 6, block, true},
		"a third alike added":            {block + block, 2, block + block + block, true},
		"moved to other neighbours":      {"a\nb\nc\nd\n", 2, "a\nc\nb\nd\n", true},
	} {
		w := newWorld(t)
		w.file("f", c.old)
		id := w.ids("f")[c.line]
		meant := strings.Split(c.old, "\n")[c.line-1]
		w.file("f", c.now)
		a := w.call("edit_lines", m{"path": "f", "changes": []m{{"line_id": id, "new_content": "EDITED"}}})
		switch {
		case c.stale && (a.Success || a.Code != "stale" || w.text("f") != c.now):
			t.Errorf("%s: success %v, code %q, %q", name, a.Success, a.Code, w.text("f"))
		case !c.stale && w.text("f") != strings.Replace(c.now, meant, "EDITED", 1):
			t.Errorf("%s: %s %q", name, a.Error, w.text("f"))
		}
	}
}

// Ids are unique in a file, and two lines whose short ids collide get long ones.
func TestLineIDsAreUnique(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 { // about 100 collisions in 24 bits
		fmt.Fprintf(&b, "line %d\n", i%50_000)
	}
	x := &text{}
	for _, l := range strings.SplitAfter(b.String(), "\n") {
		x.lines = append(x.lines, []byte(l))
	}
	seen, long := map[string]bool{}, 0
	for _, id := range x.ids() {
		if seen[id] {
			t.Fatalf("id %s twice", id)
		}
		seen[id] = true
		if len(id) == 12 {
			long++
		}
	}
	if long == 0 || long%2 == 1 && long < 3 {
		t.Errorf("%d long ids among 60,000: want some pairs", long)
	}
}

func TestSystem(t *testing.T) {
	w := newWorld(t)
	for _, item := range []string{"paths", "time", "runtime"} {
		if a := w.call("system", m{"item": item}); !a.Success {
			t.Errorf("%s: %s", item, a.Error)
		}
	}
	w.refused("system", m{"item": "env"}, "usage")
	w.refused("system", m{}, "usage")
}
