//go:build unix

package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These attacks are on the functions' own wall, without the sandbox around them;
// cmd/rye has them again through the door.

func (w *world) link(target, at string) {
	w.t.Helper()
	p := w.path(at)
	os.MkdirAll(filepath.Dir(p), 0o755)
	if err := os.Symlink(target, p); err != nil {
		w.t.Fatal(err)
	}
}

// evil makes every kind of way out of the project, or to what is protected in it.
func (w *world) evil() {
	w.file("data/in.txt", "in")
	w.link("../../outside.txt", "data/out")
	w.link(filepath.Dir(w.in.Project), "data/up")
	w.link("/etc", "data/etc")
	w.link("../../keys", "data/keys")
	w.link("../hidden", "data/hid")
	w.link("loop2", "data/loop1")
	w.link("loop1", "data/loop2")
	w.link(".", "data/self")
	w.link("../.git", "data/git")
	w.link(w.path(".ai"), "data/items")
	w.link("../.git/hooks/new", "data/hook")
	w.link("../../new", "data/dangling")
	w.link("in.txt", "data/fine")
	w.link("../data", "data/also")
	w.link(w.path("data"), "data/abs")
	syscall.Mkfifo(w.path("data/fifo"), 0o644)
}

func TestReadingOut(t *testing.T) {
	w := newWorld(t)
	w.evil()
	for _, p := range []string{"../outside.txt", "data/../../outside.txt", "/etc/passwd", w.path("../outside.txt"), "..", "../project/../outside.txt",
		"data/out", "data/up/outside.txt", "data/etc/passwd", "data/keys/id", "data/hid/secret", "hidden/secret", "data/self/self/../out",
		"data/abs/out", "data/loop1", "data/loop1/x", "data/fifo", "/dev/zero", "/proc/self/environ"} {
		for fn, params := range map[string]m{"read": {"path": p}, "ls": {"path": p}, "glob": {"pattern": "**", "path": p}, "grep": {"pattern": ".", "path": p},
			"bash": {"command": "pwd", "working_dir": p}} {
			a := w.call(fn, params)
			if fn == "ls" && p == "data/fifo" {
				continue // its name may be seen
			}
			if a.Success || strings.Contains(a.Content, "OUTSIDE") || strings.Contains(a.Content, "SECRET") {
				t.Errorf("%s %q: %+v", fn, p, a)
			}
		}
	}
	for _, p := range []string{"data/fine", "data/self/self/in.txt", "data/also/in.txt", "data/abs/in.txt", "data/self/../data/in.txt"} {
		if a := w.call("read", m{"path": p, "line_ids": false}); a.Content != "in\n" {
			t.Errorf("read %q within the project: %+v", p, a)
		}
	}
	// Searches see none of it either, and end.
	if a := w.call("grep", m{"pattern": "OUTSIDE|SECRET|KEY|root:"}); !a.Success || a.Count != 0 {
		t.Errorf("grep: %+v", a)
	}
	a := w.call("glob", m{"pattern": "**/*"})
	for _, bad := range []string{"secret", "passwd", "self/", "up/", "abs/"} {
		if strings.Contains(string(a.Files), bad) {
			t.Errorf("glob finds %q: %s", bad, a.Files)
		}
	}
}

func TestWritingOut(t *testing.T) {
	w := newWorld(t)
	w.evil()
	parent := filepath.Dir(w.in.Project)
	before := listing(t, parent)
	for _, p := range []string{"../outside.txt", "../new", w.path("../new"), "/tmp/rye-builtin-test", "data/out", "data/up/new", "data/keys/id", "data/dangling",
		".ai/tools/x.sh", ".ai/tools/new.sh", ".ai/rye.lock", ".ai/policy.yaml", ".AI/../.ai/rye.lock", ".git/hooks/pre-commit", ".git/config", ".git",
		"data/git/hooks/pre-commit", "data/git/x", "data/items/tools/x.sh", "data/hook", "data/also/../.git/x",
		"sub/.git/config", "sub/.GIT/hooks/x", "sub/.git./x", "sub/.g\u200cit/x", "sub/git~1/x", "sub/.git::$INDEX_ALLOCATION/x",
		"hidden/secret", "data/hid/new", "data/fifo", "data/self", "data/loop1"} {
		if a := w.call("write", m{"path": p, "content": "PWNED"}); a.Success {
			t.Errorf("write %q: %s", p, a.Files)
		}
		if a := w.call("edit_lines", m{"path": p, "changes": []m{{"line_id": "000000", "new_content": "PWNED"}}}); a.Success {
			t.Errorf("edit %q", p)
		}
	}
	if now := listing(t, parent); now != before {
		t.Errorf("something changed:\n%s\nwas\n%s", now, before)
	}
	for _, p := range []string{"data/fine", "data/also/new", ".gitignore", ".github/x", "ai/x", ".air"} {
		if a := w.call("write", m{"path": p, "content": "ok"}); !a.Success || w.text(p) != "ok" {
			t.Errorf("write %q: %s", p, a.Error)
		}
	}
}

// What is protected is known by what it is, whatever it is called.
func TestProtectedByIdentity(t *testing.T) {
	w := newWorld(t)
	if err := os.Rename(w.path(".git"), w.path("renamed")); err != nil {
		t.Fatal(err)
	}
	w.in.Protect = append(w.in.Protect, w.path("alias/../renamed"))
	os.MkdirAll(w.path("alias"), 0o755)
	w.refused("write", m{"path": "renamed/hooks/x", "content": "PWNED"}, "denied")
}

// A hard link is replaced and not written through.
func TestHardLinks(t *testing.T) {
	w := newWorld(t)
	w.file("data/x", "")
	if err := os.Link(w.path("../outside.txt"), w.path("data/hard")); err != nil {
		t.Skip(err)
	}
	if err := os.Link(w.path(".ai/tools/x.sh"), w.path("data/item")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"data/hard", "data/item"} {
		if a := w.call("write", m{"path": p, "content": "PWNED"}); !a.Success {
			t.Errorf("write %q: %s", p, a.Error)
		}
	}
	if w.text("../outside.txt") != "OUTSIDE" || w.text(".ai/tools/x.sh") != "item" {
		t.Error("written through a hard link")
	}
}

// Somebody swaps a directory for a link to what may not be read or written, at the
// worst moment: after it was looked at and before it is opened. The link lies beside
// what it names, where os.Root alone would follow it.
func TestSwapped(t *testing.T) {
	w := newWorld(t)
	defer func() { testOnlyLooked = nil }()
	for to, name := range map[string]string{"hidden": "secret", ".git": "x"} {
		for fn, params := range map[string]m{
			"read":  {"path": "real/" + name},
			"glob":  {"path": "real", "pattern": "**"},
			"grep":  {"path": ".", "pattern": "SECRET", "include": "real/*"},
			"write": {"path": "real/" + name, "content": "PWNED"},
		} {
			if to == ".git" && fn != "write" {
				continue // may be read
			}
			os.RemoveAll(w.path("real"))
			w.file("real/x", "ok")
			swaps := 0
			testOnlyLooked = func(looked string) {
				if looked != "real" {
					return
				}
				if err := os.RemoveAll(w.path("real")); err != nil {
					t.Fatal(err)
				}
				w.link(to, "real")
				swaps++
			}
			a := w.call(fn, params)
			testOnlyLooked = nil
			if swaps != 1 || fn != "grep" && a.Success || a.Count > 0 || strings.Contains(a.Content, "SECRET") {
				t.Errorf("%s of %s, %d swaps: %+v", fn, to, swaps, a)
			}
			if _, err := os.Stat(w.path(".git/x")); err == nil || w.text("hidden/secret") != "SECRET" {
				t.Fatalf("%s: written into %s", fn, to)
			}
		}
	}
}

// Pipes, sockets and devices are never waited for.
func TestNothingHangs(t *testing.T) {
	w := newWorld(t)
	w.evil()
	if os.Getuid() == 0 {
		exec.Command("mknod", w.path("data/zero"), "c", "1", "5").Run()
	}
	over := time.AfterFunc(20*time.Second, func() { panic("it hangs") })
	defer over.Stop()
	w.refused("read", m{"path": "data/fifo"}, "denied")
	w.refused("write", m{"path": "data/fifo", "content": "x"}, "denied")
	w.call("read", m{"path": "data/zero"})
	if a := w.call("grep", m{"pattern": "."}); !a.Success {
		t.Errorf("grep: %s", a.Error)
	}
	// A pipe that takes the place of a file between the look and the opening.
	w.file("data/f", "x")
	p, err := (&tree{base: w.in.Project}).find("data/f", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	os.Remove(w.path("data/f"))
	syscall.Mkfifo(w.path("data/f"), 0o644)
	if _, _, err := p.openFile("data/f"); err == nil {
		t.Error("opened a pipe")
	}
}

// Wide, deep and large: bounded in time, and the answer says so.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	n := 1_500
	if os.Getenv("RYE_SOAK") != "" {
		n = 1_000_000
	}
	os.MkdirAll(w.path("wide"), 0o755)
	for i := range n {
		f, err := os.OpenFile(w.path(fmt.Sprintf("wide/%07d", i)), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	begun := time.Now()
	if a := w.call("ls", m{"path": "wide"}); a.Count != 1000 || !a.Truncated {
		t.Errorf("ls: %d, truncated %v", a.Count, a.Truncated)
	}
	if a := w.call("glob", m{"pattern": "**/none"}); a.Count != 0 || a.Truncated != (n > maxWide) {
		t.Errorf("glob: %+v", a)
	}
	deep := strings.Repeat("d/", 300)
	os.MkdirAll(w.path(deep), 0o755)
	if a := w.call("glob", m{"pattern": "d/**/x"}); a.Stopped == "" || !a.Truncated {
		t.Errorf("deep: %+v", a)
	}
	w.refused("read", m{"path": deep + "x"}, "limit")
	w.refused("write", m{"path": strings.Repeat("e/", 300) + "x", "content": ""}, "limit")
	if _, err := os.Stat(w.path("e")); err == nil {
		t.Error("the deep directories were left")
	}
	// What explodes in a backtracking matcher.
	w.file("re", strings.Repeat("a", 20_000)+"\n")
	w.call("grep", m{"pattern": "(a*)*b", "path": "re"})
	w.call("grep", m{"pattern": "(a|aa)+$", "path": "re"})
	w.call("glob", m{"pattern": strings.Repeat("**/a*", 100)})
	w.call("glob", m{"pattern": strings.Repeat("*a", 400)})
	if d := time.Since(begun); d > 60*time.Second {
		t.Errorf("took %s", d)
	}
}

func TestBash(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	w := newWorld(t)
	w.file("sub/x", "")
	w.in.Program = sh
	a := w.call("bash", m{"command": "pwd; echo err >&2; exit 3", "working_dir": "sub"})
	if a.Success || a.ExitCode != 3 || a.Stdout != w.path("sub")+"\n" || a.Stderr != "err\n" {
		t.Errorf("%+v", a)
	}
	if a = w.call("bash", m{"command": "--version"}); a.Success || strings.Contains(a.Stdout, "GNU") {
		t.Errorf("the command became an option: %+v", a)
	}
	a = w.call("bash", m{"command": "head -c 200000 /dev/zero | tr '\\0' x; echo END"})
	if !a.Truncated || len(a.Stdout) > maxOutput+100 || !strings.HasSuffix(a.Stdout, "END\n") || !strings.Contains(a.Stdout, "bytes left out") {
		t.Errorf("output: truncated %v, %d bytes", a.Truncated, len(a.Stdout))
	}
	begun := time.Now()
	a = w.call("bash", m{"command": "sleep 1000 & trap '' TERM; sleep 1000", "timeout": 1})
	if a.Success || !a.TimedOut || time.Since(begun) > 10*time.Second {
		t.Errorf("timeout: %+v after %s", a, time.Since(begun))
	}
	// Something that stays in the background does not keep the answer.
	begun = time.Now()
	if a = w.call("bash", m{"command": "sleep 5 & echo started"}); !a.Success || a.Stdout != "started\n" || time.Since(begun) > 4*time.Second {
		t.Errorf("background: %+v after %s", a, time.Since(begun))
	}
	for _, bad := range []m{{"command": ""}, {"command": " \n"}, {"command": "true\x00"}, {"command": "true", "timeout": 0}, {"command": "true", "timeout": 3601}} {
		w.refused("bash", bad, "usage")
	}
	w.refused("bash", m{"command": strings.Repeat("x", maxCommand+1)}, "limit")
	w.refused("bash", m{"command": "true", "working_dir": "none"}, "not_found")
}
