package cage

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside is the first process of the namespaces. It makes the view, starts the confined program,
// and stays until the program has ended. Then the kernel ends all other processes of the
// namespaces.
func inside(answer *os.File) int {
	ready := make(chan error, 1)
	go func() { ready <- prepare() }()
	o, more, err := told()
	if o == nil && err == nil {
		return 0 // no run needs it
	}
	if err != nil {
		return refuse(answer, err)
	}
	given, tree := more.given, more.tree
	start := o.starter(given, more.doors)
	if err := <-ready; err != nil {
		return refuse(answer, err)
	}
	kept, err := o.view(tree)
	if err != nil {
		return refuse(answer, err)
	}
	pid, err := start()
	if err != nil {
		return refuse(answer, err)
	}
	for _, fd := range given { // a reader of the program's output must not wait for this process
		unix.Close(fd)
	}
	if _, err := fmt.Fprintln(answer, Ready); err != nil {
		return 1 // rye ended before PDEATHSIG was set, so nothing else would end us
	}
	go heed(pid)
	status := reapUntil(pid)
	endAll()
	found := o.look(status, kept)
	fmt.Fprintln(answer, found)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// handedOver are the descriptors that come with the orders. A missing one is -1.
type handedOver struct {
	given []int // of the program
	tree  int   // for the mount of kind Handed
	doors int   // the socket for listeners and other sockets
}

// told waits for the message. It returns the orders and the descriptors with them. Neither orders
// nor an error means that the socket closed without a message.
func told() (o *Orders, h handedOver, err error) {
	buf, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(8*4))
	var n, size int
	for {
		if n, size, _, _, err = unix.Recvmsg(fdTalk, buf, rights, unix.MSG_CMSG_CLOEXEC); err != unix.EINTR {
			break
		}
	}
	if err != nil || n == 0 {
		return nil, h, err
	}
	msgs, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(msgs) != 1 {
		return nil, h, errOrders
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) < 4 {
		return nil, h, errOrders
	}
	f := os.NewFile(uintptr(fds[3]), "orders")
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, h, fmt.Errorf("read the orders: %w", err)
	}
	orders, err := Decode(raw)
	if err != nil {
		return nil, h, err
	}
	more := fds[4:]
	next := func(there bool) int {
		if !there || len(more) == 0 {
			return -1
		}
		fd := more[0]
		more = more[1:]
		return fd
	}
	h.given = fds[:3:3]
	for _, there := range []bool{orders.Sealed, orders.Back} {
		if there {
			h.given = append(h.given, next(true))
		}
	}
	h.tree, h.doors = next(orders.Handed), next(orders.Doors())
	if len(more) > 0 || slices.Contains(h.given, -1) || orders.Handed != (h.tree >= 0) || orders.Doors() != (h.doors >= 0) {
		return nil, h, errOrders
	}
	return &orders, h, nil
}

// prepare does the work that is the same for every run, before the orders arrive.
func prepare() error {
	// If memory runs out, the kernel kills the program first. The program cannot undo this,
	// because its /proc is read-only.
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // processes cannot inspect it
		return err
	}
	if err := unix.Sethostname([]byte("rye")); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	if err := newRoot(); err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	if err := mountProc(); err != nil {
		return fmt.Errorf("mount %q: %w", procDir, err)
	}
	if err := mountDevices(); err != nil {
		return fmt.Errorf("mount %q: %w", devDir, err)
	}
	return nil
}

// starter returns the function that starts the program. The start runs on a thread that first
// gives up every right and then ends. The thread has the program's bounds, so the program could
// signal it, and crash this process through it.
//
// Making a network takes as long as all the rest together, so the thread does that at the same
// time.
func (o *Orders) starter(given []int, doors int) func() (pid int, err error) {
	ready, started := make(chan *Confinement), make(chan error)
	var pid int
	OnThrownAwayThread(func() {
		var err error
		if o.Local {
			err = o.network(doors)
		}
		bounds := <-ready
		if err != nil {
			err = fmt.Errorf("make a network of its own: %w", err)
		} else {
			pid, err = o.confined(bounds, given)
		}
		started <- err
	})
	return func() (int, error) {
		bounds, err := Prepare(&o.Bounds)
		if err != nil {
			return 0, err
		}
		defer bounds.Close()
		ready <- bounds
		err = <-started
		return pid, err
	}
}

// confined runs on the thread that is thrown away.
func (o *Orders) confined(bounds *Confinement, given []int) (int, error) {
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
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, fd := range given {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	pid, _, err := syscall.StartProcess(o.Argv[0], o.Argv, attr)
	if err != nil {
		return 0, &os.PathError{Op: "start", Path: o.Argv[0], Err: err}
	}
	return pid, nil
}

// Pair returns the values for setrlimit(2). When processor time runs out, the kernel sends a
// signal at the soft limit, and kills without one at the hard limit.
func (l Limit) Pair() unix.Rlimit {
	p := unix.Rlimit{Cur: l.Max, Max: l.Max}
	if l.Resource == unix.RLIMIT_CPU {
		p.Max++
	}
	return p
}

// lower sets a limit unless a lower one holds. The limit is for the whole process and its
// children.
func (l Limit) lower() error {
	var old unix.Rlimit
	lim := l.Pair()
	if err := unix.Getrlimit(l.Resource, &old); err == nil && old.Max < lim.Max {
		lim = unix.Rlimit{Cur: old.Max, Max: old.Max}
	}
	return unix.Prlimit(0, l.Resource, &lim, nil)
}

// heed asks the program to end when rye requests it. rye does not use a signal. Package os/signal
// would cost a quarter of a millisecond and three threads in every run, and an early signal would
// be lost.
func heed(program int) {
	asked := make([]byte, 1)
	for {
		if n, err := unix.Read(fdTalk, asked); n > 0 {
			unix.Kill(-program, unix.SIGTERM)
		} else if err != unix.EINTR {
			return // rye has ended, and so will this process
		}
	}
}

// reapUntil reaps every child of this process until the program has ended, and returns the
// program's status. Only a first process may do this. In another process it would reap children
// that other code waits for.
func reapUntil(program int) unix.WaitStatus {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // no child is left, which is impossible before the program's end
			return 0
		case pid == program && (status.Exited() || status.Signaled()):
			return status
		}
	}
}

// endAll kills the program's remaining processes and waits until none of them can write.
func endAll() {
	unix.Kill(-1, unix.SIGKILL) // every process of the namespace except this one
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

// look returns the facts that can be seen only here, at the end.
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

// mountAt returns the id of the mount that contains a path; 0 for a missing path.
func mountAt(p string) uint64 {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st) != nil {
		return 0
	}
	return st.Mnt_id
}
