//go:build unix

package space

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile returns the first size bytes of a file as the system has them in memory,
// to be read and never written, and what gives them back.
func mapFile(f *os.File, size int64) (raw []byte, unmap func() error, err error) {
	if size == 0 {
		return nil, nil, nil // which cannot be mapped
	}
	raw, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return raw, func() error { return unix.Munmap(raw) }, nil
}
