package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// weighing is the first argument for weigh. A process's memory figure includes the memory of its
// parent at the start. This program has more memory than some peers, except when it has just
// started; so a fresh copy of it starts the peer.
const weighing = "-weigh"

// weighed is process with the memory of its largest process.
func (b *bench) weighed(dir string, args ...string) side {
	return func() (c cost, err error) {
		self, err := os.Executable()
		if err != nil {
			return c, err
		}
		to := filepath.Join(b.dir, "weight")
		cmd := b.command(dir, args...)
		cmd.Args = append([]string{self, weighing, to, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = self
		if _, err := b.timed(cmd); err != nil {
			return c, err
		}
		text, err := os.ReadFile(to)
		if err == nil {
			_, err = fmt.Sscan(string(text), &c.wall, &c.cpu, &c.resident)
		}
		return c, err
	}
}

// weigh runs a program and writes its cost to a file.
func weigh(to string, args []string) (exit int) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return max(failed.ExitCode(), 1)
	}
	if err == nil {
		err = os.WriteFile(to, fmt.Appendln(nil, int64(time.Since(start)), int64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()), resident(cmd)), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}
