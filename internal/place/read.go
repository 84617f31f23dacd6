package place

import (
	"io/fs"

	"github.com/rye-os/rye/fault"
)

// Read returns the bytes of a regular file. It refuses a file of more than limit bytes
// (Limit) by its size, before it reads any of it. It also refuses anything that is not
// a regular file (Malformed), because reading it may never end. A missing file is
// fs.ErrNotExist.
func Read(path string, limit int64) ([]byte, error) {
	return ReadIf(path, limit, func(fs.FileMode) error { return nil })
}

// ReadIf is Read for a file whose mode passes check. The mode is of the opened file.
func ReadIf(path string, limit int64, check func(fs.FileMode) error) ([]byte, error) {
	return read(path, limit, check)
}

func irregular(path string) error {
	return fault.New(fault.Malformed, "read %s: not a regular file", path)
}

func tooLarge(path string, limit int64) error {
	return fault.New(fault.Limit, "read %s: larger than %d bytes", path, limit)
}
