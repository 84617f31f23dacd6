package primitive

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scene is what the deeds are aimed at: a project that the tool may write, and around it
// another process of the same user with all that it has.
type scene struct {
	Group string
	Tier  Tier

	Project string // granted; .ai, .git, sub/.git and .envrc in it are protected
	Temp    string
	Outside string // granted to nobody

	Victim   int // its process
	VictimFD int // of a file that only it has open
	Terminal string
	Port     int // where it listens, TCP
	OpenPort int // the same, and the tool may connect there
	UDPPort  int
	Abstract string

	Shm, Sem, Msg int // ids, and the keys are these plus keyBase
	Key           int
	Queue         string // POSIX

	Secrets, SecretDirs []string // of the system, that others may not read

	victim  *exec.Cmd
	says    *bufio.Reader
	end     io.Closer
	closers []func()
	reached []func() int // how many have come to a socket
}

func (s *scene) in(name string) string  { return filepath.Join(s.Project, name) }
func (s *scene) out(name string) string { return filepath.Join(s.Outside, name) }

// newScene builds everything anew.
func newScene(t *testing.T, group string) *scene {
	t.Helper()
	s := &scene{Group: group, Project: temp(t), Temp: temp(t), Outside: temp(t), Key: 0x52590000 + os.Getpid()<<2&0xfffc}
	for _, p := range unreadable() {
		if info, err := os.Lstat(p); err == nil && info.IsDir() {
			s.SecretDirs = append(s.SecretDirs, p)
		} else {
			s.Secrets = append(s.Secrets, p)
		}
	}
	s.files(t)
	s.objects(t)
	s.sockets(t)
	s.startVictim(t)
	t.Cleanup(s.over)
	return s
}

func (s *scene) files(t *testing.T) {
	t.Helper()
	for p, mode := range map[string]os.FileMode{
		s.out("private"): 0o600, s.out("public"): 0o644, s.out("open"): 0o666, s.out("program"): 0o755, s.out("keys/id"): 0o600, s.out("other/.ai/rye.yaml"): 0o644,
		s.out("s2-mode"): 0o600, s.out("s2-times"): 0o644, s.out("s2-linked"): 0o600, s.out("dir/x"): 0o644, s.out("dir/y"): 0o644,
		s.in("data/in.txt"): 0o644, s.in(".ai/rye.yaml"): 0o644, s.in(".ai/tools/x.sh"): 0o755, s.in(".git/config"): 0o644, s.in(".git/hooks/x"): 0o755,
		s.in("sub/.git/config"): 0o644, s.in("sub/file"): 0o644, s.in(".envrc"): 0o644, s.in(".ai/s2-tool"): 0o644, s.in("hidden/key"): 0o600,
	} {
		os.MkdirAll(filepath.Dir(p), 0o755)
		if err := os.WriteFile(p, []byte("#!/bin/true\n"), mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(p, mode)
		unix.Setxattr(p, "user.keep", []byte("1"), 0)
	}
	os.Chmod(s.out("keys"), 0o700)
	os.WriteFile(s.in("foreign"), foreignProgram, 0o755)
	os.Symlink(s.out("private"), s.in("data/link"))
	os.Symlink(s.out("s2-linked"), s.in("data/s2-link"))
	unix.Mkfifo(s.out("fifo"), 0o600)
}

// objects makes those of System V and POSIX, with content.
func (s *scene) objects(t *testing.T) {
	t.Helper()
	check := func(r uintptr, errno syscall.Errno) int {
		if errno != 0 {
			t.Fatal(errno)
		}
		return int(r)
	}
	get := func(nr, key, a, b uintptr) int {
		r, _, errno := unix.RawSyscall(nr, key, a, b)
		return check(r, errno)
	}
	const create = unix.IPC_CREAT | unix.IPC_EXCL | 0o666
	s.Shm = get(unix.SYS_SHMGET, uintptr(s.Key), 4096, create)
	s.Sem = get(unix.SYS_SEMGET, uintptr(s.Key), 1, create)
	s.Msg = get(unix.SYS_MSGGET, uintptr(s.Key), create, 0)
	s.Queue = fmt.Sprintf("rye-test-%d-%d", os.Getpid(), s.Shm)
	queue := get(unix.SYS_MQ_OPEN, text(s.Queue), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NONBLOCK, 0o666)
	s.closers = append(s.closers, func() {
		call(unix.SYS_SHMCTL, uintptr(s.Shm), unix.IPC_RMID, 0)
		call(unix.SYS_SEMCTL, uintptr(s.Sem), 0, unix.IPC_RMID)
		call(unix.SYS_MSGCTL, uintptr(s.Msg), unix.IPC_RMID, 0)
		call(unix.SYS_MQ_UNLINK, text(s.Queue))
		call(unix.SYS_MQ_UNLINK, text(s.Queue+"-new")) // of a tool that nothing binds
		if id, _, errno := unix.RawSyscall(unix.SYS_SHMGET, uintptr(s.Key+1), 0, 0); errno == 0 {
			call(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
		}
		unix.Close(queue)
	})
	shm, err := unix.SysvShmAttach(s.Shm, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(shm, "victim's")
	unix.SysvShmDetach(shm)
	message := append(binary.NativeEndian.AppendUint64(nil, 1), "victim's"...)
	if err := call(unix.SYS_MSGSND, uintptr(s.Msg), uintptr(unsafe.Pointer(&message[0])), 8, 0); err != nil {
		t.Fatal(err)
	}
}

// sockets listen at all kinds of addresses, and count who comes.
func (s *scene) sockets(t *testing.T) {
	t.Helper()
	s.Abstract = fmt.Sprintf("rye-test-%d-%d", os.Getpid(), s.Shm)
	for _, a := range [][2]string{{"tcp", "[::]:0"}, {"tcp", "[::]:0"}, {"unix", s.out("agent.sock")}, {"unix", "@" + s.Abstract}} {
		l, err := net.Listen(a[0], a[1])
		if err != nil && strings.HasPrefix(a[1], "[::]") {
			l, err = net.Listen(a[0], "127.0.0.1:0")
		}
		if err != nil {
			t.Fatal(err)
		}
		s.closers = append(s.closers, func() { l.Close() })
		if addr, ok := l.Addr().(*net.TCPAddr); ok && s.OpenPort == 0 {
			s.OpenPort = addr.Port // who comes there may
			continue
		} else if ok {
			s.Port = addr.Port
		}
		s.reached = append(s.reached, func() int { return waiting(l.(syscall.Conn)) })
	}
	for _, a := range [][2]string{{"udp", "127.0.0.1:0"}, {"unixgram", s.out("log.sock")}, {"unixgram", "@" + s.Abstract + "-log"}} {
		c, err := net.ListenPacket(a[0], a[1])
		if err != nil {
			t.Fatal(err)
		}
		s.closers = append(s.closers, func() { c.Close() })
		if addr, ok := c.LocalAddr().(*net.UDPAddr); ok {
			s.UDPPort = addr.Port
			if s.Group == "ports" {
				continue // where UDP may be used, it may be used
			}
		}
		s.reached = append(s.reached, func() int { return waiting(c.(syscall.Conn)) })
	}
}

// waiting says whether anything is to be had from a socket, without taking it.
func waiting(c syscall.Conn) (n int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1
	}
	raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, _ = unix.Poll(p, 0)
	})
	return n
}

// startVictim starts the other process, on a terminal of its own.
func (s *scene) startVictim(t *testing.T) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	s.Terminal = "/dev/pts/" + strconv.Itoa(number)
	slave, err := os.OpenFile(s.Terminal, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	self, _ := os.Executable()
	secret, err := os.Open(s.out("private"))
	if err != nil {
		t.Fatal(err)
	}
	s.VictimFD = 4
	s.victim = exec.Command(self)
	s.victim.Dir = s.Outside
	s.victim.Env = []string{"RYE_TEST_ACT=victim", "SECRET=victim's"}
	s.victim.ExtraFiles = []*os.File{slave, secret}
	s.victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	in, _ := s.victim.StdinPipe()
	out, _ := s.victim.StdoutPipe()
	if err := s.victim.Start(); err != nil {
		t.Fatal(err)
	}
	secret.Close()
	s.Victim, s.says, s.end = s.victim.Process.Pid, bufio.NewReader(out), in
	s.closers = append(s.closers, func() { slave.Close(); master.Close() })
	s.reached = append(s.reached, func() int {
		p := []unix.PollFd{{Fd: int32(slave.Fd()), Events: unix.POLLIN}}
		n, _ := unix.Poll(p, 0)
		return n
	})
	s.says.ReadString('\n')
}

// bound does what would harm the machine where nothing binds.
func (s *scene) bound(do func() error) error {
	if s.Tier < S2 {
		return unix.EINVAL
	}
	return do()
}

// victim is its life: it counts the signals that reach it until its input ends.
func victim() {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, unix.SIGUSR1, unix.SIGUSR2, unix.SIGIO, unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGCONT)
	over := make(chan bool)
	go func() { io.Copy(io.Discard, os.Stdin); close(over) }()
	fmt.Println("ready")
	n := 0
	for {
		select {
		case <-signals:
			n++
		case <-over:
			fmt.Println(n)
			return
		}
	}
}

// over ends the victim and takes everything away.
func (s *scene) over() {
	if s.victim != nil {
		s.end.Close()
		s.victim.Process.Kill()
		s.victim.Wait()
		s.victim = nil
	}
	for _, name := range s.shared() {
		os.Remove(name)
	}
	for _, f := range s.closers {
		f()
	}
	s.closers = nil
}

// state is what can be seen from outside, by name.
func (s *scene) state(t *testing.T, tier Tier) map[string]string {
	t.Helper()
	out := map[string]string{}
	s.addFiles(out, s.Outside)
	for _, name := range []string{".ai", ".git", ".envrc", "sub/.git", "hidden"} {
		if tier == S3 && name == "sub/.git" {
			continue // it moves with what it lies in; what comes in its place is taken away after the run
		}
		s.addFiles(out, s.in(name))
	}
	for _, name := range []string{"/etc/passwd", "/etc/hosts", "/dev/null"} {
		s.addFiles(out, name)
	}
	s.addObjects(out)
	s.addProcess(out)
	for i, f := range s.reached {
		out[fmt.Sprint("reached ", i)] = strconv.Itoa(f())
	}
	return out
}

// addFiles adds a line for each file of a tree: all that can be changed about it.
func (s *scene) addFiles(out map[string]string, root string) {
	filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err != nil || unix.Lstat(p, &st) != nil {
			out[p] = fmt.Sprint(err)
			return nil
		}
		names := make([]byte, 256)
		n, _ := unix.Llistxattr(p, names)
		line := fmt.Sprintf("%o %d %d %d %d %q", st.Mode, st.Uid, st.Gid, st.Size, st.Mtim.Nano(), names[:max(n, 0)])
		if st.Mode&unix.S_IFMT == unix.S_IFREG {
			data, _ := os.ReadFile(p)
			line += fmt.Sprintf(" %d %x", st.Nlink, sha256.Sum256(data))
		}
		out[p] = line
		return nil
	})
}

func (s *scene) addObjects(out map[string]string) {
	shm, err := unix.SysvShmAttach(s.Shm, 0, unix.SHM_RDONLY)
	out["shared memory"] = fmt.Sprintf("%q %v", string(shm[:min(8, len(shm))]), err)
	if err == nil {
		unix.SysvShmDetach(shm)
	}
	value, _, errno := unix.RawSyscall(unix.SYS_SEMCTL, uintptr(s.Sem), 0, 12) // GETVAL
	out["semaphore"] = fmt.Sprint(value, errno)
	for _, kind := range []string{"shm", "sem", "msg"} {
		raw, _ := os.ReadFile("/proc/sysvipc/" + kind)
		out["list of "+kind] = fmt.Sprintf("%q", listedIPC(string(raw), map[string]int{"shm": s.Shm, "sem": s.Sem, "msg": s.Msg}[kind]))
	}
	out["left"] = fmt.Sprint(call(unix.SYS_SHMGET, uintptr(s.Key+1), 0, 0), call2(unix.SYS_MQ_OPEN, text(s.Queue+"-new"), unix.O_RDONLY, 0, 0))
}

// addProcess adds what others could change about the victim.
func (s *scene) addProcess(out map[string]string) {
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, s.Victim)
	out["nice"] = fmt.Sprint(nice, err)
	policy, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(s.Victim), 0, 0)
	out["scheduler"] = fmt.Sprint(policy, errno)
	var cpus unix.CPUSet
	err = unix.SchedGetaffinity(s.Victim, &cpus)
	out["affinity"] = fmt.Sprint(cpus, err)
	io, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_GET, 1, uintptr(s.Victim), 0)
	out["priority of input and output"] = fmt.Sprint(io, errno)
	for _, name := range []string{"limits", "oom_score_adj", "coredump_filter", "comm"} {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.Victim, name))
		out[name] = string(raw)
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Victim))
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "TracerPid:") {
			out["tracer"] = line
		}
	}
}

// compare reports what the tool changed about the victim, and what it left.
func (s *scene) compare(t *testing.T, tier Tier, before, after map[string]string) {
	t.Helper()
	for name := range merged(before, after) {
		if tier < S3 && strings.HasPrefix(filepath.Base(name), "s2-") {
			continue // that S2 cannot is in the table
		}
		if before[name] != after[name] {
			t.Errorf("%s: %s was\n%s\nand is\n%s", tier, name, before[name], after[name])
		}
	}
	s.end.Close()
	if n, _ := s.says.ReadString('\n'); n != "0\n" {
		t.Errorf("%s: signals that reached the victim: %q", tier, n)
	}
	for _, root := range []string{s.Project, s.Temp} {
		filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err == nil && unix.Lstat(p, &st) == nil {
				if st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
					t.Errorf("%s: %s has mode %o", tier, p, st.Mode)
				}
				if k := st.Mode & unix.S_IFMT; k == unix.S_IFCHR || k == unix.S_IFBLK {
					t.Errorf("%s: %s is a device", tier, p)
				}
			}
			if n, _ := unix.Lgetxattr(p, "security.capability", make([]byte, 64)); n > 0 {
				t.Errorf("%s: %s has capabilities", tier, p)
			}
			return nil
		})
	}
	for _, name := range s.shared() {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s: %s was made", tier, name)
		}
	}
}

// shared are names that the tool would leave where others see them.
func (s *scene) shared() []string { return []string{"/tmp/" + s.Abstract, "/dev/shm/" + s.Abstract} }

func merged(a, b map[string]string) map[string]bool {
	out := map[string]bool{}
	for name := range a {
		out[name] = true
	}
	for name := range b {
		out[name] = true
	}
	return out
}

// sceneOf is what the tool was told.
func sceneOf(text string) *scene {
	var s scene
	if json.Unmarshal([]byte(text), &s) != nil {
		os.Exit(2)
	}
	return &s
}
