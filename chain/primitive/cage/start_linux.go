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

// namespaces are those that rye-cage is the first process of. Where the orders say so it
// makes itself a network.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWPID

// mountCapabilities are what it needs there: to mount, to bring a network up, and to give
// capabilities up for good. A user other than root would lose them when it starts a program.
var mountCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// environ is the environment of rye-cage. It does two things at a time at most, a network and
// the rest.
var environ = []string{"GOMAXPROCS=2"}

// Start starts rye-cage of a build as the first process of new namespaces, which know one
// user and one group: this process's, or others if it is the superuser. talk is the end of
// the socket over which it is told what to run; its standard descriptors lead nowhere. It
// leads a session, and is killed when the calling thread ends: the caller has locked it, and
// keeps it until rye-cage was reaped.
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
	if uid != os.Getuid() || hidden { // or for a moment another user's process would have the superuser's memory
		flags &^= unix.CLONE_VM
	}
	c := becoming(build, uid, gid, news[0], given, hidden)
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
		why, err = io.ReadAll(ours) // to its end, when rye-cage runs: the descriptor is closed by that
		err = errors.Join(err, c.told(why))
	}
	if err != nil {
		unix.Kill(pid, unix.SIGKILL)
		collect(pid)
		return 0, fmt.Errorf("make namespaces: %w", err)
	}
	return pid, nil
}

// hidden reports whether this process lets nobody look into it. Then the files about it belong
// to the superuser, and so do those about a process that has its memory.
func hidden() bool {
	looked, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err == nil && looked != 1
}

// handed are the descriptors that the new process has. Their numbers are above those that
// rye-cage shall have them at.
type handed struct{ news, program, talk, null int }

func hand(news int, program string, talk int) (h handed, err error) {
	h = handed{-1, -1, -1, -1}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return h, &fs.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer unix.Close(null)
	// Another user may not be able to go where the superuser's programs are.
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

// becoming lists what the first process does until it is rye-cage. ours is this process's end
// of what it gets news by.
//
// A process with a copy of the memory of one that is hidden is hidden, too, until it says
// otherwise: for less than a millisecond, other processes of the user could read the copy.
func becoming(build string, uid, gid, ours int, h handed, hidden bool) *calls {
	c := newCalls()
	if hidden {
		c.add("let its users be told", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)
		c.add("say so", unix.SYS_WRITE, uintptr(h.news), at(c, new(byte)), 1).least = 1
	}
	c.add("lead a session", unix.SYS_SETSID)
	// It waits until its users are known. If this process ends before, so does what it reads.
	c.add("close the other end", unix.SYS_CLOSE, uintptr(ours))
	c.add("wait", unix.SYS_READ, uintptr(h.news), at(c, new(byte)), 1).least = 1
	if uid != os.Getuid() {
		c.add("give up groups", unix.SYS_SETGROUPS, 0, 0)
		c.add("become the group", unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
		c.add("become the user", unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
	}
	c.add("end with rye", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	// It has all of them so far, and gives none up here: who gets some back as the superuser
	// by starting a program does not end with rye.
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
	c.add("go to the root", unix.SYS_CHDIR, c.text("/"))
	for fd := range uintptr(fdTalk) {
		c.add("lead nowhere", unix.SYS_DUP3, uintptr(h.null), fd)
	}
	c.add("listen", unix.SYS_DUP3, uintptr(h.talk), fdTalk)
	c.add("start it", unix.SYS_EXECVEAT, uintptr(h.program), c.text(""), c.texts("rye-cage", insideVerb, build), c.texts(environ...), unix.AT_EMPTY_PATH)
	return c
}

// writeMaps says which user and group the namespaces of a process know. Who is not the
// superuser may say so once nobody there can give up groups, whose members may be refused
// what everybody else may.
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
