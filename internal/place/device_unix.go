//go:build unix

package place

import (
	"io/fs"
	"os"
	"syscall"
)

// SameDevice reports whether the directory dir is on the same file system as above, the
// directory that contains it.
func SameDevice(dir fs.FileInfo, above string) bool {
	up, err := os.Stat(above)
	if err != nil {
		return false
	}
	a, ok1 := dir.Sys().(*syscall.Stat_t)
	b, ok2 := up.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && a.Dev == b.Dev
}
