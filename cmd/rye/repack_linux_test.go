package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// paused starts git repack in the record of a home, up to where it knows which packs there
// were and what the refs led to, and has written the new pack: it removes none before goOn.
func paused(t *testing.T, h *home, args ...string) (goOn func()) {
	t.Helper()
	dir := t.TempDir()
	begun, go1 := filepath.Join(dir, "begun"), filepath.Join(dir, "go")
	for _, p := range []string{begun, go1} {
		if err := syscall.Mkfifo(p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	at, err := exec.Command(real, "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nGIT_EXEC_PATH='" + strings.TrimSpace(string(at)) + "'; export GIT_EXEC_PATH\n" +
		"[ \"$1\" = pack-objects ] || exec '" + real + "' \"$@\"\n" +
		"'" + real + "' \"$@\"; status=$?\necho > '" + begun + "'; read x < '" + go1 + "'; exit $status\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(real, append([]string{"-C", h.store()}, args...)...)
	cmd.Env = append(h.env[:len(h.env):len(h.env)], "GIT_EXEC_PATH="+dir)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(begun) // waits
	if err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(f).ReadString('\n')
	f.Close()
	return func() {
		t.Helper()
		if err := os.WriteFile(go1, []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, said.String())
		}
	}
}

// TestAddBesideRepack: what rye add acknowledged stays, though git began to repack the record
// when the same version was there and nothing named it.
func TestAddBesideRepack(t *testing.T) {
	t.Parallel()
	_, bob := shared(t)
	bob.rye("add", "acme/knowledge/a", "--yes")
	for range 2 {
		bob.rye("rm", "acme/knowledge/a", "--yes")
		goOn := paused(t, bob, "repack", "-a", "-d", "-q")
		bob.rye("add", "acme/knowledge/a", "--yes")
		goOn()
		bob.rye("load", "knowledge:acme/a")
		bob.rye("lock", "verify")
		bob.rye("fsck")
		bob.rye("gc")
	}
}

// TestAddWhileGitRepacks is the same without a chosen moment.
func TestAddWhileGitRepacks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	rounds := 4
	if soak {
		rounds = 200
	}
	_, bob := shared(t)
	stop, ended := make(chan bool), make(chan int)
	at := bob.store()
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				ended <- n
				return
			default:
				exec.Command("git", "-C", at, "repack", "-a", "-d", "-q").Run()
			}
		}
	}()
	for range rounds {
		bob.rye("add", "acme/knowledge/a", "acme/knowledge/b", "--yes")
		bob.rye("load", "knowledge:acme/a")
		bob.rye("load", "knowledge:acme/b")
		bob.rye("rm", "acme/knowledge/a", "--yes")
		bob.rye("add", "acme/knowledge/a", "--yes")
		bob.rye("load", "knowledge:acme/a")
		bob.rye("rm", "acme/knowledge/b", "--yes")
	}
	close(stop)
	if n := <-ended; n == 0 {
		t.Error("git repacked nothing")
	}
	bob.rye("load", "knowledge:acme/a")
	bob.rye("fsck")
}

// TestLostContentIsNamed: where what a lock names is gone all the same, the commands that
// meet it name the one that brings it back.
func TestLostContentIsNamed(t *testing.T) {
	t.Parallel()
	_, bob := shared(t)
	bob.rye("add", "acme/knowledge/a", "--yes")
	packs, err := filepath.Glob(filepath.Join(bob.store(), "objects", "pack", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs: %v, %v", packs, err)
	}
	for _, p := range packs {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"load", "knowledge:acme/a"}, {"fsck"}, {"fsck", "--repair", "--yes"}, {"gc"}} {
		exit, said := bob.exit(args...)
		if exit == 0 || !strings.Contains(said, "rye pull") && !strings.Contains(said, "rye fsck") {
			t.Errorf("rye %v: exit %d: %s", args, exit, said)
		}
		if args[0] == "fsck" && !strings.Contains(said, "rye pull") {
			t.Errorf("rye %v names no way: %s", args, said)
		}
	}
	bob.rye("pull")
	bob.rye("load", "knowledge:acme/a")
	bob.rye("fsck")
	bob.rye("gc")
}
