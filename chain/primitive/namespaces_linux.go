package primitive

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/fault"
)

// S3 is S2 inside namespaces. rye starts rye-cage in them. rye-cage shows only the granted files,
// applies the same rules as S2, and starts the program. The program sees no other file, no other
// process and no shared memory, and no network device unless it needs one.

// noCage returns the reason why S3 is impossible, or nil.
func noCage(c *Call) error {
	switch {
	case best() < S2:
		return fault.New(fault.Denied, "run %s: S3 is required, it builds on S2, and this kernel gives %s", c.Argv[0], best()).Advise("rye doctor")
	case cageProgram() == "":
		return fault.New(fault.Denied, "run %s: S3 is required, and this program has no rye-cage", c.Argv[0]).Advise("rye doctor")
	}
	return nil
}

// startCaged is start for S3.
func startCaged(c *Call, env []string, files []*os.File) (process, []string, error) {
	if err := noCage(c); err != nil {
		return nil, nil, err
	}
	if err := writable(c.Sandbox.Write); err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	o := ordersFor(c, env)
	tree := disown(o.Mounts)
	if o.Handed = tree != nil; o.Handed {
		defer tree.Close()
		o.Bounds = bounds(c, nil)
	} else {
		o.Bounds = bounds(c, secrets())
	}
	orders, err := memoryFile("rye-orders", o.Encode())
	if err != nil {
		return nil, nil, fault.New(fault.Failed, "run %s: %w", c.Argv[0], err)
	}
	defer orders.Close()
	given := slices.Insert(slices.Clone(files), 3, orders)
	if o.Handed {
		given = append(given, tree)
	}
	doors, theirs, err := openDoors(o)
	if err != nil {
		return nil, nil, fault.New(fault.Failed, "run %s: %w", c.Argv[0], err)
	}
	if doors != nil {
		defer func() {
			if err != nil || !o.Enter {
				doors.Close()
			}
		}()
		defer theirs.Close()
		given = append(given, theirs)
	}
	cp, err := c.cageFor()
	if err != nil {
		return nil, nil, err
	}
	err = cp.tell(given)
	if err != nil && cp.early { // it ended meanwhile, which is not the call's fault
		cp.end()
		if cp, err = startCage(actor(&c.Sandbox)); err == nil {
			err = cp.tell(given)
		}
	}
	if err == nil || errors.Is(err, unix.EPIPE) { // a rye-cage that has ended wrote why
		err = cmp.Or(cp.ready(c), err)
	}
	if err == nil && doors != nil {
		err = c.serve(doors, o)
	}
	if err == nil {
		go cp.listen()
	}
	if errors.Is(err, errSilent) {
		err = fault.New(fault.Failed, "run %s: rye-cage ended without a report (%s)", c.Argv[0], cp.fate()).Advise("rye doctor")
	} else if err != nil && cp != nil {
		cp.end()
	}
	if err != nil {
		return nil, nil, err
	}
	if o.Enter {
		cp.doors = doors
	}
	cp.confined, cp.kept = time.Since(begun), keptIn(o)
	return cp, unbound(c, true), nil
}

// startCage starts a rye-cage. When this process dies, the kernel kills it with everything in its
// namespaces.
func startCage(uid, gid int) (*cagedProcess, error) {
	closeOnExec()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fault.New(fault.Failed, "start %s: %w", cageProgram(), err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "rye-cage")
	defer theirs.Close()
	unix.SetNonblock(pair[0], true) // for deadlines and the poller; theirs is a separate end
	cp := &cagedProcess{linuxProcess: linuxProcess{done: make(chan struct{}), free: make(chan struct{}), over: func() {}}, silent: make(chan struct{}),
		talk: os.NewFile(uintptr(pair[0]), "rye-cage")}
	cp.hear = bufio.NewReader(cp.talk)
	if err := cp.launch(uid, gid, theirs); err != nil {
		cp.talk.Close()
		return nil, fault.New(fault.Denied, "start %s, which S3 needs: %w", cageProgram(), err).Advise("rye doctor")
	}
	go cp.watch()
	return cp, nil
}

func (cp *cagedProcess) launch(uid, gid int, theirs *os.File) error {
	launched := make(chan error)
	cage.OnThrownAwayThread(func() {
		runs.Lock()
		var err error
		if cp.pid, err = cage.Start(cageProgram(), cageUsed().Build, uid, gid, theirs); err == nil {
			enter(cp.pid)
		}
		runs.Unlock()
		launched <- err
		if err == nil {
			<-cp.free // the thread is the parent, and stays until the process is reaped
		}
	})
	return <-launched
}

// actor returns the user who runs the tool. In another user's project the superuser runs a tool
// as that user. The tool then may do there what its owner may, and elsewhere nothing that needs
// the superuser.
func actor(s *Sandbox) (uid, gid int) {
	if unix.Geteuid() != 0 || s.Owner == 0 {
		return unix.Getuid(), unix.Getgid()
	}
	return int(s.Owner), int(s.OwnerGroup)
}

// cagedProcess is rye-cage with the program inside it.
type cagedProcess struct {
	linuxProcess
	talk  *os.File
	hear  *bufio.Reader // of talk
	early bool          // it was started before there was a program to run
	kept  []string      // paths protected by a mount
	doors *os.File      // for more sockets of the program's network; nil for none

	silent chan struct{} // closed after the last line
	found  cage.Found
	told   bool // found
}

// listen reads how the program ended. By then every process of the run except rye-cage has ended,
// or rye-cage was killed.
func (cp *cagedProcess) listen() {
	line, _ := cp.hear.ReadString('\n')
	cp.found, cp.told = cage.ParseFound(strings.TrimSuffix(line, "\n"))
	close(cp.silent)
}

func (cp *cagedProcess) ended() <-chan struct{} { return cp.silent }

// keptIn lists the paths that o protects by a mount.
func keptIn(o *cage.Orders) (paths []string) {
	for _, m := range o.Mounts {
		if m.Kind == cage.Kept {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// unknown lists the paths whose protection was not checked at the end: the files, because
// programs replace files when they write them. Directories stay in place.
func unknown(kept []string) []string {
	return slices.DeleteFunc(slices.Clone(kept), func(p string) bool {
		info, err := os.Lstat(p)
		return err == nil && info.IsDir()
	})
}

// tell sends the orders.
func (cp *cagedProcess) tell(files []*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	raw, err := cp.talk.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
		return sent != unix.EAGAIN
	})
	if err = errors.Join(err, sent); err != nil {
		return fault.New(fault.Failed, "send rye-cage its orders: %w", err)
	}
	return nil
}

// end ends a rye-cage without a program.
func (cp *cagedProcess) end() (exit int, sig string) {
	cp.signal(true)
	<-cp.done
	cp.sweep()
	exit, sig, _ = cp.reap()
	return exit, sig
}

// errSilent means that a rye-cage ended and wrote nothing.
var errSilent = errors.New("rye-cage is silent")

// fate reaps a silent rye-cage, and says how it ended.
func (cp *cagedProcess) fate() string {
	select {
	case <-cp.done:
	case <-time.After(time.Second):
		cp.end()
		return "it closed its socket and went on"
	}
	exit, sig := cp.end()
	return cmp.Or(sig, fmt.Sprintf("exit %d", exit))
}

// ready waits until the program has started, or returns the reason why it cannot.
func (cp *cagedProcess) ready(c *Call) error {
	line, err := cp.hear.ReadString('\n')
	switch word, why, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); {
	case word == cage.Ready:
		return nil
	case word == cage.Missing:
		return fault.New(fault.NotFound, "run %s in namespaces: %s", c.Argv[0], why)
	case word == cage.Refused:
		return fault.New(fault.Denied, "run %s in namespaces: %s", c.Argv[0], why).Advise("rye doctor")
	case err != nil && line == "":
		return errSilent
	}
	return fault.New(fault.Failed, "run %s: rye-cage reported %q", c.Argv[0], line)
}

// signal makes rye-cage signal the program, or kills rye-cage and so everything inside.
func (cp *cagedProcess) signal(hard bool) {
	if hard {
		unix.Kill(-cp.pid, unix.SIGKILL)
		return
	}
	cp.talk.Write([]byte{0})
}

// sweep ends the remaining processes. With a process namespace there are none.
func (cp *cagedProcess) sweep() { unix.Kill(-cp.pid, unix.SIGKILL) }

// reap returns how the program ended, as its first process saw it. It does not wait for that
// process, because the kernel takes half a millisecond to remove its namespaces.
func (cp *cagedProcess) reap() (exit int, sig string, err error) {
	cp.talk.Close()
	cp.doors.Close() // nil is not an open file
	if !cp.told {    // rye-cage was killed
		cp.found.Vanished = unknown(cp.kept)
		return cp.linuxProcess.reap()
	}
	go cp.linuxProcess.reap()
	ws := syscall.WaitStatus(cp.found.Status)
	if ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal()), nil
	}
	return ws.ExitStatus(), "", nil
}

// finish adds the facts that only the first process of the namespace saw.
func (cp *cagedProcess) finish(res *Result) {
	res.Vanished, res.Blind = cp.found.Vanished, !cp.told
	if cp.found.TempFull {
		res.Near = append(res.Near, "temp")
	}
}

// ordersFor turns a call into the orders for rye-cage, without the bounds.
func ordersFor(c *Call, env []string) *cage.Orders {
	s := &c.Sandbox
	o := &cage.Orders{Argv: c.Argv, Env: env, Dir: c.Dir, Sealed: c.Sealed != nil, Back: c.Back != nil, Local: !s.Net || s.own(), Mounts: view(c), Limits: rlimits(&s.Limits, c.Mark)}
	for _, f := range c.Files {
		o.Files = append(o.Files, cage.File{Path: f.Path, Data: f.Data, Exec: f.Exec})
	}
	if s.doors() && c.Doors.Serve != nil {
		for _, a := range c.Doors.Listen {
			o.Listen = append(o.Listen, cage.Endpoint{IP: a.Addr().AsSlice(), Port: a.Port()})
		}
		o.Enter = c.Doors.Enter != nil
		if c.Doors.Names != nil {
			o.Names = cage.File{Path: resolve(hostNames), Data: c.Doors.Names}
		}
	}
	if uid, _ := actor(s); uid == 0 { // tar would otherwise give files to users that the namespace does not have
		o.Env = append([]string{"TAR_OPTIONS=--no-same-owner"}, env...)
	}
	return o
}

// memoryFile returns a file in memory, open for reading from its beginning.
func memoryFile(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	// A program that is open for writing cannot be executed.
	r, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	f.Close()
	return r, err
}
