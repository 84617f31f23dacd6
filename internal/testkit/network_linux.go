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
func ListenIn(t testing.TB, pid int, at string) net.Listener {
	t.Helper()
	var l net.Listener
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with this function
		var ns *os.File
		if ns, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", pid)); err != nil {
			return
		}
		defer ns.Close()
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err == nil {
			l, err = net.Listen("tcp", at)
		}
	}()
	<-done
	Must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}
