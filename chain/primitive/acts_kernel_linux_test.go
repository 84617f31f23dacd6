package primitive

import (
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// none is a descriptor of nothing.
const none = ^uintptr(0)

// kernelDeeds are about the kernel and the machine itself. Where nothing binds, their
// arguments mean nothing.
var kernelDeeds = []deed{
	{"bpf", "", "vvrr", "", func(*scene) error { return call(unix.SYS_BPF) }},
	{"performance events", "", "vvrr", "", func(*scene) error { return call(unix.SYS_PERF_EVENT_OPEN) }},
	{"io_uring: set up", "", "vvrr", "", func(*scene) error { return call(unix.SYS_IO_URING_SETUP) }},
	{"io_uring: enter", "", "vvrr", "", func(*scene) error { return call(unix.SYS_IO_URING_ENTER, none) }},
	{"io_uring: register", "", "vvrr", "", func(*scene) error { return call(unix.SYS_IO_URING_REGISTER, none) }},
	{"userfaultfd", "", "vvrr", "", func(*scene) error { return call(unix.SYS_USERFAULTFD, none) }},
	{"a key ring's number", "", "aarr", "", func(*scene) error { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2)) }},
	{"read a key ring", "", "aarr", "", func(*scene) error { return call(unix.SYS_KEYCTL, unix.KEYCTL_READ, ^uintptr(2), 0, 0) }},
	{"join a session's keys", "", "vvrr", "", func(*scene) error { return call(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 1) }},
	{"add a key", "", "vvrr", "", func(*scene) error { return call(unix.SYS_ADD_KEY) }},
	{"request a key", "", "vvrr", "", func(*scene) error { return call(unix.SYS_REQUEST_KEY) }},
	{"load another kernel", "", "rrrr", "", func(*scene) error { return call(unix.SYS_KEXEC_LOAD) }},
	{"load another kernel by a file", "", "rrrr", "", func(*scene) error { return call(unix.SYS_KEXEC_FILE_LOAD, none, none) }},
	{"load a module", "", "rrrr", "", func(*scene) error { return call(unix.SYS_INIT_MODULE) }},
	{"load a module by a file", "", "rrrr", "", func(*scene) error { return call(unix.SYS_FINIT_MODULE, none) }},
	{"unload a module", "", "rrrr", "", func(*scene) error { return call(unix.SYS_DELETE_MODULE, text("rye-none")) }},
	{"swap on", "", "nrrr rrrr", "", func(*scene) error { return call(unix.SYS_SWAPON, text("/nowhere")) }},
	{"swap off", "", "nrrr rrrr", "", func(*scene) error { return call(unix.SYS_SWAPOFF, text("/nowhere")) }},
	{"reboot", "", "vrrr rrrr", "", func(*scene) error { return call(unix.SYS_REBOOT) }},
	{"quotas", "", "vvrr", "", func(*scene) error { return call(unix.SYS_QUOTACTL, 0xffff) }},
	{"quotas by a descriptor", "", "vvrr", "", func(*scene) error { return call(unix.SYS_QUOTACTL_FD, none) }},
	{"accounting", "", "nrrr rrrr", "", func(*scene) error { return call(unix.SYS_ACCT, text("/nowhere")) }},
	{"the kernel's log", "", "arrr rrrr", "", func(*scene) error { return call(unix.SYS_SYSLOG, 10) }},
	{"set the clock", "", "vvrr", "", func(*scene) error { return call(unix.SYS_CLOCK_SETTIME, 0, 0) }},
	{"set the time of day", "", "vvrr", "", func(*scene) error { return call(unix.SYS_SETTIMEOFDAY, 1, 0) }},
	{"adjust the clock", "", "vvrr", "", func(*scene) error { return call(unix.SYS_CLOCK_ADJTIME, 0, 0) }},
	{"adjust the time", "", "vvrr", "", func(*scene) error { return call(unix.SYS_ADJTIMEX, 0) }},
	{"name the machine", "", "vrrr rrrr", "", func(*scene) error { return call(unix.SYS_SETHOSTNAME, 0, 1<<20) }},
	{"name the domain", "", "vrrr rrrr", "", func(*scene) error { return call(unix.SYS_SETDOMAINNAME, 0, 1<<20) }},
	{"hang the terminal up", "", "vvrr", "", func(s *scene) error { return s.bound(func() error { return call(unix.SYS_VHANGUP) }) }},
	{"executable data (personality)", "", "aarr", "", func(*scene) error { return call(unix.SYS_PERSONALITY, 0x0400000) }},
	{"known addresses (personality)", "", "aarr", "", func(*scene) error { return call(unix.SYS_PERSONALITY, 0x0040000) }},
	{"what it is (personality)", "", "aahh", "it changes nothing", func(*scene) error { return call(unix.SYS_PERSONALITY, 0xffffffff) }},
	{"set a module's label", "", "vvrr", "", func(*scene) error { return call(unix.SYS_LSM_SET_SELF_ATTR) }},
	{"a call that there will be", "", "rrrr", "", func(*scene) error { return call(511) }},
	{"a call that there is not", "", "rrrr", "", func(*scene) error { return call(1 << 20) }},
	{"a call of the newest kernels", "", "vvrr", "", func(*scene) error { return call(463) }},
	{"a call by another processor's table", "", "vvrr", "", func(s *scene) error { return foreign(s) }},
}

// namespaceDeeds make another view of files, or namespaces of its own.
var namespaceDeeds = []deed{
	{"mount", "", "nnrr", "", func(s *scene) error { return call(unix.SYS_MOUNT, text("none"), text(s.out("missing")), text("tmpfs")) }},
	{"mount in the project", "", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return unix.Mount("none", s.in("data"), "tmpfs", 0, "") })
	}},
	{"make a mount writable again", "", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return unix.Mount("", s.in(".ai"), "", unix.MS_REMOUNT|unix.MS_BIND, "") })
	}},
	{"change a mount's attributes", "", "nrrr rrrr", "", func(s *scene) error {
		return unix.MountSetattr(unix.AT_FDCWD, s.in("missing"), 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{"unmount", "", "nnrr", "", func(s *scene) error { return unix.Unmount(s.out("missing"), 0) }},
	{"change the root", "", "nnrr", "", func(*scene) error { return call(unix.SYS_CHROOT, text("/nowhere")) }},
	{"exchange the root", "", "nrrr rrrr", "", func(*scene) error { return unix.PivotRoot("/nowhere", "/nowhere") }},
	{"open a file system", "", "vrrr rrrr", "", func(*scene) error { return call(unix.SYS_FSOPEN, text("rye-none")) }},
	{"configure a file system", "", "vvrr", "", func(*scene) error { return call(unix.SYS_FSCONFIG, none) }},
	{"make a mount", "", "vrrr rrrr", "", func(*scene) error { return call(unix.SYS_FSMOUNT, none) }},
	{"pick a file system", "", "nrrr rrrr", "", func(*scene) error { return call(unix.SYS_FSPICK, none, text("/nowhere")) }},
	{"open a tree", "", "arrr rrrr", "", func(s *scene) error {
		return call2(unix.SYS_OPEN_TREE, fromHere, text(s.in("data")), unix.OPEN_TREE_CLONE)
	}},
	{"open a tree by the newest call", "", "vvrr", "", func(*scene) error { return call(sysOpenTreeAttr, none, 0) }},
	{"move a mount", "", "nrrr rrrr", "", func(*scene) error { return call(unix.SYS_MOVE_MOUNT, none, text(""), none, text("")) }},
	{"list mounts", "", "vvrr", "", func(*scene) error { return call(unix.SYS_LISTMOUNT) }},
	{"look at a mount", "", "vvrr", "", func(*scene) error { return call(unix.SYS_STATMOUNT) }},
	{"enter a namespace", "", "vvrr", "", func(*scene) error { return call(unix.SYS_SETNS, none) }},
	{"enter another's namespaces", "", "arrn rrrn", "", func(s *scene) error {
		fd, err := unix.Open(s.victims("ns/net"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Setns(fd, 0)
	}},
	{"a user namespace", "", "aarr", "", func(*scene) error { return cloned(unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)) }},
	{"a user namespace by unshare", "", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return unix.Unshare(unix.CLONE_NEWUSER) })
	}},
	{"a mount namespace", "", "arrr rrrr", "", func(*scene) error { return unix.Unshare(unix.CLONE_NEWNS) }},
	{"a network namespace", "", "arrr rrrr", "", func(*scene) error { return unix.Unshare(unix.CLONE_NEWNET) }},
	{"a process namespace", "", "arrr rrrr", "", func(*scene) error { return cloned(unix.CLONE_NEWPID | uintptr(unix.SIGCHLD)) }},
	{"a namespace of names", "", "arrr rrrr", "", func(*scene) error { return unix.Unshare(unix.CLONE_NEWUTS) }},
	{"a namespace of objects", "", "arrr rrrr", "", func(*scene) error { return unix.Unshare(unix.CLONE_NEWIPC) }},
	{"a namespace of control groups", "", "arrr rrrr", "", func(*scene) error { return unix.Unshare(unix.CLONE_NEWCGROUP) }},
	{"a namespace of time", "", "arrr rrrr", "", func(*scene) error { return unix.Unshare(unix.CLONE_NEWTIME) }},
	{"namespaces by clone3", "", "aarr", "", func(*scene) error {
		args := [11]uint64{0: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, 4: uint64(unix.SIGCHLD)}
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		_, err := unix.Wait4(int(pid), nil, 0, nil)
		return err
	}},
}

// rightsDeeds try to have more rights than were left.
var rightsDeeds = []deed{
	{"all capabilities", "", "rrrr", "", func(*scene) error {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 0xffffffff, Permitted: 0xffffffff}, {Effective: 0x1ff, Permitted: 0x1ff}}
		return unix.Capset(&hdr, &data[0])
	}},
	{"the capability of the superuser", "", "arrr rrrr", "", func(*scene) error {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
		return unix.Capset(&hdr, &data[0])
	}},
	{"a capability for what it starts", "", "rrrr", "", func(*scene) error {
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_ADMIN, 0, 0)
	}},
	{"other rules of capabilities", "", "arrr rrrr", "", func(*scene) error { return unix.Prctl(unix.PR_SET_SECUREBITS, 1<<4, 0, 0, 0) }},
	{"new privileges again", "", "vvvv", "", func(*scene) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) }},
	{"another user", "", "arrv rrrv", "", func(*scene) error { return call(unix.SYS_SETUID, 12345) }},
	{"the superuser", "", "arrv rrrv", "", func(*scene) error {
		if os.Getuid() == 0 {
			return call(unix.SYS_SETRESUID, 1, 1, 0)
		}
		return call(unix.SYS_SETUID, 0)
	}},
	{"another group", "", "arrv rrrv", "", func(*scene) error { return call(unix.SYS_SETGID, 12345) }},
	{"other groups", "", "arrr rrrr", "", func(*scene) error {
		groups := [2]uint32{0, 42}
		return call(unix.SYS_SETGROUPS, 2, uintptr(unsafe.Pointer(&groups)))
	}},
	{"another user for files", "", "arrr rrrr", "", func(*scene) error {
		call(unix.SYS_SETFSUID, 12345)
		got, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, none, 0, 0)
		if got != 12345 {
			return unix.EPERM
		}
		return nil
	}},
	{"a map of its own memory", "", "rrrr", "", func(*scene) error { return unix.Prctl(unix.PR_SET_MM, unix.PR_SET_MM_BRK, 0, 0, 0) }},
	{"any capability at all", "", "aaar rrrr", "root keeps four of its capabilities", func(*scene) error { return capabilitiesLeft() }},
	{"more rules of Landlock, that permit more", "", "aarn", "", func(s *scene) error { return widenByLandlock(s) }},
	{"another filter, that permits more", "", "vvrr", "", func(*scene) error { return widenByFilter() }},
}

// mayGain says whether starting a set-id program would give rights.
func mayGain() error {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err == nil && strings.Contains(string(status), "NoNewPrivs:\t1") {
		return unix.EPERM
	}
	return err
}

// capabilitiesLeft says whether anything could give one.
func capabilitiesLeft() error {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t"); name == "CapEff" && strings.Trim(value, "0") != "" {
			return nil
		}
	}
	return unix.EPERM
}

// widenByLandlock adds a rule that lets everything be read, and reads.
func widenByLandlock(s *scene) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_READ_FILE}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	root, err := unix.Open("/", unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_READ_FILE, Parent_fd: int32(root)}
	if err := call(unix.SYS_LANDLOCK_ADD_RULE, fd, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule))); err != nil {
		return err
	}
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err := call(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0); err != nil {
		return err
	}
	return open(s.out("private"), unix.O_RDONLY)
}

// widenByFilter puts on a filter that permits everything, and does what the first refuses.
func widenByFilter() error {
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	all := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	prog := unix.SockFprog{Len: 1, Filter: &all}
	if err := call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); err != nil {
		return err
	}
	return call(unix.SYS_BPF, 100)
}

// terminalDeeds are about somebody else's terminal.
var terminalDeeds = []deed{
	{"open another's terminal", "", "aarn", "", func(s *scene) error { return open(s.Terminal, unix.O_RDWR|unix.O_NOCTTY) }},
	{"take another's terminal", "", "rrrn", "", func(s *scene) error {
		fd, err := unix.Open(s.Terminal, unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.IoctlSetInt(fd, unix.TIOCSCTTY, 0)
	}},
	{"open its own terminal", "", "nnrn", "", func(*scene) error { return open("/dev/tty", unix.O_RDWR) }},
	{"open the console", "", "aarn rrrn", "", func(*scene) error { return open("/dev/console", unix.O_WRONLY|unix.O_NOCTTY) }},
	{"open a console of the machine", "", "aarn rrrn", "", func(*scene) error { return open("/dev/tty1", unix.O_WRONLY|unix.O_NOCTTY) }},
	{"make a terminal", "", "aarh", whyIsOwn, func(*scene) error { return open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY) }},
	{"type into a terminal", "", "vvrr", "", func(*scene) error { return typed(unix.TIOCSTI) }},
	{"type into a console", "", "vvrr", "", func(*scene) error { return typed(unix.TIOCLINUX) }},
	{"type with bits that nobody looks at", "", "vvrr", "", func(*scene) error { return typed(1<<40 | unix.TIOCSTI) }},
}

func typed(request uintptr) error {
	letter := byte('x')
	return call(unix.SYS_IOCTL, 0, request, uintptr(unsafe.Pointer(&letter)))
}

// limitDeeds try to put limits off.
var limitDeeds = []deed{
	{"more open files", "E19", "rrrr", "", func(*scene) error { return raised(unix.RLIMIT_NOFILE) }},
	{"larger files", "E19", "arrr", "", func(*scene) error { return raised(unix.RLIMIT_FSIZE) }},
	{"more memory", "E19", "arrr", "", func(*scene) error { return raised(unix.RLIMIT_DATA) }},
	{"core dumps", "E19", "arrr", "", func(*scene) error { return raised(unix.RLIMIT_CORE) }},
	{"take the mark off", "", "aarr", "", func(*scene) error {
		return unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}, nil)
	}},
	{"take the mark off by the old call", "", "aarr", "", func(*scene) error {
		lim := unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}
		return call(unix.SYS_SETRLIMIT, unix.RLIMIT_RTTIME, uintptr(unsafe.Pointer(&lim)))
	}},
}

// raised puts a limit up by one.
func raised(resource int) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(resource, &lim); err != nil {
		return err
	}
	if lim.Max == unix.RLIM_INFINITY {
		return nil // there is none
	}
	lim.Max++
	return unix.Prlimit(0, resource, &lim, nil)
}
