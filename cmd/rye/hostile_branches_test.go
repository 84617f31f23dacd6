//go:build unix

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// T1, T2, T3 and T7 of the review of 0.1, as a branch that the victim checks out in a
// project of their own: git replaces what it ignores, so a record in the tree was a
// stranger's after a checkout.

// branched is a victim's project under git, with a tool that has two signed versions, both
// in its history, and a branch of a stranger's on which make adds files.
func branched(t *testing.T, make func(dir string, h *home)) (h *home, beyond string) {
	t.Helper()
	needBash(t)
	git := h2git(t)
	h = newHome(t)
	beyond = filepath.Join(filepath.Dir(h.dir), "beyond")
	must(t, os.MkdirAll(filepath.Join(beyond, "dir"), 0o755))
	for _, name := range []string{"victim.txt", "dir/one.txt", "dir/two.txt"} {
		must(t, os.WriteFile(filepath.Join(beyond, name), []byte("precious\n"), 0o644))
	}
	h.signed(toolFile, toolRef, attackTool)
	git(h.dir, "init", "-q", "-b", "main")
	git(h.dir, "add", "-A")
	git(h.dir, "commit", "-qm", "first")
	first := h.read(toolFile)
	h.signed(toolFile, toolRef, swap(t, strings.ReplaceAll(attackTool, "1.0.0", "1.1.0"), "it ran", "the mended one"))
	git(h.dir, "commit", "-qam", "second")
	git(h.dir, "checkout", "-qb", "evil")
	h.write(toolFile, first)
	make(h.dir, h)
	git(h.dir, "add", "-Af", ".ai")
	git(h.dir, "commit", "-qm", "evil")
	git(h.dir, "checkout", "-q", "main")
	if st := h.stateOf(toolRef); st != "signed" {
		t.Fatalf("on main the tool is %s", st)
	}
	git(h.dir, "checkout", "-q", "evil")
	return h, beyond
}

// stateOf returns the state that rye status tells of an item of the project.
func (h *home) stateOf(ref string) string {
	h.t.Helper()
	for line := range strings.Lines(h.rye("status", "--all", "--json")) {
		var it struct{ Ref, State string }
		if json.Unmarshal([]byte(line), &it) == nil && it.Ref == ref {
			return it.State
		}
	}
	return ""
}

// everything is what a person may type after a checkout.
func (h *home) everything() {
	h.t.Helper()
	for _, args := range [][]string{{"status"}, {"verify"}, {"log"}, {"diff"}, {"fsck"}, {"gc"}, {"lock"}, {"lock", "verify"}, {"init"}, {"pull"}, {"sign", "--all"},
		{"execute", toolRef}, {"where"}, {"doctor"}, {"trust", "--yes"}, {"new", "knowledge", "acme/more"}, {"rm", "knowledge:acme/more"}} {
		cmd := h.command(args...)
		out, _ := cmd.CombinedOutput()
		if strings.Contains(string(out), "this is a bug") {
			h.t.Errorf("rye %s:\n%s", strings.Join(args, " "), out)
		}
	}
}

func TestBranchWithLinksInAStore(t *testing.T) {
	t.Parallel()
	const store = ".ai/.rye/store.git"
	links := map[string]string{
		"rye.tmp": "dir", "logs": "dir", "objects": "dir", "refs": "dir", "rye.lock": "victim.txt", "packed-refs": "victim.txt",
	}
	h, beyond := branched(t, func(dir string, h *home) {
		must(t, os.MkdirAll(filepath.Join(dir, store), 0o755))
		for name, to := range links {
			must(t, os.Symlink("../../../../beyond/"+to, filepath.Join(dir, store, name)))
		}
		h.write(store+"/HEAD", "ref: refs/heads/spaces/project\n")
		for _, name := range []string{"threads", ".rye-tmp-X"} {
			must(t, os.Symlink("../../beyond/dir", filepath.Join(dir, ".ai", name)))
		}
	})
	before := everyFile(t, beyond)
	h.everything()
	for name, to := range map[string]string{"rye.lock": "new.lock", "allowed_signers": "victim.txt", ".gitattributes": "victim.txt", "tools": "dir", "rye.yaml": "victim.txt"} {
		path := filepath.Join(h.dir, ".ai", name)
		must(t, os.RemoveAll(path))
		must(t, os.Symlink("../../beyond/"+to, path))
		h.everything()
		if after := everyFile(t, beyond); after != before {
			t.Errorf("with %s as a link, files outside changed:\n%s", name, changed(before, after))
		}
		must(t, os.Remove(path))
		must(t, exec.Command("git", "-C", h.dir, "checkout", "-q", "--", ".ai").Run())
	}
	if to, err := os.Readlink(filepath.Join(h.dir, store, "rye.tmp")); err != nil || !strings.HasSuffix(to, "beyond/dir") {
		t.Errorf("the branch was not checked out, or its links were replaced: %q, %v", to, err)
	}
	if h.rye("where") == "" || !strings.Contains(h.rye("where"), ".rye") {
		t.Errorf("rye where does not name the store in the tree:\n%s", h.rye("where"))
	}
}

func TestBranchWithARecord(t *testing.T) {
	t.Parallel()
	h, _ := branched(t, func(dir string, h *home) {
		// The record as it was when the first version was the newest: here, of a home of
		// the stranger's that saw nothing else.
		record := h.store()
		must(t, os.CopyFS(filepath.Join(dir, ".ai", ".rye", "store.git"), os.DirFS(record)))
		ref := filepath.Join(dir, ".ai", ".rye", "store.git", "refs", "heads", "spaces", "project")
		if _, err := os.Stat(ref); err == nil {
			must(t, os.WriteFile(ref, []byte(strings.Repeat("0", 40)+"\n"), 0o644))
		}
	})
	if st := h.stateOf(toolRef); st != "older" {
		t.Errorf("the first version is %s, want older: a record of the branch was believed", st)
	}
	h.everything()
	if out := h.rye("log", toolRef); strings.Count(out, "\n") < 2 {
		t.Errorf("history is gone:\n%s", out)
	}
}

// TestTreeBombs: trees with too many names, in the working tree and, pushed by git, in the
// record itself.
func TestTreeBombs(t *testing.T) {
	t.Parallel()
	h, _ := branched(t, func(dir string, h *home) { treeBomb(filepath.Join(dir, ".ai", ".rye", "store.git"), 7, 30) })
	refusedCheaply(t, h, 0, "status")
	treeBomb(h.store(), 7, 30)
	for _, args := range [][]string{{"status"}, {"list"}, {"search", "hello"}, {"verify"}, {"diff"}} {
		begun := time.Now()
		out, exit, u := measured(t, h.command(args...))
		if !slices.Contains([]int{10, 19, 20}, exit) || !strings.Contains(string(out), "hint: ") {
			t.Errorf("rye %s: status %d, want a refusal with a way out\n%.600s", args[0], exit, out)
		}
		if u.cpu > 2*time.Second || u.rss > 256<<20 {
			t.Errorf("rye %s took %v of processor time and %d MiB", args[0], u.cpu, u.rss>>20)
		}
		t.Logf("rye %s: status %d, %v, %d MiB, %v", args[0], exit, u.cpu.Round(time.Millisecond), u.rss>>20, time.Since(begun).Round(time.Millisecond))
	}
	for _, args := range [][]string{{"fsck"}, {"gc"}, {"log"}, {"execute", toolRef}, {"load", toolRef}, {"restore", toolRef}} {
		if out, exit, u := measured(t, h.command(args...)); u.cpu > 2*time.Second || u.rss > 256<<20 || strings.Contains(string(out), "this is a bug") {
			t.Errorf("rye %s: status %d, %v, %d MiB\n%.600s", args[0], exit, u.cpu, u.rss>>20, out)
		}
	}
}
