package primitive

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func (s *scene) tcp() unix.Sockaddr {
	return &unix.SockaddrInet4{Port: s.Port, Addr: [4]byte{127, 0, 0, 1}}
}

func (s *scene) tcp6() unix.Sockaddr {
	return &unix.SockaddrInet6{Port: s.Port, Addr: [16]byte{15: 1}}
}

// sendTo sends a datagram.
func sendTo(family, kind int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("evil"), 0, to)
}

// aimed makes a pair of sockets and aims one of them at something else. With closed, the
// other one has gone before.
func aimed(kind int, closed bool, to unix.Sockaddr) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	if unix.Close(pair[1]); !closed {
		return first(unix.Sendto(pair[0], []byte("evil"), unix.MSG_NOSIGNAL, to), unix.Connect(pair[0], to))
	}
	return unix.Connect(pair[0], to)
}

// fastOpen connects with the first bytes, in the call that sends them.
func fastOpen(family int, to unix.Sockaddr, send func(fd int, to unix.Sockaddr) error) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return send(fd, to)
}

func listens() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{}); err != nil {
		return err
	}
	return unix.Listen(fd, 1)
}

// families are kinds of sockets that no tool needs.
var families = []struct {
	name                string
	family, kind, proto int
}{
	{"raw packets", unix.AF_PACKET, unix.SOCK_RAW, 0},
	{"raw packets of a protocol", unix.AF_PACKET, unix.SOCK_DGRAM, 0x300},
	{"raw IP", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW},
	{"raw IP of version 6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
	{"netlink to the audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT},
	{"netlink to the firewall", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
	{"netlink to the devices", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
	{"netlink to generic services", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC},
	{"netlink to socket tables", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG},
	{"virtual machine sockets", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
	{"kernel crypto sockets", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
	{"Bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1},
	{"XDP", unix.AF_XDP, unix.SOCK_RAW, 0},
	{"CAN", unix.AF_CAN, unix.SOCK_RAW, 1},
	{"RDS", unix.AF_RDS, unix.SOCK_SEQPACKET, 0},
	{"TIPC", unix.AF_TIPC, unix.SOCK_STREAM, 0},
	{"SMC", unix.AF_SMC, unix.SOCK_STREAM, 0},
	{"KCM", unix.AF_KCM, unix.SOCK_DGRAM, 0},
	{"multipath TCP", unix.AF_INET, unix.SOCK_STREAM, 262},
	{"SCTP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
	{"DCCP", unix.AF_INET, 6, unix.IPPROTO_DCCP},
	{"UDP-Lite", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE},
}

// familyDeeds try to make each of them.
func familyDeeds(suffix string) (all []deed) {
	for _, f := range families {
		all = append(all, deed{name: f.name + suffix, want: "**rr", do: func(*scene) error { return socket(f.family, f.kind, f.proto) }})
	}
	return all
}

func local(name string) unix.Sockaddr { return &unix.SockaddrUnix{Name: name} }

// machineDeeds reach for services of this machine, which hold keys and run commands.
func machineDeeds(suffix string) []deed {
	return []deed{
		{"connect to an agent's socket" + suffix, "", "aarr", "", func(s *scene) error { return reach(unix.AF_UNIX, unix.SOCK_STREAM, local(s.out("agent.sock"))) }},
		{"connect to a socket without a file" + suffix, "", "aarr", "", func(s *scene) error { return reach(unix.AF_UNIX, unix.SOCK_STREAM, local("@"+s.Abstract)) }},
		{"send to a log's socket" + suffix, "", "aarr", "", func(s *scene) error { return sendTo(unix.AF_UNIX, unix.SOCK_DGRAM, local(s.out("log.sock"))) }},
		{"send to a socket without a file" + suffix, "", "aarr", "", func(s *scene) error { return sendTo(unix.AF_UNIX, unix.SOCK_DGRAM, local("@"+s.Abstract+"-log")) }},
		{"aim a datagram pair at a log" + suffix, "", "aarr", "", func(s *scene) error { return aimed(unix.SOCK_DGRAM, false, local(s.out("log.sock"))) }},
		{"aim a raw pair at a log" + suffix, "", "aarr", "", func(s *scene) error { return aimed(unix.SOCK_RAW, false, local(s.out("log.sock"))) }},
		{"aim a raw pair at no file" + suffix, "", "aarr", "", func(s *scene) error { return aimed(unix.SOCK_RAW, false, local("@"+s.Abstract+"-log")) }},
		{"aim a stream pair at an agent" + suffix, "", "vvvn", "it is connected already", func(s *scene) error { return aimed(unix.SOCK_STREAM, true, local(s.out("agent.sock"))) }},
		{"aim a packet pair at an agent" + suffix, "", "vvvn", "it is connected already", func(s *scene) error { return aimed(unix.SOCK_SEQPACKET, true, local(s.out("agent.sock"))) }},
		{"a pair of another family" + suffix, "", "vvrr", "", func(*scene) error {
			_, err := unix.Socketpair(unix.AF_TIPC, unix.SOCK_SEQPACKET, 0)
			return err
		}},
	}
}

// networkDeeds are attempted by a tool that needs no network.
var networkDeeds = append(append([]deed{
	{"TCP", "", "aarn", "", func(s *scene) error { return reach(unix.AF_INET, unix.SOCK_STREAM, s.tcp()) }},
	{"TCP over version 6", "", "aarn", "", func(s *scene) error { return reach(unix.AF_INET6, unix.SOCK_STREAM, s.tcp6()) }},
	{"TCP to elsewhere", "", "vvrn", "", func(*scene) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{192, 0, 2, 1}})
	}},
	{"UDP to this machine", "", "aarh", whyIsOwn + " loopback", func(s *scene) error {
		return sendTo(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: s.UDPPort, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"UDP to elsewhere", "", "aarn", "", func(*scene) error {
		return sendTo(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{192, 0, 2, 1}})
	}},
	{"UDP over version 6", "", "aarn", "", func(*scene) error {
		return sendTo(unix.AF_INET6, unix.SOCK_DGRAM, &unix.SockaddrInet6{Port: 53, Addr: [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}})
	}},
	{"UDP to everybody near", "", "aarn", "", func(*scene) error {
		return sendTo(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: 5353, Addr: [4]byte{224, 0, 0, 251}})
	}},
	{"an echo (ping)", "", "rrrr", "", func(*scene) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte{8, 0, 0, 0, 0, 1, 0, 1}, 0, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}})
	}},
	{"listen", "", "aarh", whyIsOwn + " loopback", func(*scene) error { return listens() }},
	{"set an address", "", "vrrr rrrr", "", func(*scene) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		req, err := unix.NewIfreq("rye-none")
		if err != nil {
			return err
		}
		req.SetUint16(unix.IFF_UP)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	}},
}, familyDeeds("")...), machineDeeds("")...)

// portDeeds are attempted by a tool that may connect to one TCP port.
var portDeeds = append(append([]deed{
	{"TCP to the port that it needs", "", "aaaa", "granted", func(s *scene) error {
		return reach(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Port: s.OpenPort, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"TCP to another port", "", "aarr", "", func(s *scene) error { return reach(unix.AF_INET, unix.SOCK_STREAM, s.tcp()) }},
	{"TCP to another port over version 6", "", "aarr", "", func(s *scene) error { return reach(unix.AF_INET6, unix.SOCK_STREAM, s.tcp6()) }},
	{"TCP to another port, version 4 in 6", "", "aarr", "", func(s *scene) error {
		return reach(unix.AF_INET6, unix.SOCK_STREAM, &unix.SockaddrInet6{Port: s.Port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}})
	}},
	{"another port with the first bytes (sendto)", "", "aarr", "", func(s *scene) error {
		return fastOpen(unix.AF_INET, s.tcp(), func(fd int, to unix.Sockaddr) error {
			return unix.Sendto(fd, []byte("evil"), unix.MSG_FASTOPEN, to)
		})
	}},
	{"another port with the first bytes (sendmsg)", "", "aarr", "", func(s *scene) error {
		return fastOpen(unix.AF_INET, s.tcp(), func(fd int, to unix.Sockaddr) error {
			return unix.Sendmsg(fd, []byte("evil"), nil, to, unix.MSG_FASTOPEN)
		})
	}},
	{"another port with the first bytes (sendmmsg)", "", "vvrr", "", func(s *scene) error {
		return fastOpen(unix.AF_INET, s.tcp(), func(fd int, _ unix.Sockaddr) error {
			return call(unix.SYS_SENDMMSG, uintptr(fd), 0, 1, unix.MSG_FASTOPEN)
		})
	}},
	{"another port with the first bytes, later", "", "aarr", "", func(s *scene) error {
		return fastOpen(unix.AF_INET, s.tcp(), func(fd int, to unix.Sockaddr) error {
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1); err != nil {
				return err
			}
			if err := unix.Connect(fd, to); err != nil {
				return err
			}
			_, err := unix.Write(fd, []byte("evil"))
			return err
		})
	}},
	{"connect again elsewhere", "", "aarr", "", func(s *scene) error {
		return fastOpen(unix.AF_INET, s.tcp(), func(fd int, to unix.Sockaddr) error {
			if err := unix.Connect(fd, &unix.SockaddrInet4{Port: s.OpenPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
				return err
			}
			var unspecified [16]byte // AF_UNSPEC ends a connection
			if err := call(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspecified)), 16); err != nil {
				return err
			}
			return unix.Connect(fd, to)
		})
	}},
	{"UDP to any port", "", "aaaa", "UDP at every port", func(s *scene) error {
		return sendTo(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: s.UDPPort, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"listen at a port", "", "aaaa", "it can listen", func(*scene) error { return listens() }},
	{"which addresses there are", "", "aaaa", "which addresses there are", func(*scene) error {
		return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	}},
	{"change a route", "", "vrrr rrrr", "", func(*scene) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		req, err := unix.NewIfreq("rye-none")
		if err != nil {
			return err
		}
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	}},
}, familyDeeds(" beside a port")...), machineDeeds(" beside a port")...)
