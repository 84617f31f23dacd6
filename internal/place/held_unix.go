//go:build unix

package place

import (
	"errors"
	"os"
	"syscall"
)

// Held reports whether another process holds the lock of the file at path: by Lock, or by any lock
// of flock(2). It waits for nothing. A missing file is held by nobody.
func Held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
