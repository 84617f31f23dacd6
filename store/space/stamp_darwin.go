package space

import (
	"io/fs"
	"syscall"
)

func inodeOf(st fs.FileInfo) (ctime int64, inode uint64) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return s.Ctimespec.Nano(), s.Ino
}
