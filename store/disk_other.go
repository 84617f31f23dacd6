//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package store

import (
	"errors"
	"os"
	"syscall"
)

// flock refuses: without a lock of the kernel rye does not write here.
func flock(f *os.File, wait bool) error {
	return &os.PathError{Op: "lock", Path: f.Name(), Err: errors.ErrUnsupported}
}

func funlock(*os.File) {}

// fsyncDir makes the entries of a directory durable, where the system can.
func fsyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// removeDir removes an empty directory, and never a file: where a directory was a
// moment ago, git may just have put a ref.
func removeDir(string) error { return errors.ErrUnsupported }
