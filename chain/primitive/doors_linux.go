package primitive

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// hostNames is the file of host names. On some systems it is a link.
const hostNames = "/etc/hosts"

// openDoors makes the socket over which rye-cage sends the listeners of a run; nil for none.
func openDoors(o *cage.Orders) (ours, theirs *os.File, err error) {
	if !o.Doors() {
		return nil, nil, nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(pair[0]), "doors"), os.NewFile(uintptr(pair[1]), "doors"), nil
}

// serve hands the listeners of a run to its caller, and the way in. rye-cage sent the listeners before
// it started the program.
func (c *Call) serve(doors *os.File, o *cage.Orders) error {
	if len(o.Listen) > 0 {
		if err := c.serveListeners(doors); err != nil {
			return err
		}
	}
	if o.Enter {
		in := &wayIn{doors: doors}
		c.Doors.Enter(in.dial)
	}
	return nil
}

func (c *Call) serveListeners(doors *os.File) error {
	fds, err := cage.ReceiveListeners(int(doors.Fd()), len(c.Doors.Listen))
	if err != nil {
		return fmt.Errorf("take the listeners of its network: %w", err)
	}
	all := make([]net.Listener, len(fds))
	for i, fd := range fds {
		if fd < 0 {
			continue
		}
		f := os.NewFile(uintptr(fd), "listener")
		l, one := net.FileListener(f)
		f.Close()
		if all[i], err = l, one; err != nil {
			break
		}
	}
	if err != nil {
		for i, l := range all {
			if l != nil {
				l.Close()
			} else if fds[i] >= 0 {
				unix.Close(fds[i])
			}
		}
		return err
	}
	c.Doors.Serve(all)
	return nil
}

// wayIn connects to ports of the program's network, with sockets that rye-cage makes there.
type wayIn struct {
	mu    sync.Mutex
	doors *os.File
}

// enterWait bounds a connection to a port of the program's, which answers at once or not at all.
const enterWait = 5 * time.Second

// dial connects to a port of the program's loopback, in one version of IP or the other.
func (w *wayIn) dial(ctx context.Context, port uint16) (net.Conn, error) {
	conn, err := w.dialTo(ctx, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
	if err != nil && ctx.Err() == nil {
		if six, err := w.dialTo(ctx, netip.AddrPortFrom(netip.IPv6Loopback(), port)); err == nil {
			return six, nil
		}
	}
	return conn, err
}

func (w *wayIn) dialTo(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	fd, err := w.socket(to.Addr().Is6())
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "way in")
	defer f.Close() // FileConn has its own
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait := unix.NsecToTimeval(int64(enterWait))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	var at unix.Sockaddr = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	if to.Addr().Is4() {
		at = &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	if err := unix.Connect(fd, at); err != nil {
		return nil, os.NewSyscallError("connect", err)
	}
	return net.FileConn(f)
}

// socket asks for one socket.
func (w *wayIn) socket(six bool) (fd int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	raw, err := w.doors.SyscallConn()
	if err != nil {
		return -1, err
	}
	asked := raw.Control(func(doors uintptr) { fd, err = cage.SocketInside(int(doors), six) })
	if asked != nil { // the run has ended
		return -1, asked
	}
	return fd, err
}
