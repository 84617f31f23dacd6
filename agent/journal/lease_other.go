//go:build !linux

package journal

import (
	"context"
	"os"
	"time"

	"github.com/rye-os/rye/fault"
)

// waitLock checks every 20 ms whether the lock of f is free: without cgo, a thread that waits for
// it cannot be woken.
func waitLock(ctx context.Context, f *os.File) error {
	for {
		free, err := tryLock(f, false)
		if free {
			unlock(f)
		}
		if free || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

func self() (pid int, started uint64, boot string) { return os.Getpid(), 0, "" }

// Signal sends a signal to the process that took the lease. Ask Alive first: this system does not
// show when a process started, so another process may have its number by now.
func (h Holder) Signal(sig os.Signal) error {
	if h.PID < 1 {
		return fault.New(fault.NotFound, "no process took the lease")
	}
	p, err := os.FindProcess(h.PID)
	if err == nil {
		defer p.Release()
		err = p.Signal(sig)
	}
	if err != nil {
		return fault.New(fault.Failed, "signal process %d: %w", h.PID, err)
	}
	return nil
}
