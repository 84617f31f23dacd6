package cage

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside is the first process of the namespaces: it makes the view, starts the program,
// confined, and stays until it has ended. Then the kernel ends whatever else there is.
func inside(answer *os.File) int {
	o, err := readOrders()
	var kept map[string]uint64
	if err == nil {
		kept, err = o.prepare()
	}
	if err != nil {
		return refuse(answer, err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, handedOn...)
	pid, err := o.start()
	if err != nil {
		return refuse(answer, err)
	}
	if _, err := fmt.Fprintln(answer, Ready); err != nil {
		return 1 // rye has ended: before this process could be told to end with it, nobody else would
	}
	go func() {
		for s := range signals {
			unix.Kill(-pid, s.(syscall.Signal))
		}
	}()
	status := reap(pid)
	o.endAll(pid)
	found := o.look(status, kept)
	fmt.Fprintln(answer, found)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func readOrders() (*Orders, error) {
	f := os.NewFile(fdOrders, "orders")
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read the orders: %w", err)
	}
	o, err := Decode(raw)
	if err == nil && !o.Sealed {
		err = unix.Close(fdSealed)
	}
	return &o, err
}

// prepare makes everything around the program. It returns what keep mounted.
func (o *Orders) prepare() (kept map[string]uint64, err error) {
	// Where memory runs out, the program goes first. It cannot take this back: /proc is
	// read-only for it.
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // nobody looks into this process
		return nil, err
	}
	if !o.Whole { // what the program leaves behind becomes this process's
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, err
		}
	}
	if err := unix.Sethostname([]byte("rye")); err != nil {
		return nil, fmt.Errorf("name the host: %w", err)
	}
	if kept, err = o.view(); err != nil {
		return nil, err
	}
	if o.Local {
		if err := bringUp("lo"); err != nil {
			return nil, fmt.Errorf("bring the loopback up: %w", err)
		}
	}
	return kept, nil
}

// start starts the program from a thread that gives up every right first. In a process
// namespace the thread ends then: it has the program's bounds, so the program could signal
// it, and with it crash this process. Without one it lives as long as this process, and the
// program is killed when it ends.
func (o *Orders) start() (pid int, err error) {
	bounds, err := Prepare(&o.Bounds)
	if err != nil {
		return 0, err
	}
	defer bounds.Close()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		pid, err = o.confined(bounds)
		started <- err
		if !o.Whole {
			select {} // with the thread
		}
	}()
	err = <-started
	return pid, err
}

// confined runs on the thread that is given up.
func (o *Orders) confined(bounds *Confinement) (int, error) {
	Umask()
	if o.Dir != "" {
		if err := os.Chdir(o.Dir); err != nil {
			return 0, err
		}
	}
	for _, l := range o.Limits {
		if err := l.lower(); err != nil {
			return 0, fmt.Errorf("limit %s: %w", l.Name, err)
		}
	}
	if err := noCapabilities(); err != nil {
		return 0, fmt.Errorf("give up capabilities: %w", err)
	}
	if err := NoNewPrivileges(); err != nil {
		return 0, fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := bounds.Confine(); err != nil {
		return 0, err
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	if o.Sealed {
		files = append(files, os.NewFile(fdSealed, "sealed"))
	}
	attr := &os.ProcAttr{Dir: o.Dir, Env: o.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	if !o.Whole { // with a namespace, the end of its first process is the end of all
		attr.Sys.Pdeathsig = syscall.SIGKILL
	}
	p, err := os.StartProcess(o.Argv[0], o.Argv, attr)
	if err != nil {
		return 0, err
	}
	return p.Pid, nil
}

// lower sets a limit unless a lower one holds. The limits are the whole process's, and
// those of what it starts.
func (l Limit) lower() error {
	var old unix.Rlimit
	lim := unix.Rlimit{Cur: l.Max, Max: l.Max}
	if err := unix.Getrlimit(l.Resource, &old); err == nil && old.Max < lim.Max {
		lim = unix.Rlimit{Cur: old.Max, Max: old.Max}
	}
	return unix.Prlimit(0, l.Resource, &lim, nil)
}

// reap waits for the program and for whatever becomes this process's, and returns how the
// program ended.
func reap(program int) unix.WaitStatus {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // nobody is left, which cannot be before the program
			return 0
		case pid == program && (status.Exited() || status.Signaled()):
			return status
		}
	}
}

// endAll kills whatever the program left and waits until nothing of it can write any more.
// Without a process namespace that is its group; rye finds the others by their mark.
func (o *Orders) endAll(program int) {
	if !o.Whole {
		unix.Kill(-program, unix.SIGKILL)
		return
	}
	unix.Kill(-1, unix.SIGKILL) // all of the namespace but this process
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

// look is what can be seen only from here, at the end.
func (o *Orders) look(status unix.WaitStatus, kept map[string]uint64) Found {
	f := Found{Status: int(status)}
	var st unix.Statfs_t
	if err := unix.Statfs(TempDir, &st); err == nil {
		f.TempFull = st.Bavail == 0
	}
	for _, m := range o.Mounts {
		if id, ok := kept[m.Path]; ok && mountAt(m.Path) != id {
			f.Vanished = append(f.Vanished, m.Path)
		}
	}
	return f
}

// mountAt returns the number of the mount that a path leads into; 0 where it leads nowhere.
func mountAt(p string) uint64 {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st) != nil {
		return 0
	}
	return st.Mnt_id
}
