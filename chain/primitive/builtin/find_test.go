package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"a.go", "b.txt", "src/a.go", "src/deep/x/y.go", "src/deep/z.ts", "src/.hidden.go", "node_modules/m/a.go", "src/node_modules/n.go", "[x].go"} {
		w.file(f, "")
	}
	for _, c := range []struct{ pattern, path, want string }{
		{"*.go", "", "[x].go a.go"},
		{"**/*.go", "", "[x].go a.go src/.hidden.go src/a.go src/deep/x/y.go"},
		{"**/*.{go,ts}", "src", "src/.hidden.go src/a.go src/deep/x/y.go src/deep/z.ts"},
		{"src/**/?.go", "", "src/a.go src/deep/x/y.go"},
		{"src/**/**/z.ts", "", "src/deep/z.ts"},
		{"{src,lib}/{a,b}.go", "", "src/a.go"},
		{"[ab].*", "", "a.go b.txt"},
		{`\[x\].go`, "", "[x].go"},
		{"node_modules/**/*.go", "", "node_modules/m/a.go"},
		{"hidden/*", "", ""},
		{".git/**", "", ".git/hooks/pre-commit"},
		{"**", "src/deep", "src/deep/x/y.go src/deep/z.ts"},
		{"nothing*", "", ""},
	} {
		a := w.call("glob", m{"pattern": c.pattern, "path": c.path})
		var files []string
		json.Unmarshal(a.Files, &files)
		if got := strings.Join(files, " "); !a.Success || got != c.want {
			t.Errorf("glob %q in %q = %q (%s), want %q", c.pattern, c.path, got, a.Error, c.want)
		}
	}
	w.refused("glob", m{"pattern": "../*"}, "denied")
	w.refused("glob", m{"pattern": "/etc/*"}, "denied")
	w.refused("glob", m{"pattern": "[a"}, "usage")
	w.refused("glob", m{"pattern": ""}, "usage")
	w.refused("glob", m{"pattern": strings.Repeat("{a,b}", 10)}, "limit")
	w.refused("glob", m{"pattern": "*", "path": ".."}, "denied")
	w.refused("glob", m{"pattern": "*", "path": "a.go"}, "usage")
	w.refused("glob", m{"pattern": "*", "path": "none"}, "not_found")
	for i := range 150 {
		w.file(fmt.Sprintf("many/%03d", i), "")
	}
	if a := w.call("glob", m{"pattern": "many/*"}); a.Count != 100 || !a.Truncated {
		t.Errorf("many: %d hits, truncated %v", a.Count, a.Truncated)
	}
}

func TestGrep(t *testing.T) {
	w := newWorld(t)
	w.file("a.go", "package a\n\nfunc Größe() {}\r\n")
	w.file("sub/b.txt", "func in text\n")
	w.file("bin", "func\x00")
	w.file("node_modules/c.go", "func no\n")
	hits := func(a answer) string {
		var out []string
		for _, h := range a.Matches {
			out = append(out, fmt.Sprintf("%s:%d:%d:%s", h.Path, h.Line, h.Column, h.Text))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ pattern, path, include, want string }{
		{"func", "", "", "a.go:3:1:func Größe() {} sub/b.txt:1:1:func in text"},
		{"^func", "", "*.go", "a.go:3:1:func Größe() {}"},
		{"FUNC", "", "", ""},
		{"(?i)FUNC in", "sub", "", "sub/b.txt:1:1:func in text"},
		{`\(`, "a.go", "", "a.go:3:11:func Größe() {}"},
		{"SECRET|hook", "", "", ""},
		{"text$", "", "sub/*.txt", "sub/b.txt:1:9:func in text"},
	} {
		if a := w.call("grep", m{"pattern": c.pattern, "path": c.path, "include": c.include}); !a.Success || hits(a) != c.want {
			t.Errorf("grep %q = %q (%s), want %q", c.pattern, hits(a), a.Error, c.want)
		}
	}
	w.refused("grep", m{"pattern": "("}, "usage")
	w.refused("grep", m{"pattern": `(?=x)`}, "usage")
	w.refused("grep", m{"pattern": strings.Repeat("((((x{1000}){1000}){1000})", 1)}, "usage")
	w.refused("grep", m{"pattern": "x", "path": "../outside.txt"}, "denied")
	w.file("lots", strings.Repeat("hit\n", 500))
	if a := w.call("grep", m{"pattern": "hit"}); a.Count != 100 || !a.Truncated {
		t.Errorf("lots: %d, truncated %v", a.Count, a.Truncated)
	}
	w.file("wide", strings.Repeat("é", 5000)+"NEEDLE"+strings.Repeat("ü", 5000)+"\n")
	a := w.call("grep", m{"pattern": "NEEDLE"})
	if len(a.Matches) != 1 || a.Matches[0].Column != 5001 || !strings.Contains(a.Matches[0].Text, "NEEDLE") || len(a.Matches[0].Text) > 2000 {
		t.Errorf("wide: %+v", a.Matches)
	}
}

func TestList(t *testing.T) {
	w := newWorld(t)
	w.file("d/b.sh", "123")
	os.Chmod(w.path("d/b.sh"), 0o755)
	w.file("d/sub/x", "")
	os.Symlink("b.sh", w.path("d/a"))
	a := w.call("ls", m{"path": "d"})
	var got []string
	for _, e := range a.Entries {
		got = append(got, e.Name+" "+e.Type+" "+e.Target)
	}
	if want := "a link b.sh,b.sh file ,sub directory "; runtime.GOOS != "windows" && strings.Join(got, ",") != want {
		t.Errorf("ls = %q, want %q", strings.Join(got, ","), want)
	}
	if e := a.Entries[1]; e.Size == nil || *e.Size != 3 || e.Modified == "" || runtime.GOOS != "windows" && !e.Exec {
		t.Errorf("b.sh: %+v", e)
	}
	if a := w.call("ls", m{}); a.Count < 4 {
		t.Errorf("the project: %+v", a)
	}
	if a := w.call("ls", m{"path": "d/b.sh"}); a.Count != 1 || a.Entries[0].Name != "b.sh" {
		t.Errorf("a file: %+v", a)
	}
	w.refused("ls", m{"path": "none"}, "not_found")
	w.refused("ls", m{"path": "hidden"}, "denied")
	for i := range 1005 {
		w.file(fmt.Sprintf("many/%04d", i), "")
	}
	if a := w.call("ls", m{"path": "many"}); a.Count != 1000 || !a.Truncated || a.Entries[999].Name != "0999" {
		t.Errorf("many: %d, truncated %v", a.Count, a.Truncated)
	}
}
