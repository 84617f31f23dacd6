package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// What package syscall has no names for: ptrace(2), openat(2).
const (
	getSyscallInfo = 0x420e   // PTRACE_GET_SYSCALL_INFO, Linux 5.3
	exitKill       = 0x100000 // PTRACE_O_EXITKILL
	atCwd          = -100     // AT_FDCWD
)

// An act is a system call of the program that changed, or was to change, what is on the
// disk, and that did not fail.
type act struct {
	call       string // answer, open, write, fsync, rename, link, mkdir or unlink
	path       string // of an open one, as it was called when the call began
	to         string // the new name of rename and link
	began, end int    // places in the order of everything that was seen
}

// sees returns what a call would change. Only calls that Go's library makes are known.
func (tr *tracer) sees(tid int, nr uintptr, args [6]uint64) *act {
	fd := func(i int) string { return tr.open(tid, int32(args[i])) }
	at := func(i int) string { return tr.at(tid, int32(args[i]), args[i+1]) }
	switch nr {
	case syscall.SYS_FSYNC, syscall.SYS_FDATASYNC:
		return &act{call: "fsync", path: fd(0)}
	case syscall.SYS_WRITE, syscall.SYS_PWRITE64, syscall.SYS_FTRUNCATE:
		if path := fd(0); path != tr.said {
			return &act{call: "write", path: path}
		}
		return &act{call: "answer"}
	case syscall.SYS_OPENAT:
		if args[2]&syscall.O_CREAT != 0 {
			return &act{call: "open", path: at(0)}
		}
	case syscall.SYS_RENAMEAT:
		return &act{call: "rename", path: at(0), to: at(2)}
	case syscall.SYS_LINKAT:
		return &act{call: "link", path: at(0), to: at(2)}
	case syscall.SYS_MKDIRAT:
		return &act{call: "mkdir", path: at(0)}
	case syscall.SYS_UNLINKAT:
		return &act{call: "unlink", path: at(0)}
	}
	return nil
}

// tracer follows the threads of one program.
type tracer struct {
	t    testing.TB
	pid  int
	said string // where its output goes
	now  int    // the last place in the order
	acts []*act
	in   map[int]*act // by thread, the call that it is in
	met  map[int]bool // threads that stopped once, as they do when they are made
}

// traced runs a command that must succeed and returns what it did to the disk, in the
// order in which that began.
func traced(t testing.TB, cmd *exec.Cmd) []*act {
	t.Helper()
	runtime.LockOSThread() // a thread is the parent of what it traces
	defer runtime.UnlockOSThread()
	out, err := os.CreateTemp(t.TempDir(), "said")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		t.Skipf("no program can be traced here: %v", err)
	}
	tr := &tracer{t: t, pid: cmd.Process.Pid, said: out.Name(), in: map[int]*act{}, met: map[int]bool{}}
	exit := tr.follow()
	cmd.Process.Release() // follow waited for it
	if exit != 0 {
		said, _ := io.ReadAll(io.NewSectionReader(out, 0, 1<<20))
		t.Fatalf("%v: status %d\n%s", cmd.Args, exit, said)
	}
	return tr.acts
}

// follow lets the program run from one system call to the next, until it ends.
func (tr *tracer) follow() (exit int) {
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tr.pid, &ws, syscall.WALL, nil); err != nil || !ws.Stopped() {
		tr.t.Fatalf("the program did not stop at its beginning: %v %v", ws, err)
	}
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEEXEC | exitKill
	if err := syscall.PtraceSetOptions(tr.pid, options); err != nil {
		tr.t.Fatal(err)
	}
	tid, signal := tr.pid, 0
	for {
		if err := syscall.PtraceSyscall(tid, signal); err != nil && err != syscall.ESRCH { // it ended meanwhile
			tr.t.Fatal(err)
		}
		if tid = tr.next(&ws); !ws.Stopped() {
			return ws.ExitStatus()
		}
		signal = tr.stopped(tid, ws)
	}
}

// next waits until a thread stops, or the program has ended.
func (tr *tracer) next(ws *syscall.WaitStatus) (tid int) {
	for {
		// Other threads of this process have children of their own.
		tid, err := syscall.Wait4(-1, ws, syscall.WALL|syscall.WNOTHREAD, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			tr.t.Fatal(err)
		case ws.Stopped() || tid == tr.pid:
			return tid
		}
	}
}

// stopped looks at why a thread stands still, and returns the signal that it is to get.
func (tr *tracer) stopped(tid int, ws syscall.WaitStatus) (signal int) {
	switch sig := ws.StopSignal(); {
	case sig == syscall.SIGTRAP|0x80:
		tr.call(tid)
		return 0
	case sig == syscall.SIGTRAP: // an event, of clone or exec
		return 0
	case sig == syscall.SIGSTOP && tid != tr.pid && !tr.met[tid]:
		tr.met[tid] = true
		return 0
	default:
		return int(sig)
	}
}

// callInfo is struct ptrace_syscall_info of ptrace(2).
type callInfo struct {
	op   uint8 // 1 at the beginning
	_    [3]uint8
	arch uint32
	ip   uint64
	sp   uint64
	nr   uint64 // at the end: what it returned
	args [6]uint64
	_    uint64
}

// callOf asks before or after which system call a traced thread stands.
func callOf(tid int) (info callInfo, errno syscall.Errno) {
	_, _, errno = syscall.Syscall6(syscall.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return info, errno
}

// call notes the beginning or the end of a system call.
func (tr *tracer) call(tid int) {
	info, errno := callOf(tid)
	if errno == syscall.ESRCH {
		return // another thread ended the program meanwhile
	}
	if errno != 0 {
		tr.t.Fatalf("system calls cannot be asked about: %v", errno)
	}
	tr.now++
	if info.op == 1 {
		if a := tr.sees(tid, uintptr(info.nr), info.args); a != nil {
			a.began = tr.now
			tr.in[tid], tr.acts = a, append(tr.acts, a)
		}
		return
	}
	if a := tr.in[tid]; a != nil {
		a.end = tr.now
		if delete(tr.in, tid); int64(info.nr) < 0 {
			a.call = "failed " + a.call
		}
	}
}

// open is the name of an open file.
func (tr *tracer) open(tid int, fd int32) string {
	if fd == atCwd {
		name, _ := os.Readlink("/proc/" + strconv.Itoa(tr.pid) + "/cwd")
		return name
	}
	name, _ := os.Readlink("/proc/" + strconv.Itoa(tid) + "/fd/" + strconv.Itoa(int(fd)))
	return name
}

// at is the whole path of the text at an address of the program, below the directory dir.
func (tr *tracer) at(tid int, dir int32, address uint64) string {
	var text []byte
	for !strings.Contains(string(text), "\x00") {
		var word [8]byte
		if _, err := syscall.PtracePeekData(tid, uintptr(address)+uintptr(len(text)), word[:]); err != nil {
			tr.t.Fatalf("a path of the program: %v", err)
		}
		text = append(text, word[:]...)
	}
	name, _, _ := strings.Cut(string(text), "\x00")
	if !filepath.IsAbs(name) {
		name = filepath.Join(tr.open(tid, dir), name)
	}
	return name
}
