package cage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The two lives of rye-cage. The first makes the namespaces by starting the second in them,
// which is their first process. Both are told how by flags in one argument; the rest is in
// the orders, which only the second reads.
const (
	outerVerb = "outside"
	innerVerb = "inside"
)

// Env is the environment of rye-cage: one processor is enough for it, and to ask how many
// there are would take a tenth of its time.
var Env = []string{"GOMAXPROCS=1"}

// Flags of the namespaces, a letter each.
const flagWhole = 'p' // a process namespace

// Command returns the arguments with which rye-cage of a build is started, for a program
// that runs as a user and group. whole says that there is a process namespace.
func Command(build string, uid, gid int, whole bool) []string {
	flags := fmt.Sprintf("%d:%d:", uid, gid)
	if whole {
		flags += string(flagWhole)
	}
	return []string{"rye-cage", outerVerb, build, flags}
}

// Main is rye-cage: args are the program's, with its name. It returns the exit status.
func Main(args []string, build string) int {
	if len(args) == 2 && args[1] == "--build-id" {
		fmt.Println(build)
		return 0
	}
	if len(args) != 4 {
		fmt.Fprintln(os.Stderr, "rye-cage is started by rye, which runs tools in it")
		return 2
	}
	answer := os.NewFile(fdTalk, "answer")
	unix.CloseOnExec(fdTalk)
	if args[2] != build {
		return refuse(answer, fmt.Errorf("rye-cage is of another build than the rye that started it"))
	}
	if args[1] == innerVerb {
		return inside(answer)
	}
	return outside(answer, args)
}

// refuse says why nothing was started.
func refuse(answer *os.File, err error) int {
	word := Refused
	if errors.Is(err, fs.ErrNotExist) {
		word = Missing
	}
	fmt.Fprintf(answer, "%s %s\n", word, strings.ReplaceAll(err.Error(), "\n", " "))
	return 1
}

// mountCapabilities are what the first process of the namespaces needs: to mount, to bring
// a network up, and to give capabilities up for good. A user other than root would lose
// them when it starts a program.
var mountCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// outside starts the first process of new namespaces, hands signals on to it, and ends as
// it ends.
func outside(answer *os.File, args []string) int {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil { // or the maps of ids could not be written
		return refuse(answer, err)
	}
	attr, flags, err := userOf(args[3])
	if err != nil {
		return refuse(answer, err)
	}
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	attr.Pdeathsig, attr.AmbientCaps = syscall.SIGKILL, mountCapabilities
	for _, flag := range flags {
		switch flag {
		case flagWhole:
			attr.Cloneflags |= syscall.CLONE_NEWPID
		}
	}
	// The thread that starts it lives as long as this process: the runtime ends none. A
	// handle of package os would cost the start of another process, to see whether it works.
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{args[0], innerVerb, args[2], args[3]},
		&syscall.ProcAttr{Dir: "/", Env: Env, Files: []uintptr{0, 1, 2, fdTalk}, Sys: attr})
	if err != nil {
		return refuse(answer, fmt.Errorf("make namespaces: %w", err))
	}
	syscall.Close(fdTalk) // whoever waits for its end waits for the program's
	handOn(pid)
	status := reap(pid)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// handOn tells a process, or with a negative number a group, what this one is told. It is
// called when that one runs: to listen takes a while, and a signal before is one that comes
// a moment too early.
func handOn(to int) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, handedOn...)
	go func() {
		for s := range signals {
			unix.Kill(to, s.(syscall.Signal))
		}
	}()
}

// userOf returns whom the namespace knows: the user and group that the argument begins with,
// which are this process's unless it is the superuser's.
func userOf(arg string) (attr *syscall.SysProcAttr, flags string, err error) {
	user, rest, _ := strings.Cut(arg, ":")
	group, flags, ok := strings.Cut(rest, ":")
	uid, err1 := strconv.Atoi(user)
	gid, err2 := strconv.Atoi(group)
	if !ok || err1 != nil || err2 != nil {
		return nil, "", fmt.Errorf("arguments that cannot be read: %q", arg)
	}
	attr = &syscall.SysProcAttr{
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
	}
	if uid != os.Getuid() { // somebody else, whose groups are not the superuser's
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attr, flags, nil
}

// handedOn are the signals that the program is told of.
var handedOn = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH}
