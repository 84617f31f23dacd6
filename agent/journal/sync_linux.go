package journal

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/internal/place"
)

// datasync waits until the bytes of a file and its length are on the disk, but not its times.
func datasync(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		_, failed = place.Retry(func() (int, error) { return 0, unix.Fdatasync(int(fd)) })
	})
	if err == nil {
		err = failed
	}
	return err
}
