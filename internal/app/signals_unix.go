//go:build unix

package app

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
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

// unread reports whether nobody can read the standard output or the standard error any more.
func unread() bool {
	fds := []unix.PollFd{{Fd: 1}, {Fd: 2}}
	if _, err := unix.Poll(fds, 0); err != nil {
		return false
	}
	return (fds[0].Revents|fds[1].Revents)&(unix.POLLERR|unix.POLLHUP) != 0
}
