package cage

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A socket belongs to the network of the thread that made it, whoever connects it. So a thread of
// rye-cage stays in the program's network and makes sockets for rye, which connects them. It takes
// nothing from the program, and the program cannot reach it.
//
// The thread that starts the program cannot stay, because it has the program's bounds. Another
// one therefore enters the network, which only this process may.

// hold starts the thread that makes sockets in the network of the calling thread, for the other end of
// doors, until that end is closed.
func hold(doors int) error {
	network, err := networkOf()
	if err != nil {
		return err
	}
	entered := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: it is in another network now
		defer unix.Close(doors)
		err := unix.Setns(network, unix.CLONE_NEWNET)
		unix.Close(network)
		entered <- os.NewSyscallError("setns", err)
		if err == nil {
			makeSockets(doors)
		}
	}()
	return <-entered
}

// networkOf returns a descriptor of the calling thread's network. A socket knows it without /proc,
// which is being mounted at this time.
func networkOf() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	network, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCGSKNS, 0)
	if errno != 0 {
		return -1, fmt.Errorf("find the network of a socket: %w", errno)
	}
	unix.CloseOnExec(int(network))
	return int(network), nil
}

// makeSockets answers each byte, 4 or 6, with a new TCP socket of that version of IP, or with none.
func makeSockets(doors int) {
	kind := make([]byte, 1)
	for {
		n, err := unix.Read(doors, kind)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return
		}
		family := unix.AF_INET
		if kind[0] == 6 {
			family = unix.AF_INET6
		}
		var rights []byte
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			rights = unix.UnixRights(fd)
		}
		err = unix.Sendmsg(doors, []byte{kind[0]}, rights, nil, unix.MSG_NOSIGNAL)
		if rights != nil {
			unix.Close(fd)
		}
		if err != nil {
			return
		}
	}
}

// SocketInside asks rye-cage for a TCP socket of the program's network. The caller closes it, and makes
// one call at a time.
func SocketInside(doors int, six bool) (int, error) {
	kind := byte(4)
	if six {
		kind = 6
	}
	if err := unix.Sendmsg(doors, []byte{kind}, nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return -1, os.NewSyscallError("sendmsg", err)
	}
	answer, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	for {
		n, size, _, _, err := unix.Recvmsg(doors, answer, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return -1, os.NewSyscallError("recvmsg", err)
		case n == 0:
			return -1, errors.New("the run has ended")
		}
		msgs, err := unix.ParseSocketControlMessage(rights[:size])
		if err != nil || len(msgs) != 1 {
			return -1, errors.New("the program's network has no such socket")
		}
		fds, err := unix.ParseUnixRights(&msgs[0])
		if err != nil || len(fds) != 1 {
			return -1, errors.New("sockets that were not asked for")
		}
		return fds[0], nil
	}
}
