//go:build !linux && !darwin

package space

import "io/fs"

func inodeOf(fs.FileInfo) (ctime int64, inode uint64) { return 0, 0 }
