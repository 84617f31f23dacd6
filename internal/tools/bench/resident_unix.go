//go:build unix

package main

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// resident returns the largest resident set, in bytes, of a process that ended.
func resident(cmd *exec.Cmd) int64 {
	use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(use.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(use.Maxrss) << 10
}

// processorTime returns what this process has used of the processors so far.
func processorTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
