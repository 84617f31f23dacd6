package place

import "io/fs"

// SameDevice is true: a path on Windows begins with the one volume that it lies on,
// unless a volume was mounted in a folder, which only an administrator does.
func SameDevice(fs.FileInfo, string) bool { return true }
