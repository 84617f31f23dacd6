package testkit

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// ListenIn opens a TCP listener in the network of another process, until the end of the test. It
// needs the superuser.
func ListenIn(t testing.TB, pid int, at string) (l net.Listener) {
	t.Helper()
	within(t, pid, func() (err error) {
		l, err = net.Listen("tcp", at)
		return err
	})
	t.Cleanup(func() { l.Close() })
	return l
}

// ListenPacketIn opens a UDP socket in the network of another process, until the end of the test. It
// needs the superuser.
func ListenPacketIn(t testing.TB, pid int, at string) (c net.PacketConn) {
	t.Helper()
	within(t, pid, func() (err error) {
		c, err = net.ListenPacket("udp", at)
		return err
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// within runs f on a thread in the network of another process.
func within(t testing.TB, pid int, f func() error) {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this function
		ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			failed <- err
			return
		}
		defer ns.Close()
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err == nil {
			err = f()
		}
		failed <- err
	}()
	Must(t, <-failed)
}
