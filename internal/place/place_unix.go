//go:build !windows

package place

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/rye-os/rye/fault"
)

func rename(from, to string) error { return os.Rename(from, to) }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems cannot sync a directory and say EINVAL; there is nothing to be done about it.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Lock takes the lock at path for this process, waiting until ctx is done, and
// returns what gives it back; then the error is the cause of ctx. The system drops
// it when the process dies; so the file itself means nothing and stays. Two Locks
// of one process exclude each other, too.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.New(fault.Failed, "lock %s: %w", path, err)
	}
	defer waitingFor(path)()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fault.New(fault.Failed, "lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// Share opens the file at path and takes its lock together with all who Share it: while one
// does, nobody gets it by Lock. Where somebody has it alone, that is an error at once.
func Share(path string) (release func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fault.New(fault.Failed, "share %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
