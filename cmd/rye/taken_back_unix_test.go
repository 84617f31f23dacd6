//go:build unix

package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A changer is a command that changes files of the project and their record.
type changer struct {
	name   string
	before func(h *home) // what is there when it runs
	args   []string
	full   bool // it needs room on the project's disk
}

// changers are those commands. Each begins with the item knowledge:acme/style, signed, and
// the bundle .ai/bundles/acme/pack.
var changers = []changer{
	{"rm", nil, []string{"rm", "knowledge:acme/style"}, false},
	{"mv", nil, []string{"mv", "knowledge:acme/style", "acme/tone"}, true},
	{"restore over a change", func(h *home) { h.write(styleFile, strings.Replace(h.read(styleFile), "a reader", "every reader", 1)) }, []string{"restore", "knowledge:acme/style"}, true},
	{"restore what was removed", func(h *home) { h.rye("rm", "knowledge:acme/style") }, []string{"restore", "knowledge:acme/style"}, true},
	{"rm a bundle", nil, []string{"rm", ".ai/bundles/acme/pack"}, false},
	{"restore a bundle", func(h *home) {
		h.write(packDir+"/a.txt", "changed\n")
		h.write(packDir+"/extra.txt", "extra\n")
	}, []string{"restore", ".ai/bundles/acme/pack"}, true},
	{"sign", func(h *home) { h.write(styleFile, strings.Replace(h.read(styleFile), "a reader", "every reader", 1)) }, []string{"sign", "knowledge:acme/style"}, true},
	{"add", func(h *home) {
		h.write("style.md", strings.Replace(h.read(styleFile), "title: style", "title: manner of", 1))
	},
		[]string{"add", "style.md", "--as", "acme/style", "--kind", "knowledge", "--force"}, true},
	{"copy", nil, []string{"copy", "knowledge:acme/style", "--to", "project", "--as", "acme/tone"}, true},
}

const (
	styleFile = ".ai/knowledge/acme/style.md"
	packDir   = ".ai/bundles/acme/pack"
)

// withItems returns a person with what changers begin with, without root's rights.
func withItems(t *testing.T) *home {
	h := newHome(t)
	h.ordinary()
	h.rye("trust", "--yes")
	h.rye("new", "knowledge", "acme/style")
	for _, name := range []string{"a", "b", "c"} {
		h.write(packDir+"/"+name+".txt", name+"\n")
	}
	h.ordinary()
	h.rye("sign", "--all", packDir)
	return h
}

// stands is what is seen of a project: its files, and what rye says of them.
func (h *home) stands() string {
	h.t.Helper()
	said, code := h.status("verify")
	return h.tree() + h.rye("status", "--all") + said + string(rune('0'+code))
}

// TestTakenBack: a command that changes files and their record, and cannot change the files,
// changes nothing. It says why, and succeeds when the cause is gone.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	for _, c := range changers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := withItems(t)
			if c.before != nil {
				c.before(h)
				h.ordinary()
			}
			was := h.stands()
			failed := func(why, says string) {
				t.Helper()
				out, code := h.status(c.args...)
				if code != 1 || !strings.Contains(out, says) {
					t.Errorf("%s: rye %s: exit %d, want 1 and %q\n%s", why, strings.Join(c.args, " "), code, says, out)
				}
				if is := h.stands(); is != was {
					t.Errorf("%s: rye %s changed something. It was\n%s\nand is\n%s", why, strings.Join(c.args, " "), was, is)
				}
			}
			log := h.rye("log")
			chmodDirs(t, filepath.Join(h.dir, ".ai"), 0o555)
			failed("read-only project", "permission denied")
			chmodDirs(t, filepath.Join(h.dir, ".ai"), 0o755)
			if c.name != "restore over a change" && c.name != "restore a bundle" && c.name != "sign" && c.name != "add" { // which keep first what they replace
				if is := h.rye("log"); is != log {
					t.Errorf("the log was\n%s\nand is\n%s", log, is)
				}
			}
			store := h.store()
			chmodDirs(t, store, 0o555)
			failed("read-only record", "permission denied")
			chmodDirs(t, store, 0o755)
			h.rye(c.args...)
			if out := h.rye("status"); strings.Contains(out, "returned") || strings.Contains(out, "absent") {
				t.Errorf("rye %s left\n%s", strings.Join(c.args, " "), out)
			}
		})
	}
}

// TestTakenBackAfterTheCommit: a file that lets itself be removed by nobody is noticed last.
// What was recorded until then is recorded as before.
func TestTakenBackAfterTheCommit(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	for _, c := range changers {
		if c.name != "rm" && c.name != "mv" && c.name != "rm a bundle" && !strings.HasPrefix(c.name, "restore") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := withItems(t)
			if c.name == "restore what was removed" {
				return // nothing of it can be in the way
			}
			if c.before != nil {
				c.before(h)
				h.ordinary()
			}
			was := h.stands()
			for _, dir := range []string{filepath.Dir(styleFile), packDir} {
				give(t, filepath.Join(h.dir, dir), 0)
				if err := os.Chmod(filepath.Join(h.dir, dir), 0o777|os.ModeSticky); err != nil {
					t.Fatal(err)
				}
			}
			out, code := h.status(c.args...)
			if is := h.stands(); code != 1 || is != was {
				t.Errorf("rye %s: exit %d, want 1 and nothing changed\n%s\nIt was\n%s\nand is\n%s", strings.Join(c.args, " "), code, out, was, is)
			}
			give(t, filepath.Join(h.dir, ".ai"), nobody)
			h.rye(c.args...)
		})
	}
}

// TestTakenBackOnAFullDisk is TestTakenBack where the project's disk is full.
func TestTakenBackOnAFullDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("making a small disk takes root on Linux; TestTakenBack makes it read-only instead")
	}
	for _, c := range changers {
		if !c.full {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			h := withItems(t)
			ai := filepath.Join(h.dir, ".ai")
			disk := t.TempDir()
			if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk).Run(); err != nil {
				t.Skipf("no disk can be mounted here: %v", err)
			}
			defer exec.Command("umount", "-l", disk).Run()
			for _, cmd := range []*exec.Cmd{exec.Command("cp", "-a", ai+"/.", disk), exec.Command("mount", "--bind", disk, ai)} {
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v %s", cmd.Args, err, out)
				}
			}
			defer exec.Command("umount", "-l", ai).Run()
			if c.before != nil {
				c.before(h)
				h.ordinary()
			}
			was := h.stands()
			filler := filepath.Join(disk, ".filler")
			if err := os.WriteFile(filler, bytes.Repeat([]byte("x"), 1<<20), 0o600); err == nil {
				t.Fatal("the disk is not full")
			}
			out, code := h.status(c.args...)
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			if is := h.stands(); code != 1 || !strings.Contains(out, "no space left on device") || is != was {
				t.Errorf("rye %s: exit %d, want 1 and nothing changed\n%s\nIt was\n%s\nand is\n%s", strings.Join(c.args, " "), code, out, was, is)
			}
			h.rye(c.args...)
		})
	}
}
