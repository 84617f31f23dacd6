package store

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// flock takes the kernel's exclusive lock on f. It ends with the process. Without wait it
// returns errBusy at once if the lock is taken. The locked byte lies beyond the end of the
// file, because locks on Windows prevent reading and writing.
func flock(f *os.File, wait bool) error {
	var how uint32 = windows.LOCKFILE_EXCLUSIVE_LOCK
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errBusy
	}
	if err != nil {
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// funlock ends flock.
func funlock(f *os.File) {
	windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 0x40000000} }

// fsyncDir does nothing: NTFS journals its directories and offers no way to wait for one.
func (f *files) fsyncDir(string) error { return nil }

// isNotDir reports whether err means a file in place of a directory, or the reverse.
func isNotDir(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, windows.ERROR_DIRECTORY)
}
