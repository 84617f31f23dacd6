package place

import (
	"io/fs"

	"github.com/rye-os/rye/fault"
)

// Read returns the bytes of a regular file. One of more than limit bytes is refused
// (Limit) by its size, before anything of it is read, and so is what is no regular
// file (Malformed), which may never end or never begin. A file that is not there is
// fs.ErrNotExist.
func Read(path string, limit int64) ([]byte, error) {
	return ReadIf(path, limit, func(fs.FileMode) error { return nil })
}

// ReadIf is Read for a file whose mode, of the very file that is read, passes check.
func ReadIf(path string, limit int64, check func(fs.FileMode) error) ([]byte, error) {
	return read(path, limit, check)
}

func irregular(path string) error {
	return fault.New(fault.Malformed, "read %s: not a regular file", path)
}

func tooLarge(path string, limit int64) error {
	return fault.New(fault.Limit, "read %s: larger than %d bytes", path, limit)
}
