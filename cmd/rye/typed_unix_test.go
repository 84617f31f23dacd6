//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestTypedMistakes types what people get wrong, one line in each file of testdata/typed, and
// compares what they are told: the message, the hint, the exit status. Nothing that was there
// may be lost or changed by it. Then the hint is typed as it stands, in the same state, and has to
// work, or to ask for consent that nobody is there to give; what it did is put back.
func TestTypedMistakes(t *testing.T) {
	t.Parallel()
	needBash(t)
	files, err := filepath.Glob(filepath.Join("testdata", "typed", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 60 {
		t.Fatalf("%d mistakes, want at least 60", len(files))
	}
	w := newMistaken(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(raw)
			got := w.mistake(t, strings.TrimSpace(string(a.Comment)))
			if *update {
				a.Files = []txtar.File{{Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 1 || string(a.Files[0].Data) != got {
				t.Errorf("got:\n%s\nread it, then: go test ./cmd/rye -run TypedMistakes -update", got)
			}
		})
	}
}

// mistaken is a project in which things are as people mistake them, and a copy of it.
type mistaken struct {
	*home
	top  string // everything that rye knows of
	kept map[string]node
}

// node is a file or a directory as it was.
type node struct {
	mode fs.FileMode
	data []byte
}

const mistakenTool = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# description: Fetch it
# category: acme
# config_schema: {type: object, properties: {name: {type: string}}, additionalProperties: false}
echo fetched
`

// newMistaken makes the project: what is signed, what is not, what was edited since, removed,
// called like another, and what somebody else published.
func newMistaken(t *testing.T) *mistaken {
	carol := newHome(t)
	url := filepath.Join(t.TempDir(), "registry.git")
	carol.rye("config", "namespace", "carol")
	carol.write(".ai/tools/carol/fetch.sh", strings.ReplaceAll(mistakenTool, "category: acme", "category: carol"))
	carol.rye("sign", "--all")
	carol.rye("registry", "init", url, "--namespace", "carol", "--yes")
	carol.rye("push", "--all", "--yes")
	h := newHome(t)
	entry := func(name string) string {
		return "---\nid: " + name + "\ntitle: " + name + "\nversion: 1.0.0\nentry_type: reference\ncategory: acme\n---\nText.\n"
	}
	for _, name := range []string{"style", "report", "gone"} {
		h.write(".ai/knowledge/acme/"+name+".md", entry(name))
	}
	for _, name := range []string{"fetcher", "report", "edited"} {
		h.write(".ai/tools/acme/"+name+".sh", mistakenTool)
	}
	h.rye("sign", "--all")
	h.rye("registry", "add", url, "--yes")
	h.rye("add", "carol/tool/fetch", "--dry-run")
	h.rye("lock")
	if err := os.Remove(filepath.Join(h.dir, ".ai", "rye.lock")); err != nil {
		t.Fatal(err)
	}
	h.rye("rm", "knowledge:acme/gone")
	h.write(".ai/tools/acme/edited.sh", mistakenTool+"echo more\n")
	h.write(".ai/tools/acme/unsigned.sh", mistakenTool)
	user := h.variable("HOME")
	for _, name := range []string{"style", "mine"} {
		path := filepath.Join(user, ".ai", "knowledge", "acme", name+".md")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(entry(name), "Text", "Mine", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.rye("sign", "--all", "--space", "user")
	m := &mistaken{home: h, top: filepath.Dir(h.dir)}
	m.kept = m.nodes(t)
	return m
}

// mistake types a line and then its hint, and says what came of both.
func (m *mistaken) mistake(t *testing.T, line string) string {
	out, exit := m.shell(t, line)
	if exit == 0 {
		t.Errorf("%s: nothing was wrong with it", line)
	}
	if lost := m.differs(m.nodes(t)); len(lost) > 0 {
		t.Errorf("%s changed %q", line, lost)
	}
	got := fmt.Sprintf("%sexit %d\n", m.plain(out), exit)
	hint := hinted(out)
	if hint == "" {
		t.Errorf("%s has no hint that can be typed:\n%s", line, out)
		return got
	}
	out, exit = m.shell(t, hint)
	if exit != 0 && !(tried{Output: out}).asks() {
		t.Errorf("%s shows the hint %s, which ends with %d:\n%s", line, hint, exit, out)
	}
	m.putBack(t)
	return got + fmt.Sprintf("then: %s: exit %d\n", m.plain(hint), exit)
}

var hintLine = regexp.MustCompile(`(?m)^rye: hint: (?:did you mean )?((?:rye|export) .*?)(?:\?|, .*)?$`)

// hinted returns the command that an output hints at; "" for none.
func hinted(out string) string {
	if found := hintLine.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return ""
}

func (m *mistaken) shell(t *testing.T, line string) (string, int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = m.dir, append(slices.Clip(m.env), "PATH="+bin+":"+os.Getenv("PATH"))
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

var changing = regexp.MustCompile(`SHA256:[A-Za-z0-9+/]{43}|sha256:[0-9a-f]{64}|\b[0-9a-f]{32,64}\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z`)

// plain puts words in the place of what is another one in each run.
func (m *mistaken) plain(out string) string {
	out = strings.ReplaceAll(strings.ReplaceAll(out, m.dir, "$PROJECT"), m.variable("HOME"), "$HOME")
	return changing.ReplaceAllString(out, "#")
}

// nodes reads everything but what may be deleted at any time.
func (m *mistaken) nodes(t *testing.T) map[string]node {
	t.Helper()
	all := map[string]node{}
	err := filepath.WalkDir(m.top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == ".cache" || name == "state") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := node{mode: info.Mode()}
		if info.Mode().IsRegular() {
			n.data, err = os.ReadFile(path)
		}
		all[path] = n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differs lists what is otherwise than it was kept.
func (m *mistaken) differs(now map[string]node) (all []string) {
	for path, was := range m.kept {
		if is, there := now[path]; !there || is.mode != was.mode || !bytes.Equal(is.data, was.data) {
			all = append(all, path)
		}
	}
	for path := range now {
		if _, there := m.kept[path]; !there {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// putBack makes everything as it was kept.
func (m *mistaken) putBack(t *testing.T) {
	t.Helper()
	for _, path := range slices.Backward(m.differs(m.nodes(t))) {
		if _, there := m.kept[path]; !there {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range m.differs(m.nodes(t)) {
		n := m.kept[path]
		var err error
		switch {
		case n.mode.IsDir():
			err = os.MkdirAll(path, n.mode.Perm())
		default:
			os.Remove(path)
			err = os.WriteFile(path, n.data, n.mode.Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if left := m.differs(m.nodes(t)); len(left) > 0 {
		t.Fatalf("not put back: %q", left)
	}
}
