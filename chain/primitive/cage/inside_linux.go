package cage

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside is the first process of the namespaces: it makes the view, starts the program,
// confined, and stays until it has ended. Then the kernel ends whatever else there is.
func inside(answer *os.File) int {
	ready := make(chan error, 1)
	go func() { ready <- prepare() }()
	o, given, tree, err := told()
	if o == nil && err == nil {
		return 0 // nobody wants it any more
	}
	if err != nil {
		return refuse(answer, err)
	}
	start := o.starter(given)
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
	for _, fd := range given { // who reads what the program writes shall not wait for this process
		unix.Close(fd)
	}
	if _, err := fmt.Fprintln(answer, Ready); err != nil {
		return 1 // rye has ended: before this process could be told to end with it, nobody else would
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

// told waits for the message, and returns the orders with the descriptors of the program, and
// of the tree that was handed. No orders and no error is the end without a message.
func told() (o *Orders, given []int, tree int, err error) {
	buf, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(7*4))
	var n, size int
	for {
		if n, size, _, _, err = unix.Recvmsg(fdTalk, buf, rights, unix.MSG_CMSG_CLOEXEC); err != unix.EINTR {
			break
		}
	}
	if err != nil || n == 0 {
		return nil, nil, -1, err
	}
	msgs, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(msgs) != 1 {
		return nil, nil, -1, errOrders
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) < 4 {
		return nil, nil, -1, errOrders
	}
	f := os.NewFile(uintptr(fds[3]), "orders")
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, nil, -1, fmt.Errorf("read the orders: %w", err)
	}
	orders, err := Decode(raw)
	if err != nil {
		return nil, nil, -1, err
	}
	given, more := fds[:3:3], fds[4:]
	want := 3
	for _, there := range []bool{orders.Sealed, orders.Back} {
		if there && len(more) > 0 {
			given, more = append(given, more[0]), more[1:]
		}
		if there {
			want++
		}
	}
	if tree = -1; orders.Handed && len(more) > 0 {
		tree, more = more[0], more[1:]
	}
	if len(more) > 0 || len(given) != want || orders.Handed != (tree >= 0) {
		return nil, nil, -1, errOrders
	}
	return &orders, given, tree, nil
}

// prepare does what is the same for every run, while the orders are still to come.
func prepare() error {
	// Where memory runs out, the program goes first. It cannot take this back: /proc is
	// read-only for it.
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // nobody looks into this process
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

// ownNetwork gives the calling thread, and what it starts, a network with a loopback and
// nothing else.
func ownNetwork() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	return bringUp("lo")
}

// starter returns what starts the program, from a thread that gives up every right first and
// ends then: it has the program's bounds, so the program could signal it, and with it crash
// this process.
//
// To make a network takes as long as everything else, so the thread does that meanwhile.
func (o *Orders) starter(given []int) func() (pid int, err error) {
	ready, started := make(chan *Confinement), make(chan error)
	var pid int
	OnThrownAwayThread(func() {
		var err error
		if o.Local {
			err = ownNetwork()
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

// confined runs on the thread that is given up.
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

// Pair is what setrlimit(2) takes. The kernel tells of processor time that is used up by a
// signal first, at the lower of two limits, and kills without a word at the higher.
func (l Limit) Pair() unix.Rlimit {
	p := unix.Rlimit{Cur: l.Max, Max: l.Max}
	if l.Resource == unix.RLIMIT_CPU {
		p.Max++
	}
	return p
}

// lower sets a limit unless a lower one holds. The limits are the whole process's, and
// those of what it starts.
func (l Limit) lower() error {
	var old unix.Rlimit
	lim := l.Pair()
	if err := unix.Getrlimit(l.Resource, &old); err == nil && old.Max < lim.Max {
		lim = unix.Rlimit{Cur: old.Max, Max: old.Max}
	}
	return unix.Prlimit(0, l.Resource, &lim, nil)
}

// heed asks the program to end when rye says so. rye does not send a signal: to have one
// handled by package os/signal would take a quarter of a millisecond and three threads of
// every run, and one that comes before would be lost.
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

// reapUntil waits for whatever becomes this process's until the program has ended, and returns
// how. Only a first process may: elsewhere it would take the ends of programs that others of
// the process wait for.
func reapUntil(program int) unix.WaitStatus {
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
func endAll() {
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
