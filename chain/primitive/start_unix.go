//go:build unix && !linux

package primitive

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// Only S0 exists here: these systems have no way to limit a child from outside
// before it runs, and their sandboxes are not spoken yet.
func best() Tier { return S0 }

func platformEnv() map[string]string { return nil }

// AdoptOrphans does nothing here: orphans go to the first process.
func AdoptOrphans() error { return nil }

type unixProcess struct {
	p     *os.Process
	done  chan struct{}
	state *os.ProcessState
	err   error
}

func start(c *Call, env []string, files []*os.File) (process, []string, error) {
	if c.Sandbox.Tier > S0 {
		return nil, nil, fault.New(fault.Denied, "run %s: %s is demanded and this system gives S0", c.Argv[0], c.Sandbox.Tier).Mend("rye doctor")
	}
	attr := &os.ProcAttr{Dir: c.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	p, err := os.StartProcess(c.Argv[0], c.Argv, attr)
	if err != nil {
		return nil, nil, err
	}
	u := &unixProcess{p: p, done: make(chan struct{})}
	go func() {
		u.state, u.err = p.Wait()
		close(u.done)
	}()
	return u, []string{
		"files, network and system calls are not restricted below S2",
		"resource limits and no_new_privs are not set below S1",
		"a process that starts its own session outlives the run: this system has no way to find it",
		"the program outlives rye when rye is killed: this system cannot tie them together",
	}, nil
}

func (u *unixProcess) confining() time.Duration { return 0 } // there is no sandbox

func (u *unixProcess) ended() <-chan struct{} { return u.done }

func (u *unixProcess) signal(hard bool) {
	sig := unix.SIGTERM
	if hard {
		sig = unix.SIGKILL
	}
	unix.Kill(-u.p.Pid, sig)
}

// sweep comes after the wait here, because not every system can look at an ended
// child without reaping it. The group's id stays taken while a member lives, and
// when none lives the call finds nobody.
func (u *unixProcess) sweep() { unix.Kill(-u.p.Pid, unix.SIGKILL) }

func (u *unixProcess) reap() (int, string, error) {
	if u.err != nil {
		return -1, "", u.err
	}
	ws, _ := u.state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal()), nil
	}
	return ws.ExitStatus(), "", nil
}
