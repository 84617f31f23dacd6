//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the kernel's exclusive lock on f. The lock belongs to the open file, so two
// openings in one process exclude each other, and it ends with the process. Without wait it
// returns errBusy at once if the lock is taken.
func flock(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == syscall.EINTR:
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errBusy
		case err != nil:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// funlock ends flock. It is explicit, because a child that is just starting may hold a copy of
// the descriptor for a moment.
func funlock(f *os.File) { syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// fsyncDir makes the entries of a directory durable.
func (f *files) fsyncDir(dir string) error {
	d, err := f.openDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// isNotDir reports whether err means a file in place of a directory, or the reverse.
func isNotDir(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
}
