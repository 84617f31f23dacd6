//go:build unix

package primitive

import (
	"errors"

	"golang.org/x/sys/unix"
)

// full reports whether err means that a disk, a quota or a file is full.
func full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
