//go:build !linux

package journal

import "os"

// datasync waits until the bytes of a file are on the disk.
func datasync(f *os.File) error { return f.Sync() }
