package place

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/rye-os/rye/fault"
)

const errorSharingViolation = syscall.Errno(32)

// rename renames a file over another. A reader that has the old one open makes
// the system refuse for a moment.
func rename(from, to string) error {
	for i := 0; ; i++ {
		err := os.Rename(from, to)
		if err == nil || i == 50 || !(errors.Is(err, errorSharingViolation) || errors.Is(err, fs.ErrPermission)) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// syncDir does nothing: Windows offers no way to sync a directory, and NTFS
// journals its names.
func syncDir(string) error { return nil }

// Lock takes the lock at path for this process by opening the file without sharing;
// unlock releases it. It waits until ctx is done; the error is then the cause of ctx.
// The system closes the file when the process dies. Two Locks in one process exclude
// each other, too.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fault.New(fault.Failed, "lock %s: %w", path, err)
	}
	defer waitingFor(path)()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
			syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
		if err == nil {
			return func() { syscall.CloseHandle(h) }, nil
		}
		if !errors.Is(err, errorSharingViolation) {
			return nil, fault.New(fault.Failed, "lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
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
	return func() { f.Close() }, nil
}
