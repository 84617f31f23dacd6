//go:build unix

package main_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// ordinary lets the person run rye without root's rights, which no permission
// binds: everything of theirs is given to nobody, who runs it.
func (h *home) ordinary() {
	h.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	h.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	top := filepath.Dir(h.dir)
	if err := os.Lchown(filepath.Dir(top), nobody, nobody); err != nil { // t.TempDir makes two levels
		h.t.Fatal(err)
	}
	err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err == nil {
		err = os.Chmod(bin, 0o755) // theirs to read; other tests are still run as root
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestMistake09ReadOnlyDisk is the ninth of the ten mistakes (testdata/script has
// the others): reading needs no writable disk, and writing says why it cannot.
func TestMistake09ReadOnlyDisk(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	h.rye("new", "tool", "acme/hello", "--lang", "bash")
	h.ordinary()
	h.rye("trust", "--yes") // what was granted to root was granted to another user
	h.rye("sign", "--all")
	h.chmod(0o555)
	defer h.chmod(0o755)
	before := h.rye("log")
	for _, c := range [][]string{
		{"status"}, {"verify"}, {"list"}, {"log"}, {"load", "knowledge:acme/style"}, {"search", "style"}, {"show", "tool:acme/hello"},
		{"execute", "knowledge:acme/style"}, {"execute", "tool:acme/hello", "--dry-run"}, {"fsck"}, {"trust", "list"}, {"key", "list"},
	} {
		h.rye(c...)
	}
	for _, c := range [][]string{
		{"new", "knowledge", "acme/other"}, {"rm", "knowledge:acme/style"}, {"lock"}, {"copy", "knowledge:acme/style", "--to", "user"}, {"key", "new", "second"},
	} {
		cmd := h.command(c...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || len(out) > 0 || !strings.HasPrefix(stderr.String(), "rye: ") || !strings.Contains(stderr.String(), "permission denied") {
			t.Errorf("rye %s: %v, printed %q, said %q; want status 1 and why", strings.Join(c, " "), err, out, stderr.String())
		}
	}
	if after := h.rye("log"); after != before {
		t.Errorf("the log was\n%s\nand is\n%s", before, after)
	}
	h.rye("verify", "knowledge:acme/style", "tool:acme/hello")
}

// chmod makes every directory of the person read-only, or writable again.
func (h *home) chmod(mode fs.FileMode) {
	h.t.Helper()
	chmodDirs(h.t, filepath.Dir(h.dir), mode)
}

// chmodDirs gives every directory at and below top a mode.
func chmodDirs(t testing.TB, top string, mode fs.FileMode) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, mode)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
