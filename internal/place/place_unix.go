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
	// Some file systems cannot sync a directory and return EINVAL; rye can do nothing about it.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Lock takes the lock at path for this process; unlock releases it. It waits until ctx
// is done; the error is then the cause of ctx. The system releases the lock when the
// process dies, so the file itself has no meaning and stays. Two Locks in one process
// exclude each other, too.
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

// Share opens the file at path and takes a shared lock on it. Many callers can hold it, and
// Lock then waits. If Lock has the file, Share fails at once.
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
