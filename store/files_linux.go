package store

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/internal/place"
)

// searchOnly opens a directory only to look up names in it.
const searchOnly = unix.O_PATH

// stepwise is set when the kernel, or a filter, does not know openat2.
var stepwise atomic.Bool

// openBeneath opens name below the directory top. It follows no links. It needs one call, if
// the kernel has openat2.
func openBeneath(top int, name string, flags int, perm uint32) (int, error) {
	if stepwise.Load() {
		return openComponents(top, name, flags, perm)
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(perm)
	}
	fd, err := place.Retry(func() (int, error) { return unix.Openat2(top, name, &how) })
	switch err {
	case nil:
		return fd, nil
	case unix.ENOSYS, unix.EPERM, unix.EINVAL:
		stepwise.Store(err == unix.ENOSYS)
		return openComponents(top, name, flags, perm)
	case unix.ELOOP, unix.ENOTDIR, unix.EXDEV, unix.EAGAIN: // ambiguous, or a race with a rename
		return openComponents(top, name, flags, perm)
	}
	return -1, err
}
