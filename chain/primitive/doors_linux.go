package primitive

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// hostNames is the file of host names. On some systems it is a link.
const hostNames = "/etc/hosts"

// openDoors makes the socket over which rye-cage sends the listeners of a run; nil for none.
func openDoors(o *cage.Orders) (ours, theirs *os.File, err error) {
	if len(o.Listen) == 0 {
		return nil, nil, nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(pair[0]), "doors"), os.NewFile(uintptr(pair[1]), "doors"), nil
}

// serve hands the listeners of a run to its caller. rye-cage sent them before it started the
// program.
func (c *Call) serve(doors *os.File) error {
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
