//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// keepGroup gives a new file the owner and the group of the file that it replaces.
func keepGroup(f *os.File, like fs.FileInfo) error {
	if like == nil {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok1 := like.Sys().(*syscall.Stat_t)
	is, ok2 := now.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || was.Gid == is.Gid && was.Uid == is.Uid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}
