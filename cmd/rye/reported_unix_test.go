//go:build unix

package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// notSigned demands that rye sign of one new item reports that it failed, in JSON and in
// text, with a status, and with says in its words.
func (h *home) notSigned(status int, says string) {
	h.t.Helper()
	rep, got := h.signs("knowledge:acme/style")
	if got != status || rep.Signed != 0 || rep.Failed != 1 || rep.Commit != "" || len(rep.Results) != 1 ||
		rep.Results[0].Status != "failed" || !strings.Contains(rep.Results[0].Error, says) {
		h.t.Errorf("rye sign --json: status %d, want %d and %q: %+v", got, status, says, rep)
	}
	cmd := h.command("sign", "knowledge:acme/style")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != status {
		h.t.Errorf("rye sign: %v, want status %d", err, status)
	}
	if out := stdout.String(); strings.Contains(out, "\nsigned") || strings.HasPrefix(out, "signed") || !strings.Contains(out, "failed  knowledge:acme/style") {
		h.t.Errorf("rye sign says %q", out)
	}
	if !strings.Contains(stderr.String(), "1 of 1 items not signed") {
		h.t.Errorf("rye sign says %q on standard error", stderr.String())
	}
}

// TestSignedIsOnDisk is S2: what could not be written or recorded is not reported as
// signed, and is signed when the cause is gone.
func TestSignedIsOnDisk(t *testing.T) {
	t.Parallel()
	fresh := func(t *testing.T) *home {
		h := newHome(t)
		h.rye("new", "knowledge", "acme/other")
		h.rye("sign", "--all") // there is a record
		h.rye("rm", "knowledge:acme/other")
		h.rye("new", "knowledge", "acme/style")
		return h
	}
	t.Run("stale lock", func(t *testing.T) {
		t.Parallel() // it waits for whoever may hold it
		h := fresh(t)
		lock := filepath.Join(h.store(), "refs", "heads", "spaces", "project.lock")
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := h.command("sign", "--all", "--json")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 4 || !strings.Contains(string(out), `"signed":0,"failed":1`) || !strings.Contains(string(out), "project.lock") {
			t.Errorf("rye sign: %v\n%s", err, out)
		}
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		h.rye("sign", "--all")
		if out := h.rye("log", "knowledge:acme/style"); !strings.Contains(out, "sign") {
			t.Errorf("it is not recorded:\n%s", out)
		}
	})
	t.Run("read-only record", func(t *testing.T) {
		h := fresh(t)
		h.ordinary() // who has a record of their own, and grants of their own
		h.rye("trust", "--yes")
		h.rye("new", "knowledge", "acme/third")
		h.rye("sign", "knowledge:acme/third")
		store := h.store()
		chmodDirs(t, store, 0o555)
		defer chmodDirs(t, store, 0o755)
		h.notSigned(1, "permission denied")
	})
	t.Run("full disk", func(t *testing.T) {
		h := fresh(t)
		full := h.full()
		full.notSigned(1, "")
		h.rye("sign", "--all")
		h.rye("verify", "knowledge:acme/style")
	})
}

// full returns the same person on a machine where no file can grow: the kernel refuses
// each write, as it does when the disk is full.
func (h *home) full() *home {
	g := *h
	g.wrap = []string{"sh", "-c", "ulimit -f 0; exec \"$0\" \"$@\""}
	return &g
}

// TestSignedOnAFullDisk is the same on a disk that is full.
func TestSignedOnAFullDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("making a small disk takes root on Linux; TestSignedIsOnDisk limits files instead")
	}
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", dir).Run(); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	defer exec.Command("umount", "-l", dir).Run()
	full := h.with("XDG_DATA_HOME=" + dir)
	if err := os.WriteFile(filepath.Join(dir, "filler"), bytes.Repeat([]byte("x"), 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	full.notSigned(1, "no space left on device")
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	full.rye("sign", "--all")
	full.rye("verify", "knowledge:acme/style")
}

// watched is a writer that tells when it was given some text.
type watched struct {
	mu   sync.Mutex
	text string
	want string
	seen chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.text, w.want)
	if w.text += string(p); !before && strings.Contains(w.text, w.want) {
		close(w.seen)
	}
	return len(p), nil
}

// TestWaitingIsSaid is S10: after a second, once, and not where a program reads; and that
// it succeeded is not said before.
func TestWaitingIsSaid(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	h.rye("sign", "--all")
	h.rye("lock")
	h.rye("new", "knowledge", "acme/other")
	config := filepath.Join(h.variable("HOME"), ".config", "rye")
	for _, tc := range []struct {
		name, path string
		args       []string
		silent     bool
	}{
		{"record", filepath.Join(h.store(), "rye.lock"), []string{"sign", "--all"}, false},
		{"trust store", filepath.Join(config, "trust.yaml.lock"), []string{"trust", "deny", "sha256:" + strings.Repeat("a", 64)}, false},
		{"project", filepath.Join(filepath.Dir(h.store()), "project.lock"), []string{"lock"}, false},
		{"json", filepath.Join(config, "trust.yaml.lock"), []string{"trust", "deny", "sha256:" + strings.Repeat("b", 64), "--json"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := os.OpenFile(tc.path, os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			cmd := h.command(tc.args...)
			said := &watched{want: "rye: waiting for another rye process that holds " + tc.path, seen: make(chan struct{})}
			var stdout bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wait := 20 * time.Second
			if tc.silent {
				wait = 1500 * time.Millisecond // what is not said has no other sign
			}
			select {
			case <-said.seen:
			case <-time.After(wait):
			}
			if out := stdout.String(); out != "" {
				t.Errorf("it succeeded before it had the lock: %s", out)
			}
			syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, said.text)
			}
			if got := strings.Count(said.text+stdout.String(), "waiting for"); got != 1 && !tc.silent || got != 0 && tc.silent {
				t.Errorf("it said %d times that it waits:\n%s", got, said.text)
			}
		})
	}
}
