//go:build linux && (amd64 || arm64)

package cage

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

const filterKnown = true

// denied are system calls that no tool needs. They lead out of a sandbox, or into parts of the
// kernel with a long list of flaws. They return EPERM, so that programs which only try them
// continue.
var denied = []uintptr{
	// other processes
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE,
	// mounts and namespaces
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS,
	// ways around the rules for files and sockets
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_FANOTIFY_INIT, unix.SYS_LSM_SET_SELF_ATTR, unix.SYS_LISTMOUNT, unix.SYS_STATMOUNT,
	// keys
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// the kernel itself
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_SYSLOG,
	// the machine
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
}

// Offsets in struct seccomp_data, seccomp(2). Both architectures are little-endian.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retNoSys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	retKill  = unix.SECCOMP_RET_KILL_PROCESS
)

// namespaceFlags are CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: clone(2).
// newTime shares its bit with clone's exit signal, so only unshare is checked for it.
const (
	namespaceFlags = 0x7e020000
	newTime        = 0x80
)

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func jump(code uint16, k uint32, jt, jf uint8) unix.SockFilter {
	return unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf}
}

func load(off uint32) unix.SockFilter { return stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, off) }
func low(arg uint32) unix.SockFilter  { return load(dataArgs + 8*arg) }
func high(arg uint32) unix.SockFilter { return load(dataArgs + 8*arg + 4) }
func ret(k uint32) unix.SockFilter    { return stmt(unix.BPF_RET|unix.BPF_K, k) }
func and(k uint32) unix.SockFilter    { return stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, k) }
func equal(k uint32, jt, jf uint8) unix.SockFilter {
	return jump(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, jt, jf)
}
func anyBit(k uint32, jt, jf uint8) unix.SockFilter {
	return jump(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, k, jt, jf)
}

// oneOf answers yes if the loaded word is in the list, and no otherwise.
func oneOf(yes, no uint32, list ...uint32) []unix.SockFilter {
	var p []unix.SockFilter
	for _, k := range list {
		p = append(p, equal(k, 0, 1), ret(yes))
	}
	return append(p, ret(no))
}

// on is a block for one system call. Its body always ends with an answer. So after a skipped
// block the number is still loaded.
func on(nr uintptr, body ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{equal(uint32(nr), 0, uint8(len(body)))}, body...)
}

// filter returns the program for a sandbox. It allows every call that it does not name, because a
// list of allowed calls breaks with every new C library. It does not repeat the rules for files,
// which Landlock enforces.
func filter(s *Bounds) []unix.SockFilter {
	p := []unix.SockFilter{
		load(dataArch), equal(auditArch, 1, 0), ret(retKill), // int 0x80 and its like
		load(dataNr),
	}
	p = append(p, archRules()...)
	// A call newer than this program may be a way around its rules.
	p = append(p, jump(unix.BPF_JMP|unix.BPF_JGT|unix.BPF_K, newestCall, 0, 1), ret(retNoSys))
	for _, nr := range append(denied, deniedHere...) {
		p = append(p, on(nr, ret(retEPERM))...)
	}
	if s.Inside {
		p = append(p, modes(setID)...)
	} else { // the mode of any file of this user can be changed, anywhere
		p = append(p, modes(setID|unix.S_IWOTH|unix.S_IWGRP)...)
		p = append(p, others()...)
	}
	// A rename that leaves a whiteout leaves a device, which nobody expects among source files.
	p = append(p, on(unix.SYS_RENAMEAT2, low(4), anyBit(unix.RENAME_WHITEOUT, 0, 1), ret(retEPERM), ret(retAllow))...)
	p = append(p, tracing(s)...)
	// A sibling would be a child of this program, which reaps only the processes that it started.
	p = append(p, on(unix.SYS_CLONE, low(0), anyBit(namespaceFlags|unix.CLONE_PARENT, 0, 1), ret(retEPERM), ret(retAllow))...)
	// The flags of clone3 are in memory, which a filter cannot read. C libraries fall back to
	// clone if it does not exist.
	p = append(p, on(unix.SYS_CLONE3, ret(retNoSys))...)
	p = append(p, on(unix.SYS_UNSHARE, low(0), anyBit(namespaceFlags|newTime, 0, 1), ret(retEPERM), ret(retAllow))...)
	// A program may not set the limits of other processes, nor its own limit that carries the
	// mark.
	p = append(p, on(unix.SYS_PRLIMIT64,
		low(0), equal(0, 1, 0), ret(retEPERM),
		low(1), equal(unix.RLIMIT_RTTIME, 1, 0), ret(retAllow),
		low(2), equal(0, 1, 0), ret(retEPERM), // reading is allowed: no new value
		high(2), equal(0, 1, 0), ret(retEPERM),
		ret(retAllow))...)
	p = append(p, on(unix.SYS_SETRLIMIT, low(0), equal(unix.RLIMIT_RTTIME, 0, 1), ret(retEPERM), ret(retAllow))...)
	p = append(p, on(unix.SYS_PERSONALITY, append([]unix.SockFilter{low(0)}, oneOf(retAllow, retEPERM, 0, 8, 0xffffffff)...)...)...)
	// Both type into another terminal.
	p = append(p, on(unix.SYS_IOCTL, append([]unix.SockFilter{low(1)}, oneOf(retEPERM, retAllow, unix.TIOCSTI, unix.TIOCLINUX)...)...)...)
	p = append(p, sockets(s)...)
	return append(p, ret(retAllow))
}

// tracing refuses ptrace. Without namespaces, the limits of a child are set while it stops at its
// exec as a traced process (see box.limit in chain/primitive). So the two requests for that are
// allowed. They read and write nothing.
func tracing(s *Bounds) []unix.SockFilter {
	if s.Inside {
		return on(unix.SYS_PTRACE, ret(retEPERM))
	}
	return on(unix.SYS_PTRACE, append([]unix.SockFilter{high(0), equal(0, 1, 0), ret(retEPERM), low(0)},
		oneOf(retAllow, retEPERM, unix.PTRACE_TRACEME, unix.PTRACE_DETACH)...)...)
}

// newestCall is the newest system call whose effect was reviewed: mseal, of Linux 6.10. New calls
// have the same number on every architecture.
const newestCall = 462

// setID are the bits that make a program run as its owner or group. A program may not make such a
// file: in a directory that other users can reach, it would let them act as this user.
const setID = unix.S_ISUID | unix.S_ISGID

// modes refuses a change to a mode with any of the bits, and making a file with a bit of setID. A
// directory that inherits its group's bit keeps it.
func modes(bits uint32) []unix.SockFilter {
	mode := func(arg, bits uint32) []unix.SockFilter {
		return []unix.SockFilter{low(arg), anyBit(bits, 0, 1), ret(retEPERM), ret(retAllow)}
	}
	// The mode has an effect only if a file is made.
	opened := func(flags, arg uint32) []unix.SockFilter {
		return append([]unix.SockFilter{low(flags), anyBit(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 1, 0), ret(retAllow)}, mode(arg, setID)...)
	}
	p := slices.Concat(on(unix.SYS_FCHMOD, mode(1, bits)...), on(unix.SYS_FCHMODAT, mode(2, bits)...), on(unix.SYS_FCHMODAT2, mode(2, bits)...),
		on(unix.SYS_OPENAT, opened(2, 3)...), on(unix.SYS_MKNODAT, mode(2, setID)...),
		// The arguments of openat2 are in memory. Its callers fall back to openat.
		on(unix.SYS_OPENAT2, ret(retNoSys)))
	return slices.Concat(p, oldModes(mode, opened, bits))
}

// others refuses calls that reach other processes of this user by names of the whole system:
// shared memory, queues and priorities. It also refuses changes of owners and attributes.
func others() []unix.SockFilter {
	var p []unix.SockFilter
	for _, nr := range []uintptr{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP,
		unix.SYS_SEMTIMEDOP, unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGSND, unix.SYS_MSGRCV,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL} {
		p = append(p, on(nr, ret(retEPERM))...)
	}
	for _, nr := range oldOwners {
		p = append(p, on(nr, ret(retEPERM))...)
	}
	own := func(arg uint32) []unix.SockFilter {
		return []unix.SockFilter{low(arg), equal(0, 0, 1), ret(retAllow), ret(retEPERM)}
	}
	for _, nr := range []uintptr{unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY} {
		p = append(p, on(nr, own(0)...)...)
	}
	const ioprioProcess = 1 // IOPRIO_WHO_PROCESS, ioprio_set(2)
	p = append(p, on(unix.SYS_SETPRIORITY, append([]unix.SockFilter{low(0), equal(unix.PRIO_PROCESS, 1, 0), ret(retEPERM)}, own(1)...)...)...)
	p = append(p, on(unix.SYS_IOPRIO_SET, append([]unix.SockFilter{low(0), equal(ioprioProcess, 1, 0), ret(retEPERM)}, own(1)...)...)...)
	return p
}

// sockets decides by family. Sockets of this machine lead to agents that hold keys and to
// services that run commands (ssh-agent, docker, D-Bus), so they need their own permission. A
// connected pair leads nowhere, and event loops use it. But a datagram socket of a pair can be
// connected to another address, and SOCK_RAW also makes a datagram socket here. So pairs are
// streams.
func sockets(s *Bounds) []unix.SockFilter {
	local := uint32(retEPERM)
	if s.Unix {
		local = retAllow
	}
	body := []unix.SockFilter{low(0), equal(unix.AF_UNIX, 0, 1), ret(local)}
	if s.Net {
		// Routing messages: they show the resolver which addresses the machine has.
		body = append(body, equal(unix.AF_NETLINK, 0, 4), low(2), equal(unix.NETLINK_ROUTE, 0, 1), ret(retAllow), ret(retEPERM))
		body = append(body, equal(unix.AF_INET, 2, 0), equal(unix.AF_INET6, 1, 0), ret(retEPERM))
		body = append(body, low(1), and(0xf), equal(unix.SOCK_STREAM, 2, 0), equal(unix.SOCK_DGRAM, 1, 0), ret(retEPERM))
		body = append(body, low(2))
		body = append(body, oneOf(retAllow, retEPERM, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6)...)
	} else {
		body = append(body, ret(retEPERM))
	}
	p := on(unix.SYS_SOCKET, body...)
	if !s.Unix {
		p = append(p, on(unix.SYS_SOCKETPAIR, slices.Concat([]unix.SockFilter{low(0), equal(unix.AF_UNIX, 1, 0), ret(retEPERM), low(1), and(0xf)},
			oneOf(retAllow, retEPERM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET))...)...)
	}
	if s.Net && s.Ports != nil {
		// Fast open connects without the call that Landlock checks.
		const fastOpen = unix.MSG_FASTOPEN
		for nr, arg := range map[uintptr]uint32{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
			p = append(p, on(nr, low(arg), anyBit(fastOpen, 0, 1), ret(retEPERM), ret(retAllow))...)
		}
	}
	return p
}

// install applies the filter to the calling thread only. It needs no_new_privs.
func install(p []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// filterWorks reports whether the kernel knows the answers of filter.
func filterWorks() bool {
	for _, action := range []uint32{unix.SECCOMP_RET_KILL_PROCESS, unix.SECCOMP_RET_ERRNO} {
		_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
		if errno != 0 {
			return false
		}
	}
	return true
}
