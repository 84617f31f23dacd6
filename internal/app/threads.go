package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/network"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/workspace"
)

// ThreadFace is the face of the engine for the process of one thread.
const ThreadFace = "thread"

// ThreadProcess is the started process of a thread.
type ThreadProcess struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	says chan string // its one line, "" if it ended without one
}

// The lines between the process of a thread and its starter, one in each direction. The
// process continues only after threadGo: if the starter died, no unknown thread runs.
const (
	threadReady = "ready"
	threadGo    = "go"
)

// maxThreadLine bounds each of these lines, in bytes.
const maxThreadLine = 2 << 20

// SpawnThread starts the process of a thread in a new session, so that it survives the closing
// of the terminal. handed goes through a pipe, so no secret is in the arguments or the
// environment. dir is the directory of the thread's project.
func (a *App) SpawnThread(dir, id string, handed []byte) (*ThreadProcess, error) {
	p, err := a.ThreadAhead(dir)
	if err != nil {
		return nil, fault.Wrap(err, "thread %s", id)
	}
	return p, p.Hand(id, handed)
}

// ThreadAhead starts the process of a thread that is still being made. The process waits for
// Hand. It ends after Drop, or when this process ends.
func (a *App) ThreadAhead(dir string) (*ThreadProcess, error) {
	path, err := beside(engineName)
	if err != nil {
		return nil, err
	}
	args := []string{"--for", build.This().ID, ThreadFace, "--dir", dir}
	if a.Offline {
		args = append(args, "--offline")
	}
	p := &ThreadProcess{cmd: exec.Command(path, args...), says: make(chan string, 1)}
	p.cmd.Dir, p.cmd.Env, p.cmd.SysProcAttr = dir, threadEnv(os.Environ()), ownSession()
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fault.New(fault.Failed, "start the process of a thread: %w", err)
	}
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		p.says <- strings.TrimSuffix(line, "\n")
		_ = p.cmd.Wait() // it outlives this process, or its lease shows the result
	}()
	return p, nil
}

// Hand gives the process its thread.
func (p *ThreadProcess) Hand(id string, handed []byte) error {
	if _, err := p.in.Write(append(handed, '\n')); err != nil {
		return fault.New(fault.Failed, "start the process of thread %s: %w", id, err)
	}
	return nil
}

// Drop ends a process that got no thread.
func (p *ThreadProcess) Drop() { p.in.Close() }

// threadVars are the variables that the process of a thread gets, besides those of the user's
// network settings: directories and the user's choices, but no key and no token.
var threadVars = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SHELL",
	"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "RYE_USER", "USER_SPACE", "RYE_PYTHON", "RYE_NODE", "RYE_BASH", "RYE_SH"}

func threadEnv(environ []string) (env []string) {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(threadVars, name) || network.Names(name) || strings.HasPrefix(name, "LC_") || name == primitive.RunVar {
			env = append(env, kv)
		}
	}
	return env
}

// Ready waits until the process holds its lease. If the process ends instead, the error is its
// reason.
func (p *ThreadProcess) Ready(ctx context.Context) error {
	select {
	case <-ctx.Done():
		p.in.Close()
		return context.Cause(ctx)
	case line := <-p.says:
		if line == threadReady {
			return nil
		}
		p.in.Close()
		return threadRefusal(line)
	}
}

// threadRefusal reads the error of a process that ended: code, message and hint.
func threadRefusal(line string) error {
	f := strings.Split(line, "\t")
	if len(f) != 3 {
		return fault.New(fault.Failed, "the thread's process ended without a message")
	}
	return fault.New(fault.Code(f[0]), "%s", f[1]).With(fault.Decode(f[2]))
}

// Go lets the process begin.
func (p *ThreadProcess) Go() error {
	_, err := io.WriteString(p.in, threadGo+"\n")
	return errors.Join(err, p.in.Close())
}

// Pid returns the id of the process.
func (p *ThreadProcess) Pid() int { return p.cmd.Process.Pid }

// A ThreadRunner runs the thread in handed. It calls ready when it holds the lease.
type ThreadRunner interface {
	Run(ctx context.Context, handed []byte, ready func() error) error
}

// ServeThread is the side of the thread's process. It hardens the process, calls prepare,
// reads the thread from standard input, and runs it.
func ServeThread(ctx context.Context, prepare func() (ThreadRunner, error)) error {
	if err := harden(); err != nil { // before anything secret is read
		return err
	}
	runner, unready := prepare()
	in := bufio.NewReaderSize(io.LimitReader(os.Stdin, maxThreadLine), 64<<10)
	handed, err := in.ReadBytes('\n')
	if err != nil {
		return fault.New(fault.Usage, "only rye thread start can start a thread")
	}
	began := false
	if unready != nil {
		return refuseThread(unready)
	}
	err = runner.Run(ctx, handed, func() error {
		fmt.Println(threadReady)
		line, err := in.ReadString('\n')
		if err != nil || line != threadGo+"\n" {
			return fault.New(fault.Interrupt, "the process that started this thread has ended")
		}
		began = true
		return nil
	})
	if err != nil && !began {
		return refuseThread(err)
	}
	return err
}

// refuseThread tells the starter why the thread does not begin.
func refuseThread(err error) error {
	flat := func(s string) string { return strings.Map(flatten, s) }
	fmt.Printf("%s\t%s\t%s\n", fault.CodeOf(err), flat(err.Error()), flat(fault.HintOf(err).Encode()))
	return nil
}

func flatten(r rune) rune {
	if r == '\t' || r == '\n' || r == '\r' {
		return ' '
	}
	return r
}

// ThreadOptions returns the options of the workspace in the process of a thread. A model drives
// it, so there is no person to ask, and no key can be opened.
func (a *App) ThreadOptions() workspace.Options {
	o := a.Options()
	o.Consent, o.Passphrase, o.KeyService, o.Progress, o.Notice = nil, nil, nil, nil, nil
	return o
}

// AIOf returns the .ai of the run's project; "" without a project.
func AIOf(a *App) string {
	if a.Project == "" {
		return ""
	}
	return filepath.Join(a.Project, ".ai")
}

// LedgerPath returns the path of the user's ledger; "" without a data directory.
func (a *App) LedgerPath() string {
	if a.Data == "" {
		return ""
	}
	return filepath.Join(a.Data, "ledger", "ledger.db")
}

// Answered reports whether a person answered a question, and whether with yes. A question that
// no longer exists ended without a yes.
func Answered(ctx context.Context, w *workspace.Workspace, id string) (answered, yes bool, err error) {
	all, err := w.Policy().Questions(ctx, rye.Terminal())
	if err != nil {
		return false, false, err
	}
	for _, q := range all {
		if q.ID == id {
			return q.Answer != "", q.Answer == "yes", nil
		}
	}
	return true, false, nil
}

// BootID identifies this boot of the machine; "" if the system has no such id.
func BootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
