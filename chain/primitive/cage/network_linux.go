package cage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// network gives the calling thread and its children a network with a loopback only, and sends the
// listeners in it to rye.
func (o *Orders) network(doors int) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := bringUp("lo"); err != nil {
		return err
	}
	if doors < 0 {
		return nil
	}
	err := o.sendListeners(doors)
	if err == nil && o.Enter {
		if err = hold(doors); err == nil {
			return nil
		}
	}
	unix.Close(doors)
	return err
}

// sendListeners opens the listeners and hands them to rye.
func (o *Orders) sendListeners(doors int) error {
	if len(o.Listen) == 0 {
		return nil
	}
	fds, there, err := o.listeners()
	for _, fd := range fds {
		defer unix.Close(fd)
	}
	if err != nil {
		return err
	}
	return os.NewSyscallError("sendmsg", unix.Sendmsg(doors, there, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL))
}

// MaxListen is the most listeners of one run. A message carries at most 253 descriptors
// (SCM_MAX_FD, unix(7)).
const MaxListen = 250

// listeners opens a listener at each address. there has a 1 for each listener, in order, and a 0
// for an IPv6 address where the system has no IPv6.
func (o *Orders) listeners() (fds []int, there []byte, err error) {
	if len(o.Listen) > MaxListen {
		return nil, nil, fmt.Errorf("%d listeners, at most %d", len(o.Listen), MaxListen)
	}
	var had [][]byte
	for _, e := range o.Listen {
		if !slices.ContainsFunc(had, func(ip []byte) bool { return slices.Equal(ip, e.IP) }) {
			had = append(had, e.IP)
			err = addAddress(e.IP)
		} else {
			err = nil
		}
		fd := -1
		if err == nil {
			fd, err = e.listen()
		}
		switch {
		case err == nil:
			fds, there = append(fds, fd), append(there, 1)
		case len(e.IP) == 16:
			there = append(there, 0)
		default:
			return fds, nil, fmt.Errorf("listen at %v, port %d: %w", e.IP, e.Port, err)
		}
	}
	return fds, there, nil
}

// listen opens a listener.
func (e Endpoint) listen() (int, error) {
	family, at := unix.AF_INET, unix.Sockaddr(nil)
	switch len(e.IP) {
	case 4:
		at = &unix.SockaddrInet4{Port: int(e.Port), Addr: [4]byte(e.IP)}
	case 16:
		family, at = unix.AF_INET6, &unix.SockaddrInet6{Port: int(e.Port), Addr: [16]byte(e.IP)}
	default:
		return -1, unix.EAFNOSUPPORT
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, at); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// addAddress gives the loopback device an address, unless it has it. The whole of 127.0.0.0/8 works
// without that. But a resolver asks the system which kinds of addresses it has, and 127.0.0.1 alone
// is none to the C library (AI_ADDRCONFIG).
func addAddress(ip []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, newAddress(ip), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil {
		return err
	}
	const header = unix.SizeofNlMsghdr
	if n < header+4 || binary.NativeEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel gave no answer about an address")
	}
	if code := -int32(binary.NativeEndian.Uint32(reply[header:])); code != 0 && unix.Errno(code) != unix.EEXIST {
		return unix.Errno(code)
	}
	return nil
}

// loopback is the index of the loopback device, the first of every network.
const loopback = 1

// newAddress is the message RTM_NEWADDR of rtnetlink(7): a header, struct ifaddrmsg, and the
// address as local address and as prefix.
func newAddress(ip []byte) []byte {
	family, flags := byte(unix.AF_INET), byte(0)
	if len(ip) == 16 {
		family, flags = unix.AF_INET6, unix.IFA_F_NODAD // at once, without a search for another owner
	}
	e := binary.NativeEndian
	m := make([]byte, unix.SizeofNlMsghdr)
	e.PutUint16(m[4:], unix.RTM_NEWADDR)
	e.PutUint16(m[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m = append(m, family, byte(8*len(ip)), flags, unix.RT_SCOPE_HOST)
	m = e.AppendUint32(m, loopback)
	for _, kind := range []uint16{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		m = e.AppendUint16(m, uint16(4+len(ip)))
		m = append(e.AppendUint16(m, kind), ip...)
	}
	e.PutUint32(m, uint32(len(m)))
	return m
}

// bringUp enables a network device.
func bringUp(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// ReceiveListeners returns the descriptors of listeners from the other end of their socket, one for
// each Endpoint in order; -1 where the system has no IPv6. The caller closes them.
func ReceiveListeners(socket, count int) ([]int, error) {
	there, rights := make([]byte, MaxListen), make([]byte, unix.CmsgSpace(MaxListen*4))
	n, size, flags, _, err := unix.Recvmsg(socket, there, rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	var fds []int
	msgs, err := unix.ParseSocketControlMessage(rights[:size])
	for _, m := range msgs {
		more, _ := unix.ParseUnixRights(&m)
		fds = append(fds, more...)
	}
	all := make([]int, 0, count)
	left := fds
	for _, one := range there[:n] {
		switch {
		case one == 0:
			all = append(all, -1)
		case len(left) > 0:
			all, left = append(all, left[0]), left[1:]
		}
	}
	if err != nil || flags&unix.MSG_CTRUNC != 0 || len(all) != count || len(left) > 0 {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, errors.New("listeners that were not asked for")
	}
	return all, nil
}
