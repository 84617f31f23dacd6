package primitive

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/fault"
)

func platformEnv() map[string]string { return nil }

// linuxProcess is a program that leads its own session and process group.
type linuxProcess struct {
	pid  int
	done chan struct{} // closed when the program has ended
	free chan struct{} // closed when its parent thread may end
	mark Mark          // of its descendants; 0 when they carry none
	over func()        // ends the guard of the run

	confined time.Duration // of the start: making and applying the sandbox
}

// start starts the program from a thread of its own. The thread is confined first and thrown away
// afterwards, so the program never has the rights that the thread gave up. That saves a second
// exec of this program, which would cost 4 ms.
func start(c *Call, env []string, files []*os.File) (process, []string, error) {
	if c.Sandbox.Tier >= S3 {
		return startCaged(c, env, files)
	}
	begun := time.Now()
	box, err := prepare(c)
	if err != nil {
		return nil, nil, err
	}
	defer box.close()
	box.took = time.Since(begun)
	lp, unbound, err := box.start(c, env, files)
	if err != nil {
		return nil, nil, err
	}
	return lp, unbound, nil
}

// start starts the program of c confined by b.
func (box *box) start(c *Call, env []string, files []*os.File) (*linuxProcess, []string, error) {
	closeOnExec()
	lp := &linuxProcess{done: make(chan struct{}), free: make(chan struct{})}
	launched, limited, released := make(chan error), make(chan error), make(chan error)
	cage.OnThrownAwayThread(func() {
		var err error
		lp.pid, err = box.launch(c, env, files)
		launched <- err
		if err != nil {
			return
		}
		released <- box.release(lp.pid, <-limited)
		// The program is killed when its parent dies, and its parent is this thread and not this
		// process. So the thread stays until the program is reaped.
		<-lp.free
	})
	if err := <-launched; err != nil {
		return nil, nil, err
	}
	limited <- box.limit(lp.pid)
	err := <-released
	lp.confined = box.took
	lp.mark = box.mark
	lp.over = guardRun(lp.mark)
	// Not earlier, because a wait for the end of a traced child also returns at its stops.
	go lp.watch()
	if err != nil {
		lp.signal(true)
		<-lp.done
		lp.sweep()
		lp.reap()
		return nil, nil, err
	}
	return lp, box.unbound, nil
}

// closeOnExec keeps descriptors that this process inherited (from a shell, a service manager)
// away from the program. Descriptors that Go opens close by themselves. The flag is set for the
// whole process, because a thread with its own table could not share the program's handle with
// the others.
func closeOnExec() {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// launch runs on the thread that is thrown away.
func (b *box) launch(c *Call, env []string, files []*os.File) (pid int, err error) {
	begun := time.Now()
	if err := b.confine(); err != nil {
		return 0, err
	}
	b.took += time.Since(begun)
	attr := &os.ProcAttr{
		Dir: c.Dir, Env: env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Ptrace: b.trace},
	}
	runs.Lock()
	defer runs.Unlock()
	p, err := os.StartProcess(c.Argv[0], c.Argv, attr)
	if b.trace && errors.Is(err, unix.EPERM) {
		// A container, or a tracer of this process, forbids it.
		b.trace, attr.Sys.Ptrace = false, false
		b.unbound = append(b.unbound, lateLimits)
		p, err = os.StartProcess(c.Argv[0], c.Argv, attr)
	}
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	p.Release() // it is reaped by its pid
	enter(pid)
	return pid, nil
}

// limit sets the resource limits from an ordinary thread, because the filter keeps the confined
// thread from setting another process's limits. The program asked to be traced, so it is stopped
// before its first instruction and cannot run without its limits. If tracing is forbidden, the
// limits come some microseconds late, and unbound reports that.
func (b *box) limit(pid int) error {
	if b.trace && !stopped(pid) {
		return nil // killed meanwhile; there is no process to limit
	}
	if !stamp(pid, b.mark) {
		b.mark = 0
	}
	if b.mark == 0 && !adopting.Load() {
		b.unbound = append(b.unbound, "a process that starts its own session outlives the run: it cannot be marked here, and this program does not adopt orphans")
	}
	if b.mark == 0 || reenter() == "" {
		b.unbound = append(b.unbound, "processes that the program starts survive a killed rye")
	}
	remember(pid, b.mark)
	for _, l := range b.limits {
		if err := lowerOf(pid, l); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// lowerOf sets the limit of a process unless it already has a lower one.
func lowerOf(pid int, l cage.Limit) error {
	var old unix.Rlimit
	lim := l.Pair()
	if err := unix.Prlimit(pid, l.Resource, nil, &old); err == nil && old.Max < lim.Max {
		lim = unix.Rlimit{Cur: old.Max, Max: old.Max}
	}
	if err := unix.Prlimit(pid, l.Resource, &lim, nil); err != nil {
		return fault.New(fault.Denied, "limit %s: %w", l.Name, err)
	}
	return nil
}

// release lets the program run, on the thread that traces it.
func (b *box) release(pid int, err error) error {
	if err != nil || !b.trace {
		return err
	}
	if err := unix.PtraceDetach(pid); err != nil && !errors.Is(err, unix.ESRCH) {
		return fault.New(fault.Denied, "release a program after limiting it: %w", err)
	}
	return nil
}

// stopped waits until the traced program stops at its exec, and keeps its status for the real
// wait. It returns false when the program ended instead.
func stopped(pid int) bool {
	const trapped = 4 // CLD_TRAPPED, sigaction(2)
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil && info.Code == trapped
		}
	}
}

// watch closes done when the program has ended. It does not reap the program: while its pid is in
// use, the group can be killed without hitting another process.
func (lp *linuxProcess) watch() {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, lp.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			close(lp.done)
			return
		}
	}
}

// signalOf returns the signal that usually explains an exit status above 128.
func signalOf(exit int) string {
	if exit <= 128 {
		return ""
	}
	return unix.SignalName(syscall.Signal(exit - 128))
}

func (lp *linuxProcess) confining() time.Duration { return lp.confined }

func (lp *linuxProcess) ended() <-chan struct{} { return lp.done }

func (lp *linuxProcess) signal(hard bool) {
	sig := unix.SIGTERM
	if hard {
		sig = unix.SIGKILL
	}
	unix.Kill(-lp.pid, sig)
}

func (lp *linuxProcess) sweep() {
	unix.Kill(-lp.pid, unix.SIGKILL)
	leave(lp.pid, lp.mark)
	lp.over()
}

func (lp *linuxProcess) reap() (int, string, error) {
	<-lp.done
	ws, err := reapLeader(lp.pid)
	close(lp.free)
	lp.vanish()
	if err != nil {
		return -1, "", os.NewSyscallError("wait", err)
	}
	if ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal()), nil
	}
	return ws.ExitStatus(), "", nil
}

// vanish waits until the killed members of the group have disappeared, because dying takes the
// kernel a moment. The wait is short: where no process reaps orphans, as in a container without
// an init, they stay as zombies.
func (lp *linuxProcess) vanish() {
	for wait := 50 * time.Microsecond; wait < 50*time.Millisecond; wait *= 2 {
		if unix.Kill(-lp.pid, 0) != nil {
			return
		}
		time.Sleep(wait)
	}
}
