//go:build unix

package main_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// exit runs a command and returns its exit status and what it said.
func (h *home) exit(args ...string) (int, string) {
	h.t.Helper()
	out, err := h.command(args...).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		h.t.Fatal(err)
	}
	if failed != nil {
		return failed.ExitCode(), string(out)
	}
	return 0, string(out)
}

// give lets everything below a directory belong to a user.
func give(t *testing.T, dir string, uid int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestForeignOwner: a project of another user of the machine is used by nothing before its
// user named it, wherever it was found.
func TestForeignOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	h := newHome(t)
	h.write(noteFile, attackNote)
	h.write(".ai/tools/acme/who.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: Say who runs it\nid -u; id -G; echo x > made\n")
	h.rye("sign", "--all")
	digest := statement(h)
	const other = 12345
	give(t, h.dir, other)
	for _, c := range [][]string{{"status"}, {"verify"}, {"load", noteRef}, {"sign", "--all"}, {"init"}, {"lock"}, {"pull"}, {"search", "note"}, {"list"}, {"trust", "override", "tool:rye/bash"}} {
		if code, said := h.exit(c...); code != 16 || !strings.Contains(said, "belongs to user 12345, not to you") || !strings.Contains(said, "hint: rye trust\n") {
			t.Errorf("rye %v: exit %d, said %s", c, code, said)
		}
	}
	for _, c := range [][]string{{"where"}, {"version"}, {"doctor"}, {"trust", "list"}, {"trust", "--dry-run"}} {
		if code, said := h.exit(c...); code == 16 {
			t.Errorf("rye %v: exit %d, said %s", c, code, said)
		}
	}
	// Any one of the three is enough.
	for _, mine := range []string{"", ".ai"} {
		give(t, h.dir, 0)
		if err := os.Lchown(filepath.Join(h.dir, mine), other, other); err != nil {
			t.Fatal(err)
		}
		if code, said := h.exit("load", noteRef); code != 16 {
			t.Errorf("%q of another user: exit %d, said %s", mine, code, said)
		}
	}
	give(t, h.dir, 0)
	if err := os.Lchown(filepath.Join(h.dir, ".ai", "rye.yaml"), other, other); err != nil {
		t.Fatal(err)
	}
	if code, _ := h.exit("load", noteRef); code != 16 {
		t.Errorf("rye.yaml of another user: exit %d", code)
	}
	give(t, h.dir, other)

	// Found above the directory that one is in, a digest is not enough.
	below := *h
	below.dir = filepath.Join(h.dir, "below")
	if err := os.Mkdir(below.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, said := below.exit("trust", "--accept", digest); code != 16 || !strings.Contains(said, "is above the current directory") {
		t.Errorf("accept from below: exit %d, said %s", code, said)
	}
	if code, _ := h.exit("load", noteRef); code != 16 {
		t.Errorf("after accept from below: exit %d", code)
	}
	if code, said := h.exit("trust", "--accept", digest); code != 0 || !strings.Contains(said, "belongs to user 12345 of this machine") {
		t.Errorf("accept: exit %d, said %s", code, said)
	}
	h.rye("load", noteRef)
	// The superuser runs a tool there as the owner, and what it makes is theirs.
	if runtime.GOOS == "linux" && namespaces() {
		for dir := filepath.Dir(h.dir); strings.Contains(dir, t.Name()); dir = filepath.Dir(dir) { // the test's own only
			os.Chmod(dir, 0o755) // as a home is for whom it belongs to
		}
		if got := h.rye("execute", "tool:acme/who"); !strings.HasPrefix(got, "12345\n12345\n") {
			t.Errorf("a tool in the project of another user runs as %q", got)
		}
		if made, err := os.Stat(filepath.Join(h.dir, "made")); err != nil || made.Sys().(*syscall.Stat_t).Uid != other {
			t.Errorf("what it made: %v, %v", made, err)
		}
	}
	// Who sudo runs this for is no other user.
	h.rye("trust", "forget")
	h.env = append(h.env, "SUDO_UID=12345")
	if code, said := h.exit("load", noteRef); code != 11 {
		t.Errorf("with SUDO_UID: exit %d, said %s", code, said)
	}
	give(t, h.dir, other+1)
	if code, _ := h.exit("load", noteRef); code != 16 {
		t.Errorf("with another's SUDO_UID: exit %d", code)
	}
}

// TestWorktreeOfAnotherUser: the links hold, but part of them belongs to somebody else.
func TestWorktreeOfAnotherUser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs git, and root to make files of another user")
	}
	h := newHome(t)
	h.write(noteFile, attackNote)
	h.rye("sign", "--all")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-C", h.dir}, args...)...)
		cmd.Env = h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "base")
	linked := *h
	linked.dir = filepath.Join(filepath.Dir(h.dir), "linked")
	git("worktree", "add", "-q", linked.dir)
	const offered = "a yes also grants here, in a linked worktree"
	if code, said := linked.exit("trust"); code != 16 || !strings.Contains(said, offered) {
		t.Fatalf("rye trust in a worktree: exit %d, said %s", code, said)
	}
	for _, p := range []string{".git", ".git/worktrees/linked", ".git/worktrees/linked/gitdir", ".git/worktrees/linked/commondir"} {
		path := filepath.Join(h.dir, p)
		if err := os.Lchown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if code, said := linked.exit("trust"); code != 16 || strings.Contains(said, offered) {
			t.Errorf("%s of another user: exit %d, said %s", p, code, said)
		}
		if code, said := linked.exit("load", noteRef); code != 11 {
			t.Errorf("%s of another user: exit %d, said %s", p, code, said)
		}
		if err := os.Lchown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if code, said := linked.exit("trust"); code != 16 || !strings.Contains(said, offered) {
		t.Errorf("rye trust in a worktree: exit %d, said %s", code, said)
	}
}
