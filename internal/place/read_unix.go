//go:build unix

package place

import (
	"io/fs"
	"os"
	"syscall"
)

// read needs four system calls: open, stat, read and close. Their number matters to programs
// that run once for each question.
func read(path string, limit int64, check func(fs.FileMode) error) ([]byte, error) {
	// Opening a pipe must not wait for its other end.
	fd, err := Retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	})
	if err == syscall.ENXIO {
		return nil, irregular(path) // a socket
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	return ReadFd(fd, path, limit, check)
}

// ReadFd is ReadIf for an open file, which stays open; path is for messages.
func ReadFd(fd int, path string, limit int64, check func(fs.FileMode) error) ([]byte, error) {
	failed := func(op string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, failed("stat", err)
	}
	switch {
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return nil, irregular(path)
	case st.Size > limit:
		return nil, tooLarge(path, limit)
	}
	if err := check(fs.FileMode(st.Mode & 0o777)); err != nil {
		return nil, err
	}
	raw := make([]byte, 0, st.Size+1) // one more, to see the end
	for {
		n, err := Retry(func() (int, error) { return syscall.Read(fd, raw[len(raw):cap(raw)]) })
		if err != nil {
			return nil, failed("read", err)
		}
		raw = raw[:len(raw)+n]
		switch {
		case int64(len(raw)) > limit: // it grew meanwhile
			return nil, tooLarge(path, limit)
		case n == 0, st.Size > 0 && int64(len(raw)) == st.Size: // raw had room for another byte, and there was none
			return raw, nil
		case len(raw) == cap(raw):
			raw = append(raw, 0)[:len(raw)]
		}
	}
}

// Retry repeats f while a signal interrupts it.
func Retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// Open is os.Open for a regular file or a directory, without polling: such a file is always
// ready to read. os.Open tries to poll each file and fails, which costs six system calls for
// a file, and a waiting thread.
func Open(path string) (*os.File, error) {
	fd, err := Retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
