package primitive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"github.com/rye-os/rye/chain/primitive/cage"
	"golang.org/x/sys/unix"
)

func probe() (Report, error) {
	rep := Report{Tier: best(), Landlock: cage.ABI()}
	if rep.Tier < S2 {
		rep.NoDeeper = "it builds on S2, and this kernel gives no S2"
		return rep, nil
	}
	dir, err := os.MkdirTemp("", "rye-probe-")
	if err != nil {
		return rep, fmt.Errorf("probe the sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	site, closeSite, err := newSite(dir)
	if err != nil {
		return rep, fmt.Errorf("probe the sandbox: %w", err)
	}
	defer closeSite()
	c := &Call{Argv: []string{"/proc/self/exe"}, Sandbox: Sandbox{Tier: S2}}
	b, err := prepare(c)
	if err != nil {
		return rep, err
	}
	defer b.close()
	done := make(chan error)
	cage.OnThrownAwayThread(func() {
		err := b.confine()
		if err == nil {
			for _, f := range forbidden {
				rep.Acts = append(rep.Acts, judge(f.name, f.do(site)))
			}
		}
		done <- err
	})
	if err := <-done; err != nil {
		return rep, err
	}
	if rep.Deeper, err = actsInside(site); err != nil {
		rep.NoDeeper = err.Error()
	}
	return rep, nil
}

// actsVerb turns a process of this program into the hostile tool.
const actsVerb = "acts"

// actsInside attempts the acts as a tool under S3 would.
func actsInside(s *site) ([]Act, error) {
	c := Call{Argv: []string{"/proc/self/exe"}, Timeout: 20 * time.Second, Sandbox: Sandbox{Tier: S3}}
	if err := noCage(&c); err != nil {
		return nil, err
	}
	aim, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c.Argv = []string{reenter(), innerArg, actsVerb, string(aim)}
	res, err := Run(context.Background(), c, nil, nil)
	if err != nil {
		return nil, err
	}
	var acts []Act
	if err := json.Unmarshal(res.Stdout, &acts); err != nil {
		return nil, fmt.Errorf("probe S3: %q, %q", res.Stdout, res.Stderr)
	}
	return acts, nil
}

// commitActs is the hostile tool of actsInside.
func commitActs(args []string) int {
	var s site
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return 2
	}
	var acts []Act
	for _, f := range forbidden {
		acts = append(acts, judgeInside(f.name, f.do(&s)))
	}
	if json.NewEncoder(os.Stdout).Encode(acts) != nil {
		return 1
	}
	return 0
}

// judgeInside also accepts a missing target or an unreachable one as a refusal, because that is
// the usual answer in namespaces.
func judgeInside(name string, err error) Act {
	a := judge(name, err)
	a.Refused = a.Refused || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EROFS) ||
		errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.ECONNREFUSED)
	return a
}

// judge accepts only the errors of a refusing sandbox. An act that failed for want of an argument
// was not refused.
func judge(name string, err error) Act {
	a := Act{Name: name, Answer: "allowed"}
	if err != nil {
		a.Answer = err.Error()
		a.Refused = errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS)
	}
	return a
}

// site has the targets of the acts.
type site struct {
	Dir    string // outside of every granted path
	Secret string // a file in it
	Socket string // a listening socket in it
	Port   int    // a listening TCP port of this machine
	Victim int    // a process of the same user, outside
}

// newSite makes the targets in dir.
func newSite(dir string) (*site, func(), error) {
	s := &site{Dir: dir, Secret: filepath.Join(dir, "secret"), Socket: filepath.Join(dir, "socket"), Victim: unix.Getppid()}
	if err := os.WriteFile(s.Secret, []byte("secret\n"), 0o600); err != nil {
		return nil, nil, err
	}
	local, err := net.Listen("unix", s.Socket)
	if err != nil {
		return nil, nil, err
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		local.Close()
		return nil, nil, err
	}
	s.Port = tcp.Addr().(*net.TCPAddr).Port
	return s, func() { local.Close(); tcp.Close() }, nil
}

// call makes a system call and returns only its error.
func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func text(s string) uintptr {
	p, _ := unix.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(p))
}

func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func socket(family, kind, proto int) error {
	fd, err := unix.Socket(family, kind, proto)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// forbidden are the acts. Their arguments are chosen so that an act which is not refused fails
// otherwise or does no harm.
var forbidden = []struct {
	name string
	do   func(*site) error
}{
	{"read a file outside", func(s *site) error { return open(s.Secret, unix.O_RDONLY) }},
	{"list a directory outside", func(s *site) error { return open(s.Dir, unix.O_RDONLY|unix.O_DIRECTORY) }},
	{"write a file outside", func(s *site) error { return open(s.Secret, unix.O_WRONLY) }},
	{"create a file outside", func(s *site) error { return open(s.Dir+"/new", unix.O_WRONLY|unix.O_CREAT) }},
	{"truncate a file outside", func(s *site) error { return unix.Truncate(s.Secret, 0) }},
	{"delete a file outside", func(s *site) error { return unix.Unlink(s.Secret) }},
	{"rename a file outside", func(s *site) error { return unix.Rename(s.Secret, s.Secret+"2") }},
	{"link a file outside", func(s *site) error { return unix.Link(s.Secret, s.Dir+"/link") }},
	{"make a symbolic link outside", func(s *site) error { return unix.Symlink("x", s.Dir+"/symlink") }},
	{"make a directory outside", func(s *site) error { return unix.Mkdir(s.Dir+"/dir", 0o700) }},
	{"make a pipe outside", func(s *site) error { return unix.Mkfifo(s.Dir+"/fifo", 0o600) }},
	{"read another process's environment", func(s *site) error { return open(fmt.Sprintf("/proc/%d/environ", s.Victim), unix.O_RDONLY) }},
	{"read another process's memory", func(s *site) error { return open(fmt.Sprintf("/proc/%d/mem", s.Victim), unix.O_RDONLY) }},
	{"signal another process", func(s *site) error { return unix.Kill(s.Victim, 0) }},
	{"trace another process", func(s *site) error {
		return call(unix.SYS_PTRACE, unix.PTRACE_PEEKDATA, uintptr(s.Victim), 0, 0)
	}},
	{"attach to another process", func(s *site) error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.Victim), 0, 0) }},
	{"read memory across processes", func(s *site) error { return call(unix.SYS_PROCESS_VM_READV, uintptr(s.Victim)) }},
	{"write memory across processes", func(s *site) error { return call(unix.SYS_PROCESS_VM_WRITEV, uintptr(s.Victim)) }},
	{"take another process's descriptor", func(s *site) error { return call(unix.SYS_PIDFD_GETFD, ^uintptr(0)) }},
	{"change another process's limits", func(s *site) error { return call(unix.SYS_PRLIMIT64, uintptr(s.Victim), unix.RLIMIT_NOFILE) }},
	{"TCP over IPv4", func(s *site) error { return connect(s) }},
	{"TCP over IPv6", func(*site) error {
		return reach(unix.AF_INET6, unix.SOCK_STREAM, &unix.SockaddrInet6{Port: 9, Addr: [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}})
	}},
	{"UDP", func(*site) error {
		return reach(unix.AF_INET, unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{192, 0, 2, 1}})
	}},
	{"raw packets", func(*site) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"raw IP", func(*site) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	{"netlink to the kernel's audit", func(*site) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT) }},
	{"virtual machine sockets", func(*site) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{"kernel crypto sockets", func(*site) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
	{"sockets of this machine", func(*site) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0) }},
	{"a datagram pair aimed anew", func(*site) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		return err
	}},
	{"a raw pair aimed anew", func(*site) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_RAW, 0)
		return err
	}},
	{"multipath TCP", func(*site) error { return socket(unix.AF_INET, unix.SOCK_STREAM, protoMPTCP) }},
	{"a program that runs as its owner", func(s *site) error {
		return call(unix.SYS_FCHMODAT, fromHere, text(s.Secret), unix.S_ISUID|0o600)
	}},
	{"let others write a file outside", func(s *site) error { return call(unix.SYS_FCHMODAT, fromHere, text(s.Secret), 0o602) }},
	{"give a file outside away", func(s *site) error { return unix.Lchown(s.Secret, -1, -1) }},
	{"set an attribute of a file outside", func(s *site) error { return unix.Setxattr(s.Secret, "user.rye", nil, 0) }},
	{"set an attribute by the newest call", func(s *site) error { return call(sysSetxattrat) }},
	{"shared memory of other processes", func(*site) error { return call(unix.SYS_SHMGET, noKey, 0, 0) }},
	{"semaphores of other processes", func(*site) error { return call(unix.SYS_SEMGET, noKey, 0, 0) }},
	{"queues of other processes", func(*site) error { return call(unix.SYS_MSGGET, noKey, 0) }},
	{"another process's priority", func(s *site) error { return unix.Setpriority(unix.PRIO_PROCESS, s.Victim, 0) }},
	{"another process's processors", func(s *site) error { return call(unix.SYS_SCHED_SETAFFINITY, uintptr(s.Victim), 0, 0) }},
	{"mount", func(s *site) error {
		return call(unix.SYS_MOUNT, text("none"), text(s.Dir+"/missing"), text("tmpfs"))
	}},
	{"unmount", func(s *site) error { return unix.Unmount(s.Dir+"/missing", 0) }},
	{"change the root", func(*site) error { return unix.Chroot("/") }},
	{"open a file system", func(*site) error { return call(unix.SYS_FSOPEN, text("tmpfs")) }},
	{"a user namespace", func(*site) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"a mount namespace", func(*site) error { return unix.Unshare(unix.CLONE_NEWNS) }},
	{"enter a namespace", func(*site) error { return call(unix.SYS_SETNS, ^uintptr(0)) }},
	{"clone3", func(*site) error { return call(unix.SYS_CLONE3, 0, 0) }},
	{"the key ring", func(*site) error { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2)) }},
	{"add a key", func(*site) error { return call(unix.SYS_ADD_KEY) }},
	{"request a key", func(*site) error { return call(unix.SYS_REQUEST_KEY) }},
	{"bpf", func(*site) error { return call(unix.SYS_BPF) }},
	{"io_uring", func(*site) error { return call(unix.SYS_IO_URING_SETUP) }},
	{"userfaultfd", func(*site) error { return call(unix.SYS_USERFAULTFD, ^uintptr(0)) }},
	{"performance events", func(*site) error { return call(unix.SYS_PERF_EVENT_OPEN) }},
	{"load a kernel module", func(*site) error { return call(unix.SYS_FINIT_MODULE, ^uintptr(0)) }},
	{"load another kernel", func(*site) error { return call(unix.SYS_KEXEC_LOAD) }},
	{"open a file by handle", func(*site) error { return call(unix.SYS_OPEN_BY_HANDLE_AT, ^uintptr(0)) }},
	{"the kernel's log", func(*site) error { return call(unix.SYS_SYSLOG, 10) }},
	{"type into a terminal", func(*site) error { return call(unix.SYS_IOCTL, ^uintptr(0), unix.TIOCSTI) }},
	{"type into a console", func(*site) error { return call(unix.SYS_IOCTL, ^uintptr(0), unix.TIOCLINUX) }},
	{"executable data (personality)", func(*site) error { return call(unix.SYS_PERSONALITY, 0x0400000) }},
	{"set the clock", func(*site) error { return call(unix.SYS_CLOCK_SETTIME, 0, 0) }},
}

const (
	protoMPTCP    = 262          // IPPROTO_MPTCP, ip(7)
	sysSetxattrat = 463          // on every processor
	fromHere      = ^uintptr(99) // AT_FDCWD, -100
	noKey         = 0x7279652d   // of System V; unused
)

func connect(s *site) error {
	return reach(unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Port: s.Port, Addr: [4]byte{127, 0, 0, 1}})
}

// reach connects to an address. 192.0.2.1 and 2001:db8::1 are never assigned (RFC 5737, RFC
// 3849).
func reach(family, kind int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}
