//go:build unix

package place

import (
	"io/fs"
	"os"
	"syscall"
)

// read asks the system four times, and each time counts for who starts anew for every
// question: to open, for size and mode, for the bytes, and to close.
func read(path string, limit int64, check func(fs.FileMode) error) ([]byte, error) {
	// A pipe is opened without waiting for its other end.
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

// ReadFd is ReadIf for a file that was opened already, and stays open; path is for
// messages.
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
		case n == 0, st.Size > 0 && int64(len(raw)) == st.Size: // what there was, and no more: raw had room for it
			return raw, nil
		case len(raw) == cap(raw):
			raw = append(raw, 0)[:len(raw)]
		}
	}
}

// Retry calls f again as long as a signal interrupts it.
func Retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// Open is os.Open for a regular file or a directory: it does not ask the system to say
// when there is something to read, which there always is. os.Open does, to be told each
// time that it cannot: six system calls a file, and a thread that waits for an answer.
func Open(path string) (*os.File, error) {
	fd, err := Retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
