//go:build !linux && !darwin && !windows

package records

import (
	"io/fs"
	"sync"
	"syscall"
)

func stamp(_ string, st fs.FileInfo) Stamp {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}
	}
	return Stamp{Inode: uint64(s.Ino)}
}

func spelling(path string) string { return path }

var machine = sync.OnceValue(func() string { return machineID("/etc/machine-id") })
