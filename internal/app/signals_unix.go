//go:build unix

package app

import (
	"os"
	"syscall"
)

// endings are the signals that ask a program to end.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

var (
	hangup     os.Signal = syscall.SIGHUP
	closedPipe os.Signal = syscall.SIGPIPE
)

// raise ends this process as a signal does that nobody handles.
func raise(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(syscall.Getpid(), s)
	}
}
