//go:build unix

package app

import "golang.org/x/sys/unix"

// hush makes a terminal show nothing of what is typed and returns how it was
// before. Everything else about it stays.
func hush(fd int) (restore func(), err error) {
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	quiet := *was
	quiet.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, setTermios, &quiet); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }, nil
}
