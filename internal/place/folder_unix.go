//go:build unix

package place

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// Folder is a directory that another user may have made, opened to read several files directly
// in it. It holds one descriptor, so a file costs four system calls (open, stat, read, close).
// A replacement of the directory meanwhile has no effect.
type Folder struct {
	fd   int
	name string
}

// OpenFolder opens a directory. A link to one is fault.Malformed; a missing one is
// fs.ErrNotExist.
func OpenFolder(dir string) (Folder, error) {
	fd, err := Retry(func() (int, error) {
		return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return Folder{fd: -1}, notPlain(dir)
	case err != nil:
		return Folder{fd: -1}, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return Folder{fd, dir}, nil
}

// Name returns the directory's path, as given to OpenFolder.
func (f Folder) Name() string { return f.name }

// Read returns the bytes of a file directly in the folder, at most limit of them (fault.Limit).
// It does not follow a link, which is fault.Malformed like anything but a regular file.
func (f Folder) Read(name string, limit int64) ([]byte, error) {
	fd, path, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	return ReadFd(fd, path, limit, func(fs.FileMode) error { return nil })
}

// Head is like Read, but for a larger file it returns the first limit bytes, and more is true.
func (f Folder) Head(name string, limit int64) (raw []byte, more bool, err error) {
	raw, err = f.Read(name, limit)
	if !fault.Is(err, fault.Limit) {
		return raw, false, err
	}
	fd, path, err := f.open(name)
	if err != nil {
		return nil, false, err
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, false, irregular(path)
	}
	raw = make([]byte, limit)
	n, err := io.ReadFull(file, raw)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // it shrank meanwhile
		err = nil
	}
	return raw[:n], true, err
}

// open opens a file directly in the folder without blocking.
func (f Folder) open(name string) (fd int, path string, err error) {
	path = f.name + string(os.PathSeparator) + name
	fd, err = Retry(func() (int, error) {
		return unix.Openat(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK), errors.Is(err, unix.ENXIO): // a link; a link on BSD; a socket
		return -1, path, irregular(path)
	case err != nil:
		return -1, path, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, path, nil
}

// Close closes the folder.
func (f Folder) Close() error { return syscall.Close(f.fd) }
