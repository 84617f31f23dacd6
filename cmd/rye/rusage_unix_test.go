//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// measureEnv makes this test program run its arguments and tell what they took.
const measureEnv = "RYE_TEST_MEASURE"

// used is what a process and those that it waited for took.
type used struct {
	cpu time.Duration
	rss int64 // bytes, the largest of them
}

// measured runs a command through a small process: a child's peak of memory begins
// with that of the process that started it, and this one is large.
func measured(t *testing.T, cmd *exec.Cmd) (out []byte, exit int, u used) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Args = append([]string{self, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Env, cmd.ExtraFiles = self, append(cmd.Env, measureEnv+"=1"), []*os.File{w}
	out, err = cmd.CombinedOutput()
	w.Close()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := fmt.Fscan(r, &exit, &u.cpu, &u.rss); err != nil {
		t.Fatal(err)
	}
	return out, exit, u
}

// measure is the other side of measured.
func measure() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	for _, kv := range os.Environ() {
		if kv != measureEnv+"=1" {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p := cmd.ProcessState
	rss := p.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS != "darwin" {
		rss <<= 10
	}
	fmt.Fprintln(os.NewFile(3, "answer"), p.ExitCode(), int64(p.UserTime()+p.SystemTime()), rss)
}
