package cage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// namespaces are the namespaces whose first process is rye-cage. If the orders say so, rye-cage
// makes its own network later.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWPID

// mountCapabilities are the capabilities that rye-cage needs there: to mount, to bring a network
// up and listen at each of its ports, and to give up capabilities for good. A user other than root
// would lose them at the start of a program.
var mountCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP}

// environ is the environment of rye-cage. It does at most two things at a time: a network and the
// rest.
var environ = []string{"GOMAXPROCS=2"}

// Start starts rye-cage of a build as the first process of new namespaces. The namespaces know
// one user and one group: this process's, or others if this process is the superuser's. talk is
// rye-cage's end of the socket for orders; its standard descriptors are /dev/null. rye-cage leads
// a session, and is killed when the calling thread ends. The caller has locked that thread and
// keeps it until rye-cage is reaped.
func Start(program, build string, uid, gid int, talk *os.File) (pid int, err error) {
	news, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, os.NewSyscallError("socketpair", err)
	}
	ours := os.NewFile(uintptr(news[0]), "news")
	defer ours.Close()
	given, err := hand(news[1], program, int(talk.Fd()))
	unix.Close(news[1])
	if err != nil {
		return 0, err
	}
	flags := uintptr(namespaces | unix.CLONE_VM)
	hidden := hidden()
	if uid != os.Getuid() || hidden { // else another user's process shares the superuser's memory briefly
		flags &^= unix.CLONE_VM
	}
	c := becoming(build, uid, gid, given, hidden)
	defer runtime.KeepAlive(c)
	pid, err = c.start(flags, given.news)
	given.close()
	if err != nil {
		return 0, fmt.Errorf("make namespaces: %w", err)
	}
	if hidden {
		_, err = io.ReadFull(ours, make([]byte, 1))
	}
	if err == nil {
		err = writeMaps(pid, uid, gid)
	}
	if err == nil {
		_, err = ours.Write([]byte{0})
	}
	if err == nil {
		var why []byte
		why, err = io.ReadAll(ours) // until rye-cage runs: its exec closes the descriptor
		err = errors.Join(err, c.told(why))
	}
	if err != nil {
		unix.Kill(pid, unix.SIGKILL)
		collect(pid)
		return 0, fmt.Errorf("make namespaces: %w", err)
	}
	return pid, nil
}

// hidden reports whether other processes may not inspect this process. Then its files in /proc
// belong to the superuser, as do the files of a process that shares its memory.
func hidden() bool {
	looked, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err == nil && looked != 1
}

// handed are the descriptors of the new process. Their numbers are above the final ones in
// rye-cage.
type handed struct{ news, program, talk, null int }

func hand(news int, program string, talk int) (h handed, err error) {
	h = handed{-1, -1, -1, -1}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return h, &fs.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer unix.Close(null)
	// Another user may not be able to reach the directory of the superuser's programs.
	file, err := unix.Open(program, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return h, &fs.PathError{Op: "open", Path: program, Err: err}
	}
	defer unix.Close(file)
	for _, one := range []struct {
		to   *int
		from int
	}{{&h.news, news}, {&h.program, file}, {&h.talk, talk}, {&h.null, null}} {
		if *one.to, err = unix.FcntlInt(uintptr(one.from), unix.F_DUPFD_CLOEXEC, fdTalk+1); err != nil {
			h.close()
			return h, os.NewSyscallError("fcntl", err)
		}
	}
	return h, nil
}

func (h *handed) close() {
	for _, fd := range []int{h.news, h.program, h.talk, h.null} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// becoming lists the calls of the first process until it is rye-cage. ours is this process's end
// of the socket for news.
//
// A copy of a hidden process's memory is also hidden, until the new process changes that. For
// less than a millisecond after that, other processes of the user could read the copy.
func becoming(build string, uid, gid int, h handed, hidden bool) *calls {
	c := newCalls()
	c.keepOnly(h.news, h.program, h.talk, h.null)
	if hidden {
		c.add("allow its map of users", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)
		c.add("report it", unix.SYS_WRITE, uintptr(h.news), at(c, new(byte)), 1).least = 1
	}
	c.add("start a session", unix.SYS_SETSID)
	// It waits until its users are mapped. If this process ends first, the read ends too.
	c.add("wait", unix.SYS_READ, uintptr(h.news), at(c, new(byte)), 1).least = 1
	if uid != os.Getuid() {
		c.add("drop groups", unix.SYS_SETGROUPS, 0, 0)
		c.add("set the group", unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
		c.add("set the user", unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
	}
	c.add("set the signal of rye's end", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	// It has all capabilities so far and gives none up here. A process that regains some as the
	// superuser, by starting a program, would not end with rye.
	header, caps := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}
	for i := range caps {
		caps[i].Permitted, caps[i].Effective = math.MaxUint32, math.MaxUint32
	}
	for _, one := range mountCapabilities {
		caps[0].Inheritable |= 1 << one
	}
	c.add("keep capabilities", unix.SYS_CAPSET, at(c, header), at(c, caps))
	for _, one := range mountCapabilities {
		c.add("keep a capability", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, one)
	}
	c.add("change to the root", unix.SYS_CHDIR, c.text("/"))
	for fd := range uintptr(fdTalk) {
		c.add("open a standard descriptor", unix.SYS_DUP3, uintptr(h.null), fd)
	}
	c.add("listen", unix.SYS_DUP3, uintptr(h.talk), fdTalk)
	c.add("start rye-cage", unix.SYS_EXECVEAT, uintptr(h.program), c.text(""), c.texts("rye-cage", insideVerb, build), c.texts(environ...), unix.AT_EMPTY_PATH)
	return c
}

// writeMaps maps one user and one group into the namespaces of a process. Without the superuser,
// setgroups must be denied there first, because a process could leave a group whose members are
// refused more than others.
func writeMaps(pid, uid, gid int) error {
	write := func(name, text string) error {
		return os.WriteFile("/proc/"+strconv.Itoa(pid)+"/"+name, []byte(text), 0)
	}
	var err error
	if uid == os.Getuid() {
		err = write("setgroups", "deny")
	}
	return errors.Join(err, write("gid_map", fmt.Sprintf("%d %d 1", gid, gid)), write("uid_map", fmt.Sprintf("%d %d 1", uid, uid)))
}
