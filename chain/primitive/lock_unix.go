//go:build unix

package primitive

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile opens path and takes its lock, or fails at once when it is held. The kernel releases
// the lock when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
