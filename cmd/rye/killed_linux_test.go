package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func init() { asFirst = sync.OnceValue(firstOfNamespace) }

// firstOfNamespace returns what makes a command the first of a namespace of processes, nil
// where none can be made.
func firstOfNamespace() func(*exec.Cmd) {
	first := func(cmd *exec.Cmd) {
		var a syscall.SysProcAttr
		if cmd.SysProcAttr != nil {
			a = *cmd.SysProcAttr
		}
		a.Cloneflags |= syscall.CLONE_NEWPID
		if user, group := os.Geteuid(), os.Getegid(); user != 0 {
			a.Cloneflags |= syscall.CLONE_NEWUSER
			a.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}}
			a.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: group, Size: 1}}
		}
		cmd.SysProcAttr = &a
	}
	try := exec.Command("/bin/true")
	if first(try); try.Run() != nil {
		return nil
	}
	return first
}

// TestKilledRunIsNamed: a rye that is killed takes nothing away; the next run names what
// came since, once, and takes nothing that may be a person's.
func TestKilledRunIsNamed(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	tool := func(text string) string {
		return "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: Test\n" + text + "\n"
	}
	h.write(".ai/tools/acme/plant.sh", tool("echo evil > .envrc; echo planted; sleep 60"))
	h.write(".ai/tools/acme/idle.sh", tool("true"))
	h.rye("sign", "--all")
	cmd := h.command("execute", "tool:acme/plant")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(h.dir, ".envrc")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(planted); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the tool did not begin")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	_, said := h.exit("execute", "tool:acme/idle")
	if !strings.Contains(said, "after a killed run, there is a new file .envrc") {
		t.Errorf("the next run says %q", said)
	}
	if _, err := os.Stat(planted); err != nil {
		t.Error("what may be a person's was taken:", err)
	}
	if _, said := h.exit("execute", "tool:acme/idle"); strings.Contains(said, "killed") {
		t.Errorf("said again: %q", said)
	}
}
