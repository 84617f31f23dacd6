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
	argv, unbound, err := belted(c)
	if err != nil {
		return nil, nil, err
	}
	attr := &os.ProcAttr{Dir: c.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	p, err := os.StartProcess(argv[0], argv, attr)
	if err != nil {
		return nil, nil, err
	}
	return &unixProcess{p, waitFor(p)}, append(unbound,
		"a process that starts its own session outlives the run: this system has no way to find it",
		"the program outlives rye when rye is killed: this system cannot tie them together",
	), nil
}

// belted returns the command of a call, under a Seatbelt profile where there is one, and the limits
// that do not bind. The tier stays S0: nobody has shown that the profile holds.
func belted(c *Call) (argv, unbound []string, err error) {
	if noSeatbelt() != "" {
		return c.Argv, unconfined(&c.Sandbox), nil
	}
	if _, err := os.Stat(c.Argv[0]); err != nil { // else sandbox-exec would report it, with a status of its own
		return nil, nil, err
	}
	p, err := seatbelt(c, resolve)
	if err != nil {
		return nil, nil, err
	}
	return p.argv(c.Argv), unconfined(&c.Sandbox), nil
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
