package primitive

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// S3 is S2 within namespaces that bubblewrap makes: rye starts bwrap, bwrap starts
// rye again inside, that one puts on S2 by the same code as ever and becomes the
// tool. So S3 refuses whatever S2 does, and besides there is nothing else to
// reach: no file that was not granted, no other process, no network device when
// none is needed.

const confineVerb = "confine"

// Descriptors of the process inside, besides the standard ones.
const (
	fdSealed = 3 // Call.Sealed, or nothing
	fdOrders = 4
	fdAnswer = 5
)

// innerPath is where the view has this program's file.
const innerPath = "/.rye"

// orders is what the process inside is told.
type orders struct {
	Argv    []string
	Env     []string
	Dir     string
	Temp    string
	Sealed  bool // fdSealed is the tool's
	Sandbox Sandbox
}

// ready is the answer of a process inside that is about to become the tool;
// anything else is why it cannot.
const ready = "ready"

// bubblewrap is bwrap's path, looked for where only the system's owner puts
// programs: not on the user's PATH, which a project may be part of.
var bubblewrap = sync.OnceValue(func() string {
	for _, dir := range filepath.SplitList(SafePath) {
		path := filepath.Join(dir, "bwrap")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
})

// noBubble says why S3 cannot be given; nil when it may be.
func noBubble(c *Call) error {
	switch {
	case best() < S2:
		return fault.New(fault.Denied, "run %s: S3 is demanded and this kernel gives %s, on which it builds", c.Argv[0], best()).Advise("rye doctor")
	case bubblewrap() == "":
		return fault.New(fault.Denied, "run %s: S3 is demanded, and there is no bwrap in %s", c.Argv[0], SafePath).Advise("install bubblewrap")
	case reenter() == "":
		return fault.New(fault.Denied, "run %s: S3 is demanded, and this program cannot start itself again inside", c.Argv[0]).Advise("rye doctor")
	}
	return nil
}

// startBubble is start for S3.
func startBubble(c *Call, env []string, files []*os.File) (process, []string, error) {
	if err := noBubble(c); err != nil {
		return nil, nil, err
	}
	if err := writable(c.Sandbox.Write); err != nil {
		return nil, nil, err
	}
	told, err := orderFile(c, env, len(files) > fdSealed)
	if err != nil {
		return nil, nil, fault.New(fault.Failed, "run %s: %w", c.Argv[0], err)
	}
	defer told.Close()
	hear, say, err := os.Pipe()
	if err != nil {
		return nil, nil, fault.New(fault.Failed, "run %s: %w", c.Argv[0], err)
	}
	defer hear.Close()
	if len(files) == fdSealed {
		files = append(files, files[0])
	}
	outer := *c
	outer.Argv = append(append([]string{bubblewrap()}, view(c, reenter())...), "--", innerPath, innerArg, confineVerb, "-")
	outer.Dir = "/"
	box := &box{tier: S1, outer: true, mark: c.Mark, trace: tracing()}
	lp, unbound, err := box.start(&outer, []string{}, append(files, told, say))
	say.Close()
	if err != nil {
		return nil, nil, err
	}
	lp.inner = true
	if err := box.answer(c, hear); err != nil {
		lp.signal(true)
		<-lp.done
		lp.sweep()
		lp.reap()
		return nil, nil, err
	}
	s := c.Sandbox
	s.Tier = S2 // what S3 adds binds
	unbound = append(unbound, unboundBy(&s, true)...)
	return lp, unbound, nil
}

// orderFile writes the orders where the process inside can read them at once.
func orderFile(c *Call, env []string, sealed bool) (*os.File, error) {
	text, err := json.Marshal(orders{c.Argv, env, c.Dir, c.Temp, sealed, c.Sandbox})
	if err != nil {
		return nil, err
	}
	return memoryFile("rye-orders", text)
}

// answer waits until the process inside is ready, or bwrap has given up.
func (b *box) answer(c *Call, hear *os.File) error {
	line, _ := bufio.NewReader(hear).ReadString('\n')
	line = strings.TrimSuffix(line, "\n")
	code, text, _ := strings.Cut(line, " ")
	switch {
	case line == ready:
		return nil
	case line != "":
		return fault.New(fault.Code(code), "run %s: %s", c.Argv[0], text)
	}
	return fault.New(fault.Denied, "run %s: S3 is demanded, and bubblewrap cannot build it here: %s", c.Argv[0], bubbleSays(c)).Advise("rye doctor")
}

// bubbleSays has bwrap build the same view for a program that does nothing, and
// returns its own words.
func bubbleSays(c *Call) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, bubblewrap(), append(view(c, reenter()), "--", "/usr/bin/true")...).CombinedOutput()
	if err == nil {
		return "it can now, and could not a moment ago"
	}
	return words.Clip(strings.TrimSpace(string(out)), 300)
}

// mount is one entry of the view.
type mount struct {
	path string
	args []string // for bwrap
	rank int      // at one path, the highest counts
}

// Ranks of mounts.
const (
	shown = iota
	given // writable
	kept  // protected: read-only whatever it lies in
	gone  // hidden
)

// view is the file system that the tool has: bwrap's arguments.
func view(c *Call, exe string) []string {
	s := &c.Sandbox
	args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", "rye", "--die-with-parent", "--cap-drop", "ALL"}
	if !s.Net {
		args = append(args, "--unshare-net")
	}
	all := systemView()
	for _, p := range append(append([]string{c.Argv[0]}, s.Exec...), s.Read...) {
		all = append(all, bind(p, shown, "--ro-bind")...)
	}
	for _, p := range append(slices.Clone(s.Write), c.Temp) {
		all = append(all, bind(p, given, "--bind")...)
	}
	for _, p := range canonical(s.Protect) {
		if p != c.Temp {
			all = append(all, bind(p, kept, "--ro-bind")...)
		}
	}
	for _, p := range canonical(s.Hide) {
		all = append(all, hidden(p)...)
	}
	for _, m := range arrange(all, c.Temp) {
		args = append(args, m.args...)
	}
	if c.Dir != "" {
		args = append(args, "--dir", c.Dir) // nothing when it is there
	}
	return append(args, "--ro-bind", exe, innerPath, "--remount-ro", "/")
}

// systemView is what every program needs to start.
func systemView() []mount {
	all := []mount{
		{"/proc", []string{"--proc", "/proc"}, shown},
		{"/dev", []string{"--dev", "/dev"}, shown},
		{"/tmp", []string{"--tmpfs", "/tmp"}, shown},
	}
	for _, p := range append(slices.Clone(systemPaths), "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage") {
		all = append(all, bind(p, shown, "--ro-bind")...)
		if real := resolve(p); real != p && !within(real, "/usr") {
			all = append(all, bind(real, shown, "--ro-bind")...)
		}
	}
	return all
}

// bind shows a path. A link is shown as the link that it is, and one on the way
// gives nothing, as in S2.
func bind(p string, rank int, how string) []mount {
	if p == "" {
		return nil
	}
	p = filepath.Clean(p)
	info, err := os.Lstat(p)
	if err != nil || resolve(filepath.Dir(p)) != filepath.Dir(p) {
		return nil
	}
	if info.Mode()&os.ModeSymlink == 0 {
		return []mount{{p, []string{how, p, p}, rank}}
	}
	to, err := os.Readlink(p)
	if err != nil || rank != shown {
		return nil
	}
	return []mount{{p, []string{"--symlink", to, p}, shown}}
}

func hidden(p string) []mount {
	info, err := os.Lstat(p)
	switch {
	case err != nil || resolve(p) != p:
		return nil
	case info.IsDir():
		return []mount{{p, []string{"--tmpfs", p, "--remount-ro", p}, gone}}
	}
	return []mount{{p, []string{"--ro-bind", "/dev/null", p}, gone}}
}

// arrange puts parents before what lies in them and leaves out what changes
// nothing: paths that a parent shows already, and protection of what is not there.
func arrange(all []mount, temp string) []mount {
	slices.SortStableFunc(all, func(a, b mount) int {
		return cmp.Or(strings.Compare(a.path+"/", b.path+"/"), b.rank-a.rank)
	})
	var out []mount
	// around returns the innermost mount that path lies in.
	around := func(path string) (m mount, ok bool) {
		for i := len(out) - 1; i >= 0; i-- {
			if within(path, out[i].path) {
				return out[i], true
			}
		}
		return m, false
	}
	for _, m := range all {
		in, ok := around(m.path)
		switch {
		case ok && in.path == m.path, // a higher rank was first
			m.rank >= kept && !ok,                                      // not in view at all
			m.rank == kept && ok && in.rank == shown,                   // read-only already
			m.rank == given && ok && in.rank == given,                  // writable already
			m.rank == shown && ok && binds(in),                         // shown already, or more
			ok && in.rank == gone && m.path != temp,                    // hidden means hidden
			m.rank == given && ok && in.rank == kept && m.path != temp: // protected means protected
			continue
		}
		out = append(out, m)
	}
	return out
}

// binds reports whether m has the files of a place, and hides none.
func binds(m mount) bool {
	return m.args[0] == "--ro-bind" || m.args[0] == "--bind"
}

// becomeTool is the process inside: it never returns when all goes well.
func becomeTool() int {
	answer := os.NewFile(fdAnswer, "answer")
	unix.CloseOnExec(fdAnswer)
	err := confineSelf(answer)
	code := fault.CodeOf(err)
	fmt.Fprintf(answer, "%s %s\n", code, strings.ReplaceAll(err.Error(), "\n", " "))
	return 1
}

func confineSelf(answer *os.File) error {
	told := os.NewFile(fdOrders, "orders")
	var o orders
	if err := json.NewDecoder(told).Decode(&o); err != nil {
		return fault.New(fault.Failed, "read the orders: %w", err)
	}
	told.Close()
	if !o.Sealed {
		unix.Close(fdSealed)
	}
	c := &Call{Argv: o.Argv, Dir: o.Dir, Temp: o.Temp, Sandbox: o.Sandbox}
	c.Sandbox.Tier = S2
	if _, err := os.Stat(c.Argv[0]); err != nil {
		return startError(c, err)
	}
	if c.Dir != "" {
		if err := os.Chdir(c.Dir); err != nil {
			return startError(c, err)
		}
	}
	box, err := prepare(c)
	if err != nil {
		return err
	}
	defer box.close()
	runtime.LockOSThread() // what is confined is this thread, which becomes the tool
	if err := box.confine(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(answer, ready); err != nil {
		return err
	}
	for _, l := range box.limits {
		if err := l.lower(0); err != nil {
			return err
		}
	}
	return syscall.Exec(c.Argv[0], c.Argv, o.Env)
}

// softly asks the tool's processes to end. bwrap and the first process of its
// namespace are left out: with them everything would be killed at once.
func (lp *linuxProcess) softly() {
	told := false
	for _, pid := range marked(lp.mark) {
		if pid == lp.p.Pid || innerPid(pid) <= 1 {
			continue
		}
		told = unix.Kill(pid, unix.SIGTERM) == nil || told
	}
	if !told {
		unix.Kill(-lp.p.Pid, unix.SIGTERM)
	}
}

// innerPid is what a process is called in its own namespace; 0 when that is ours.
func innerPid(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	ids := strings.Fields(line)
	if len(ids) < 2 {
		return 0
	}
	n := 0
	fmt.Sscan(ids[len(ids)-1], &n)
	return n
}

// memoryFile is a file that lies nowhere, to be read from its beginning.
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
		return nil, errors.Join(err, f.Close())
	}
	// A program that is open for writing cannot be executed.
	r, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	return r, errors.Join(err, f.Close())
}
