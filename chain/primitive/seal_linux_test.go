package primitive

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A program in sealed memory runs in every tier, is read like a file, and is
// written by nobody: not by itself, and not by us.
func TestSealedMemory(t *testing.T) {
	shell, err := os.ReadFile(program(t, "bash"))
	if err != nil {
		t.Skip(err)
	}
	tiers := []Tier{S0, S1}
	if Best() >= S2 {
		tiers = append(tiers, S2)
	}
	t.Run("S3", func(t *testing.T) { needS3(t); sealedIn(t, S3, shell) })
	for _, tier := range tiers {
		sealedIn(t, tier, shell)
	}
	f, err := sealFile([]byte("#!/bin/sh\necho verified\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("evil")); err == nil {
		t.Error("written by us")
	}
	if w, err := os.OpenFile("/proc/self/fd/"+fdName(f), os.O_RDWR, 0); err == nil {
		if _, err := w.Write([]byte("evil")); err == nil {
			t.Error("opened anew and written")
		}
		if w.Truncate(0) == nil {
			t.Error("cut")
		}
		w.Close()
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); err == nil {
		t.Error("its seals can be changed")
	}
}

func fdName(f *os.File) string { return strconv.Itoa(int(f.Fd())) }

func sealedIn(t *testing.T, tier Tier, shell []byte) {
	t.Helper()
	c := bash(t, "")
	c.Argv = []string{SealedPath, "--noprofile", "--norc", "-c",
		`readlink /proc/$$/exe; echo evil 2>/dev/null >/proc/$$/fd/3 || echo kept; head -c 4 /proc/$$/fd/3 | tail -c 3; echo; bash -c 'exec 3<&- ; echo gone'`}
	c.Sealed, c.Sandbox.Tier = shell, tier
	r := mustRun(t, c)
	want := "/memfd:rye-sealed (deleted)\nkept\nELF\ngone\n"
	if got := string(r.Stdout); got != want {
		t.Errorf("%s: %q, want %q; %s", tier, got, want, r.Stderr)
	}
	c.Sealed = []byte("#!" + program(t, "bash") + "\necho a script \"$1\"\n")
	c.Argv = []string{SealedPath, "here"}
	if r := mustRun(t, c); strings.TrimSpace(string(r.Stdout)) != "a script here" {
		t.Errorf("%s: a script: %q, %s", tier, r.Stdout, r.Stderr)
	}
}
