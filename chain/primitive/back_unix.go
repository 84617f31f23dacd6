//go:build unix

package primitive

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pair makes a connection: theirs is for Call.Back, ours for the process that answers. No other
// process has an end of it, and neither end can be opened by name.
func Pair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // a program started between the calls would inherit both ends
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // for deadlines and the poller; theirs is another end
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "rye-call"), os.NewFile(uintptr(fds[1]), "rye-call"), nil
}

// IsSocket reports whether a descriptor of this process is a socket.
func IsSocket(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK
}
