//go:build unix

package app

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// alone waits until no other process of the tool makes a call over the same connection. It uses
// a lock of processes, because all their descriptors are copies of one. Some systems have no
// such lock for sockets: then simultaneous calls can receive each other's answers.
func alone(conn *os.File) (done func(), err error) {
	set := func(how int16) error {
		for {
			err := unix.FcntlFlock(conn.Fd(), unix.F_SETLKW, &unix.Flock_t{Type: how, Whence: io.SeekStart})
			if err != unix.EINTR {
				return err
			}
		}
	}
	if set(unix.F_WRLCK) != nil {
		return func() {}, nil
	}
	return func() { _ = set(unix.F_UNLCK) }, nil
}
