package app

import (
	"os"
	"syscall"

	"github.com/rye-os/rye/fault"
)

// endings are the signals that ask a program to end. Windows sends SIGTERM when a console closes.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM}

// Windows has no such signals.
var hangup, closedPipe os.Signal

func raise(os.Signal) { os.Exit(fault.Interrupt.Exit()) }

func unread() bool { return false }
