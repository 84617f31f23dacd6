package primitive

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (s *scene) pid() uintptr { return uintptr(s.Victim) }

// siginfo is one of a signal that pretends to come from a queue.
func siginfo() uintptr {
	info := new([128]byte)
	info[8] = 0xff // SI_QUEUE, -1
	info[9], info[10], info[11] = 0xff, 0xff, 0xff
	return uintptr(unsafe.Pointer(info))
}

// first is what several calls say of which one is enough.
func first(errs ...error) error {
	if slices.Contains(errs, nil) {
		return nil
	}
	return errs[0]
}

// processDeeds are about another process of the same user.
var processDeeds = []deed{
	{"lower a process's priority", "E15", "arrn aarn", "", func(s *scene) error { return unix.Setpriority(unix.PRIO_PROCESS, s.Victim, 7) }},
	{"lower a group's priority", "E15", "arrn aarn", "", func(s *scene) error { return unix.Setpriority(unix.PRIO_PGRP, s.Victim, 7) }},
	{"lower the user's priority", "E15", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return unix.Setpriority(unix.PRIO_USER, os.Getuid(), 7) })
	}},
	{"lower its own priority", "", "aahh", whyIsOwn, func(*scene) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 19) }},
	{"change a process's scheduler", "E15", "arrn aarn", "", func(s *scene) error {
		param := int32(0)
		return call(unix.SYS_SCHED_SETSCHEDULER, s.pid(), 5, uintptr(unsafe.Pointer(&param))) // SCHED_IDLE
	}},
	{"change the scheduler's parameters", "E15", "arrn aarn", "", func(s *scene) error {
		param := int32(0)
		return call(unix.SYS_SCHED_SETPARAM, s.pid(), uintptr(unsafe.Pointer(&param)))
	}},
	{"change the scheduler's attributes", "E15", "arrn rrrn", "", func(s *scene) error {
		return unix.SchedSetAttr(s.Victim, &unix.SchedAttr{Size: 48, Policy: 3}, 0) // SCHED_BATCH
	}},
	{"bind a process to a processor", "E15", "arrn aarn", "", func(s *scene) error {
		var cpus unix.CPUSet
		cpus.Set(0)
		return unix.SchedSetaffinity(s.Victim, &cpus)
	}},
	{"lower a process's disk priority", "E15", "arrn aarn", "", func(s *scene) error { return call(unix.SYS_IOPRIO_SET, 1, s.pid(), 3<<13) }},
	{"lower a group's disk priority", "E15", "arrn aarn", "", func(s *scene) error { return call(unix.SYS_IOPRIO_SET, 2, s.pid(), 3<<13) }},
	{"lower the user's disk priority", "E15", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return call(unix.SYS_IOPRIO_SET, 3, uintptr(os.Getuid()), 3<<13) })
	}},
	{"set a process's limits", "E15", "aarr", "", func(s *scene) error {
		return unix.Prlimit(s.Victim, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 10, Max: 10}, nil)
	}},
	{"read a process's limits", "E15", "aarr", "", func(s *scene) error {
		var old unix.Rlimit
		return unix.Prlimit(s.Victim, unix.RLIMIT_NOFILE, nil, &old)
	}},
	{"signal a process", "E15", "aarn", "", func(s *scene) error { return unix.Kill(s.Victim, unix.SIGUSR1) }},
	{"ask whether a process lives", "E15", "aarn", "", func(s *scene) error { return unix.Kill(s.Victim, 0) }},
	{"signal a thread", "E15", "aarn", "", func(s *scene) error { return unix.Tgkill(s.Victim, s.Victim, unix.SIGUSR1) }},
	{"signal a thread by the old call", "E15", "aarn", "", func(s *scene) error { return call(unix.SYS_TKILL, s.pid(), uintptr(unix.SIGUSR1)) }},
	{"signal a group", "E15", "aarn", "", func(s *scene) error { return unix.Kill(-s.Victim, unix.SIGUSR1) }},
	{"signal everybody", "E15", "vvhn", "no signal arrives", func(s *scene) error {
		return s.bound(func() error { return unix.Kill(-1, unix.SIGCONT) })
	}},
	{"queue a signal", "E15", "aarn", "", func(s *scene) error {
		return call(unix.SYS_RT_SIGQUEUEINFO, s.pid(), uintptr(unix.SIGUSR1), siginfo())
	}},
	{"queue a signal to a thread", "E15", "aarn", "", func(s *scene) error {
		return call(unix.SYS_RT_TGSIGQUEUEINFO, s.pid(), s.pid(), uintptr(unix.SIGUSR1), siginfo())
	}},
	{"signal by a descriptor", "E15", "aarn", "", func(s *scene) error {
		fd, err := unix.PidfdOpen(s.Victim, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
	}},
	{"signal by a directory of /proc", "E15", "aarn", "", func(s *scene) error {
		fd, err := unix.Open(s.victims(""), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
	}},
	{"signal by a file that becomes ready", "E15", "aahn", "no signal arrives", func(s *scene) error {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
			return err
		}
		defer unix.Close(p[0])
		defer unix.Close(p[1])
		if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, s.Victim); err != nil {
			return err
		}
		unix.FcntlInt(uintptr(p[0]), unix.F_SETSIG, int(unix.SIGUSR2))
		if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK); err != nil {
			return err
		}
		_, err := unix.Write(p[1], []byte("x"))
		return err
	}},
	{"attach to a process", "", "arrr aarr", "", func(s *scene) error { return ptraced(unix.PTRACE_ATTACH, s.Victim) }},
	{"seize a process", "", "arrr aarr", "", func(s *scene) error { return ptraced(unix.PTRACE_SEIZE, s.Victim) }},
	{"trace its parent's parent", "", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return ptraced(unix.PTRACE_SEIZE, 1) })
	}},
	{"read another's memory", "", "arrr aarr", "", func(s *scene) error {
		var b [8]byte
		local, remote := unix.Iovec{Base: &b[0], Len: 8}, unix.RemoteIovec{Base: 0x400000, Len: 8}
		_, err := unix.ProcessVMReadv(s.Victim, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
		return err
	}},
	{"write another's memory", "", "vrrr vvrr", "", func(s *scene) error {
		var b [8]byte
		local, remote := unix.Iovec{Base: &b[0], Len: 8}, unix.RemoteIovec{Base: 8, Len: 8}
		_, err := unix.ProcessVMWritev(s.Victim, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
		return err
	}},
	{"advise another's memory", "E15", "vvrr", "", func(*scene) error { return call(unix.SYS_PROCESS_MADVISE, ^uintptr(0), 0, 0, 0, 0) }},
	{"move another's memory to a node", "E15", "arrn aarn", "", func(s *scene) error {
		node := uint64(1)
		return call(unix.SYS_MIGRATE_PAGES, s.pid(), 8, uintptr(unsafe.Pointer(&node)), uintptr(unsafe.Pointer(&node)))
	}},
	{"move another's pages", "E15", "arrn aarn", "", func(s *scene) error { return call(unix.SYS_MOVE_PAGES, s.pid(), 0, 0, 0, 0, 0) }},
	{"take another's descriptor", "", "arrn aarn", "", func(s *scene) error {
		fd, err := unix.PidfdOpen(s.Victim, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return call2(unix.SYS_PIDFD_GETFD, uintptr(fd), uintptr(s.VictimFD), 0)
	}},
	{"compare two processes", "", "arrr aarr", "", func(s *scene) error {
		return call(unix.SYS_KCMP, uintptr(os.Getpid()), s.pid(), 0, 0, 0)
	}},
	{"find another's locks", "", "arrn aarn", "", func(s *scene) error {
		var head, size uintptr
		return call(unix.SYS_GET_ROBUST_LIST, s.pid(), uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size)))
	}},
	{"open another's memory", "", "arrn aarn", "", func(s *scene) error { return open(s.victims("mem"), unix.O_RDWR) }},
	{"read another's environment", "", "arrn aarn", "", func(s *scene) error { return open(s.victims("environ"), unix.O_RDONLY) }},
	{"read another's memory map", "", "arrn aarn", "", func(s *scene) error { return reads(s.victims("maps")) }},
	{"list another's descriptors", "", "aaan", "the number of open descriptors", func(s *scene) error {
		_, err := os.ReadDir(s.victims("fd"))
		return err
	}},
	{"read where another stands", "", "arrn aarn", "", func(s *scene) error {
		_, err := os.Readlink(s.victims("cwd"))
		return err
	}},
	{"read another's arguments", "", "aaan", "names and arguments can be seen", func(s *scene) error { return reads(s.victims("cmdline")) }},
	{"offer another to the memory killer", "E15", "aarn", "", func(s *scene) error { return writes(s.victims("oom_score_adj"), "500") }},
	{"have another's memory dumped", "E15", "aarn", "", func(s *scene) error { return writes(s.victims("coredump_filter"), "1") }},
	{"rename another", "E15", "vvrn", "", func(s *scene) error { return writes(s.victims("comm"), "evil") }},
	{"spare itself from the memory killer", "", "rrrr", "", func(*scene) error { return writes("/proc/self/oom_score_adj", "-1000") }},
	{"open the first process's memory", "", "rrrr", "", func(*scene) error { return open("/proc/1/mem", unix.O_RDWR) }},
	{"read the first process's descriptors", "", "aaah rrrr", "the number of open descriptors", func(*scene) error {
		_, err := os.ReadDir("/proc/1/fd")
		return err
	}},
	{"write the first process's program", "", "rrrr", "", func(*scene) error { return open("/proc/1/exe", unix.O_WRONLY) }},
	{"stop the first process", "", "vvrr", "it stops for nobody inside", func(s *scene) error {
		return s.bound(func() error { return unix.Kill(1, unix.SIGSTOP) })
	}},
	{"crash a thread of the first process", "", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return threads(1, unix.SIGSEGV) })
	}},
	{"become a child of who started it", "", "aarr", "", func(*scene) error { return cloned(unix.CLONE_PARENT | uintptr(unix.SIGCHLD)) }},
	{"have its starter trace it", "", "aahr", "it stops itself only", func(*scene) error {
		return forked(uintptr(unix.SIGCHLD), unix.SYS_PTRACE, unix.PTRACE_TRACEME)
	}},
}

func ptraced(request uintptr, pid int) error {
	if err := call(unix.SYS_PTRACE, request, uintptr(pid), 0, 0); err != nil {
		return err
	}
	return nil // it is let go with this thread
}

// threads signals each thread of a process.
func threads(pid int, sig unix.Signal) error {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range all {
		var tid int
		fmt.Sscan(e.Name(), &tid)
		errs = append(errs, unix.Tgkill(pid, tid, sig))
	}
	return first(errs...)
}

// cloned makes a process that ends at once.
func cloned(flags uintptr) error { return forked(flags, unix.SYS_GETPID, 0) }

// forked makes a process that makes one system call, and returns what came of both.
func forked(flags, nr, arg uintptr) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		_, _, errno := unix.RawSyscall(nr, arg, 0, 0)
		unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
	if flags&unix.CLONE_PARENT != 0 {
		return nil
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &status, 0, nil); err != nil {
		return err
	}
	if status.ExitStatus() != 0 {
		return unix.Errno(status.ExitStatus())
	}
	return nil
}

func reads(p string) error {
	raw, err := os.ReadFile(p)
	if err == nil && len(raw) == 0 {
		return unix.EACCES
	}
	return err
}

func writes(p, text string) error {
	f, err := os.OpenFile(p, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}
