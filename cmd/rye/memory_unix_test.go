//go:build unix

package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// at returns the same person in another directory.
func (h *home) at(dir string) *home {
	n := *h
	n.dir = dir
	return &n
}

// beside is a directory beside the project's.
func (h *home) beside(name string) string { return filepath.Join(filepath.Dir(h.dir), name) }

// digestOf is a file's SHA-256, as rye names it.
func (h *home) digestOf(path string) string {
	h.t.Helper()
	sum := sha256.Sum256([]byte(h.read(path)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// deniedKept returns what is kept of .ai/denied, in all projects of the person.
func (h *home) deniedKept() (all string) {
	h.t.Helper()
	for _, dir := range h.deniedDirs() {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			h.t.Fatal(err)
		}
		for _, f := range files {
			if filepath.Ext(f) == "" {
				all += h.readAt(f)
			}
		}
	}
	return all
}

// deniedDirs are the directories of kept lines, one for each project.
func (h *home) deniedDirs() []string {
	h.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(h.store()))), "projects", "*", "denied"))
	if err != nil {
		h.t.Fatal(err)
	}
	return dirs
}

const hello = "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: Say hello.\necho %s\n"

const helloFile = ".ai/tools/acme/hello.sh"

// deniedLines returns lines in the name of a key whose signatures do not hold.
func deniedLines(key string, n int) string {
	var b strings.Builder
	for i := range n {
		sum := sha256.Sum256(fmt.Append(nil, i))
		fmt.Fprintf(&b, "rye:denied:v1:tool:acme/hello:%x:2026-01-31T12:00:00Z:%s:%s\n", sum, strings.Repeat("A", 86), strings.TrimPrefix(key, "SHA256:"))
	}
	return b.String()
}

// TestDeniedFileIsFull: 10,000 lines are shown and kept, and a genuine line among lines in the
// signer's name has its effect and is kept. make bench has the time.
func TestDeniedFileIsFull(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(helloFile, fmt.Sprintf(hello, "bad"))
	h.rye("sign", "--all")
	bad := h.read(helloFile)
	h.rye("trust", "deny", h.digestOf(helloFile), "--share")
	h.rye("trust", "allow", h.digestOf(helloFile)) // the user's own denial, and what was kept
	h.write(helloFile, fmt.Sprintf(hello, "good"))
	h.rye("sign", "--all")
	genuine := h.read(".ai/denied")
	key := genuine[strings.LastIndexByte(genuine, ':')+1 : len(genuine)-1]
	h.write(".ai/denied", deniedLines(key, 9999)+genuine)
	for _, args := range [][]string{{"status"}, {"execute", "tool:acme/hello"}, {"status"}, {"execute", "tool:acme/hello"}} {
		h.rye(args...)
	}
	if kept := h.deniedKept(); !strings.Contains(kept, genuine) {
		t.Fatal("the genuine line was not kept")
	}
	// Ten thousand others, and more, in the signer's name: what is genuine stays.
	h.write(".ai/denied", strings.ReplaceAll(deniedLines(key, 12000), "2026-01-31", "2026-01-30"))
	h.rye("execute", "tool:acme/hello")
	if kept := h.deniedKept(); !strings.Contains(kept, genuine) {
		t.Fatal("what somebody wrote in the signer's name took the place of the genuine line")
	}
	must(t, os.Remove(filepath.Join(h.dir, ".ai/denied")))
	h.write(helloFile, bad)
	before := everyFile(t, filepath.Dir(h.dir))
	if code, said := h.exit("status"); code != 0 || !strings.Contains(said, "denied") {
		t.Errorf("status: exit %d, %s", code, said)
	}
	if code, said := h.exit("load", "tool:acme/hello"); code != 12 {
		t.Errorf("the denied version is used: exit %d, %s", code, said)
	}
	if after := everyFile(t, filepath.Join(h.dir)); !strings.Contains(before, after) {
		t.Error("looking changed files")
	}
}

// TestDeniedOfOtherDirectory: a key that owns a namespace in one directory takes nothing back
// in another one, keeps nothing there, and does not fill what is kept of the owner.
func TestDeniedOfOtherDirectory(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(helloFile, fmt.Sprintf(hello, "good"))
	h.rye("sign", "--all")
	thief := newHome(t)
	thief.write(helloFile, h.read(helloFile))
	thief.write(".ai/rye.yaml", h.read(".ai/rye.yaml"))
	// The thief owns acme/ in a directory of this user that states the same project.
	key := thief.key("default")
	other := h.at(h.beside("fork"))
	must(t, os.MkdirAll(other.dir, 0o755))
	other.write(".ai/rye.yaml", h.read(".ai/rye.yaml"))
	other.write(helloFile, h.read(helloFile))
	other.rye("trust", "pin", key.SSH, "--namespace", "acme", "--space", "project", "--fingerprint", key.Fingerprint, "--yes")
	mine := h.key("default")
	thief.rye("trust", "pin", mine.SSH, "--namespace", "acme", "--space", "project", "--fingerprint", mine.Fingerprint, "--yes")
	thief.rye("trust", "--accept", statement(thief))
	if code, said := thief.exit("trust", "deny", thief.digestOf(helloFile), "--share"); code != 0 {
		t.Fatalf("the owner of acme/ there cannot deny: exit %d, %s", code, said)
	}
	line := thief.read(".ai/denied")
	other.rye("trust", "--accept", statement(other))
	other.write(".ai/denied", line)
	h.write(".ai/denied", line)
	h.rye("execute", "tool:acme/hello")
	if kept := h.deniedKept(); kept != "" {
		t.Errorf("kept: %s", kept)
	}
	must(t, os.Remove(filepath.Join(h.dir, ".ai/denied")))
	says(t, other.command("execute", "tool:acme/hello"), 12, "")
	if kept := h.deniedKept(); kept != line {
		t.Errorf("a granted signer's denial is not kept: %q", kept)
	}
	h.rye("execute", "tool:acme/hello")
	says(t, h.command("status"), 0, "owns no acme/ in this directory")
	if _, said := h.exit("doctor"); !strings.Contains(said, "owns no acme/ in this directory") {
		t.Errorf("doctor: %s", said)
	}
}

// TestDeniedInEveryClone: what was taken back in one directory of a project is taken back in
// a worktree, a second clone and a copy of it, whatever their branch holds.
func TestDeniedInEveryClone(t *testing.T) {
	t.Parallel()
	git := h2git(t)
	h := newHome(t)
	h.write(helloFile, fmt.Sprintf(hello, "bad"))
	h.rye("sign", "--all")
	git(h.dir, "init", "-q", "-b", "main")
	git(h.dir, "add", "-A")
	git(h.dir, "commit", "-qm", "bad")
	git(h.dir, "branch", "bad")
	must(t, os.CopyFS(h.beside("copy"), os.DirFS(h.dir)))
	h.rye("trust", "deny", h.digestOf(helloFile), "--share")
	h.rye("trust", "allow", h.digestOf(helloFile)) // only the shared line is left
	h.write(".ai/knowledge/acme/notes.md", attackNote)
	h.rye("sign", "knowledge:acme/notes") // keeps the line
	kept, dirs := h.deniedKept(), h.deniedDirs()
	for _, dir := range dirs { // as where data was restored without them
		must(t, os.RemoveAll(dir))
	}
	h.write(".ai/knowledge/acme/notes.md", attackNote+"\n")
	h.rye("sign", "knowledge:acme/notes")
	if again := h.deniedKept(); again != kept || kept == "" {
		t.Errorf("kept again: %q, want %q", again, kept)
	}
	git(h.dir, "worktree", "add", "-q", h.beside("tree"), "bad")
	git(h.dir, "clone", "-q", "-b", "bad", h.dir, h.beside("clone"))
	for _, name := range []string{"tree", "clone", "copy"} {
		at := h.at(h.beside(name))
		at.rye("trust", "--accept", statement(at))
		before := everyFile(t, at.dir)
		says(t, at.command("load", "tool:acme/hello"), 12, "taken back on")
		says(t, at.command("execute", "tool:acme/hello"), 12, "taken back on")
		if after := everyFile(t, at.dir); after != before {
			t.Errorf("%s changed:\n%s\n%s", name, before, after)
		}
	}
}
