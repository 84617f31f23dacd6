package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// However a run ends, nothing of it is left: no process, and no file that another program would run by
// itself. A person is told of such a file until there is an answer. The table of endings is in
// endings_table_linux_test.go.

// scene is a project whose tool plants a file, starts a child that it leaves, and does not end. With
// "stubborn" it does not hear SIGTERM, with "loud" it prints without end. asks is the same tool,
// which a person is asked about.
type scene struct {
	*home
	t    *testing.T
	mark string // in the arguments of the child
}

const planting = `mark=${RYE_PARAM_X%%,*}
for end in rc; do echo evil > ".env$end"; done
case $RYE_PARAM_X in *stubborn*) trap '' TERM HUP INT;; esac
(exec -a "$mark" sleep 300) &
disown
touch begun
case $RYE_PARAM_X in *brief*) exit 0;; *soon*) sleep 0.3; exit 0;; esac
while :; do case $RYE_PARAM_X in *loud*) echo tick;; esac; sleep 0.02; done
`

func newScene(t *testing.T) *scene {
	t.Helper()
	needBash(t)
	if signal.Ignored(syscall.SIGHUP) { // under nohup; what tests start would ignore it, too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	h := newHome(t)
	h.env = append(h.env, "TMPDIR="+filepath.Join(filepath.Dir(h.dir), "tmp"))
	if err := os.Mkdir(h.variable("TMPDIR"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &scene{home: h, t: t, mark: fmt.Sprintf("rye-test-child-%d-%d", os.Getpid(), time.Now().UnixNano())}
	s.bash("plant", "{read: [.], write: [.]}", planting)
	s.bash("asks", "{read: [.], write: [.]}", "true || rm -rf src\n"+planting)
	return s
}

// begun waits until the tool has planted.
func (s *scene) begun() {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.dir, "begun")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal("the tool did not begin")
		}
	}
}

// children are the processes of the run.
func (s *scene) children() (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range all {
		if raw, err := os.ReadFile(p); err == nil && strings.HasPrefix(string(raw), s.mark+"\x00") {
			pids = append(pids, p)
		}
	}
	return pids
}

// within waits for a condition.
func (s *scene) within(most time.Duration, what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(most); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Errorf("%s, after %v", what, most)
			return
		}
	}
}

// clean checks that nothing is left, and that a person is told. killed is set where rye could do nothing:
// then the next command does.
func (s *scene) clean(planted, killed bool) {
	s.t.Helper()
	s.within(10*time.Second, "a process of the run lives", func() bool { return len(s.children()) == 0 })
	if killed {
		if _, said := s.exit("list"); planted && !strings.Contains(said, "(rye was killed), and was moved away") {
			s.t.Errorf("the next command says %q", said)
		}
	}
	s.within(5*time.Second, "the file is still there", func() bool {
		_, err := os.Lstat(filepath.Join(s.dir, ".envrc"))
		return err != nil
	})
	cache := strings.TrimSpace(s.rye("where", "cache"))
	s.within(5*time.Second, "a note of the run is left", func() bool {
		notes, err := filepath.Glob(filepath.Join(cache, "ward", "*.run-*"))
		return err == nil && len(notes) == 0
	})
	s.nothingLeft()
	told := func() bool { _, said := s.exit("status"); return strings.Contains(said, ".envrc appeared while ") }
	if !planted {
		if told() {
			s.t.Error("a file is reported that nothing planted")
		}
		return
	}
	for range 2 {
		if !told() {
			s.t.Error("rye status does not report the file")
		}
	}
	s.rye("restore", "--taken", "--dismiss")
	if told() {
		s.t.Error("a dismissed notice is reported")
	}
	s.t.Helper()
	os.Remove(filepath.Join(s.dir, "begun"))
}

// nothingLeft checks what a run has besides its files: directories, mounts and temporary files. rye makes no
// cgroup.
func (s *scene) nothingLeft() {
	s.t.Helper()
	cache := strings.TrimSpace(s.rye("where", "cache"))
	s.within(5*time.Second, "a directory of a run is left", func() bool {
		var dirs []string
		all, _ := filepath.Glob(filepath.Join(cache, "run", "*"))
		for _, p := range all {
			if st, err := os.Lstat(p); err == nil && st.IsDir() {
				dirs = append(dirs, p)
			}
		}
		return len(dirs) == 0
	})
	s.within(5*time.Second, "a temporary file is left", func() bool {
		all, err := os.ReadDir(s.variable("TMPDIR"))
		return err == nil && len(all) == 0
	})
	if raw, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(raw), filepath.Dir(s.dir)+"/") {
		s.t.Error("a mount is left, ", err)
	}
}

// An ending is what happens to a process of rye.
type ending struct {
	name   string
	does   func(s *scene, r *ryeProcess)
	most   time.Duration                 // until rye has ended; 0 is 5 s
	how    string                        // the tool's manner
	killed bool                          // rye can do nothing, and the next command does it
	gone   bool                          // nobody reads the terminal, as a reader would hold it
	piped  bool                          // its output is a pipe, and its input a terminal
	first  func(s *scene, r *ryeProcess) // before the tool begins
}

// ryeProcess is a rye at work, with what is at its other ends.
type ryeProcess struct {
	cmd    *exec.Cmd
	master *os.File      // of its terminal; nil
	in     io.Closer     // its standard input; nil
	out    io.Closer     // the end of its output that is read; nil
	ended  chan struct{} // closed when it has ended
}

func (r *ryeProcess) signal(all ...syscall.Signal) {
	for _, sig := range all {
		r.cmd.Process.Signal(sig)
		time.Sleep(30 * time.Millisecond)
	}
}

func signals(all ...syscall.Signal) func(*scene, *ryeProcess) {
	return func(_ *scene, r *ryeProcess) { r.signal(all...) }
}

// killTree kills a process and all below it.
func killTree(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP) // so that it starts no more, and notices nothing
	raw, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range raw {
		text, _ := os.ReadFile(file)
		for _, f := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(f, &child); err == nil {
				killTree(child)
			}
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// endsIn ends a rye, and waits for it.
func (s *scene) endsIn(r *ryeProcess, e ending) {
	s.t.Helper()
	if r.master != nil && !e.gone {
		go io.Copy(io.Discard, r.master)
	}
	e.does(s, r)
	most := e.most
	if most == 0 {
		most = 5 * time.Second
	}
	select {
	case <-r.ended:
	case <-time.After(slack(most)):
		s.t.Errorf("rye has not ended after %v", most)
		killTree(r.cmd.Process.Pid)
		<-r.ended
	}
	if r.master != nil {
		r.master.Close()
	}
}

// slack is a time on a busy machine.
func slack(d time.Duration) time.Duration { return d + 3*time.Second }

// at starts a command at a terminal of its own.
func (s *scene) at(args ...string) *ryeProcess {
	s.t.Helper()
	master, slave := openPTY(s.t)
	cmd := s.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return s.begin(cmd, &ryeProcess{master: master}, slave)
}

func (s *scene) begin(cmd *exec.Cmd, r *ryeProcess, theirs ...io.Closer) *ryeProcess {
	s.t.Helper()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range theirs {
		c.Close()
	}
	r.cmd, r.ended = cmd, make(chan struct{})
	go func() { cmd.Wait(); close(r.ended) }()
	s.t.Cleanup(func() { killTree(cmd.Process.Pid); <-r.ended })
	return r
}

// shows waits until a terminal shows a text.
func (r *ryeProcess) shows(t *testing.T, text string) {
	t.Helper()
	var all strings.Builder
	buf := make([]byte, 4096)
	r.master.SetReadDeadline(time.Now().Add(30 * time.Second))
	for !strings.Contains(all.String(), text) {
		n, err := r.master.Read(buf)
		if all.Write(buf[:n]); err != nil {
			t.Fatalf("no %q at the terminal: %v\n%s", text, err, all.String())
		}
	}
}

func types(text string) func(*scene, *ryeProcess) {
	return func(_ *scene, r *ryeProcess) { r.master.WriteString(text) }
}

// mcpClient starts rye mcp over pipes, and calls a tool.
func (s *scene) mcpClient(tool, how string) (*ryeProcess, *bufio.Reader) {
	s.t.Helper()
	cmd := s.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout = theirs
	r := s.begin(cmd, &ryeProcess{in: in, out: out}, theirs)
	answers := bufio.NewReader(out)
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`+"\n")
	if _, err := answers.ReadString('\n'); err != nil {
		s.t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"acme/%s","parameters":{"x":%q}}}}`, tool, s.mark+","+how)+"\n")
	return r, answers
}

func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(raw), ") Z ")
}
