//go:build unix && !linux

package primitive

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func platformEnv() map[string]string { return nil }

type unixProcess struct {
	p *os.Process
	*child
}

func start(c *Call, env []string, files []*os.File) (process, []string, error) {
	if err := onlyS0(c); err != nil {
		return nil, nil, err
	}
	attr := &os.ProcAttr{Dir: c.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	p, err := os.StartProcess(c.Argv[0], c.Argv, attr)
	if err != nil {
		return nil, nil, err
	}
	return &unixProcess{p, waitFor(p)}, []string{
		"files, network and system calls are not restricted below S2",
		"resource limits and no_new_privs are not set below S1",
		"a process that starts its own session outlives the run: this system has no way to find it",
		"the program outlives rye when rye is killed: this system cannot tie them together",
	}, nil
}

func (u *unixProcess) signal(hard bool) {
	sig := unix.SIGTERM
	if hard {
		sig = unix.SIGKILL
	}
	unix.Kill(-u.p.Pid, sig)
}

// sweep comes after the wait here, because not every system can check for an ended child without
// reaping it. The group's id stays in use while a member lives. After the last member the call
// finds no process.
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
