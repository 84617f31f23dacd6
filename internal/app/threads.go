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
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/workspace"
)

// ThreadFace is the engine as the process of one thread.
const ThreadFace = "thread"

// ThreadProcess is a process of a thread that was started.
type ThreadProcess struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	says chan string // its one line, "" where it ended without
}

// What the process of a thread and whoever starts it say to each other, a line each. It goes
// on only when it is told to: where the starter died, no thread runs that nobody knows of.
const (
	threadReady = "ready"
	threadGo    = "go"
)

// maxThreadLine bounds a line between the two, in bytes.
const maxThreadLine = 2 << 20

// SpawnThread starts the process of a thread, in a session of its own, so that it lives on
// when the terminal closes. What it is handed travels by a pipe: neither arguments nor the
// environment hold a secret. dir is its project's.
func (a *App) SpawnThread(dir, id string, handed []byte) (*ThreadProcess, error) {
	p, err := a.ThreadAhead(dir)
	if err != nil {
		return nil, fault.Wrap(err, "thread %s", id)
	}
	return p, p.Hand(id, handed)
}

// ThreadAhead starts the process of a thread that is still being made. It waits for what it is
// handed, and ends when it is dropped, or when this process does.
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
		_ = p.cmd.Wait() // it outlives us, or says by its lease how it went
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

// Drop ends a process that was handed nothing.
func (p *ThreadProcess) Drop() { p.in.Close() }

// threadVars are the variables that the process of a thread gets: where things lie, how hosts
// are reached, and what a person chose; no key and no token.
var threadVars = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SHELL",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "RYE_USER", "USER_SPACE", "RYE_PYTHON", "RYE_NODE", "RYE_BASH", "RYE_SH"}

func threadEnv(environ []string) (env []string) {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(threadVars, name) || strings.HasPrefix(name, "LC_") || name == primitive.RunVar {
			env = append(env, kv)
		}
	}
	return env
}

// Ready waits until the process holds its lease. A process that ends says why.
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

// threadRefusal reads why a process ended: its code, its message and its hint.
func threadRefusal(line string) error {
	f := strings.Split(line, "\t")
	if len(f) != 3 {
		return fault.New(fault.Failed, "the process of the thread ended without a word")
	}
	err := fault.New(fault.Code(f[0]), "%s", f[1])
	if h, ok := strings.CutPrefix(f[2], "run "); ok {
		return err.Mend("%s", h)
	}
	return err
}

// Go lets the process begin.
func (p *ThreadProcess) Go() error {
	_, err := io.WriteString(p.in, threadGo+"\n")
	return errors.Join(err, p.in.Close())
}

// Pid is the process's.
func (p *ThreadProcess) Pid() int { return p.cmd.Process.Pid }

// A ThreadRunner runs the thread that it is handed. ready is to be called when the lease is
// held.
type ThreadRunner interface {
	Run(ctx context.Context, handed []byte, ready func() error) error
}

// ServeThread is the other side: it hardens this process, makes ready what threads need,
// reads which thread it is handed, and runs it.
func ServeThread(ctx context.Context, prepare func() (ThreadRunner, error)) error {
	if err := harden(); err != nil { // before anything secret is read
		return err
	}
	runner, unready := prepare()
	in := bufio.NewReaderSize(io.LimitReader(os.Stdin, maxThreadLine), 64<<10)
	handed, err := in.ReadBytes('\n')
	if err != nil {
		return fault.New(fault.Usage, "a thread is started by rye thread start")
	}
	began := false
	if unready != nil {
		return refuseThread(unready)
	}
	err = runner.Run(ctx, handed, func() error {
		fmt.Println(threadReady)
		line, err := in.ReadString('\n')
		if err != nil || line != threadGo+"\n" {
			return fault.New(fault.Interrupt, "whoever started this thread is gone")
		}
		began = true
		return nil
	})
	if err != nil && !began {
		return refuseThread(err)
	}
	return err
}

// refuseThread tells whoever starts the thread why it does not begin.
func refuseThread(err error) error {
	hint := ""
	if h := fault.HintOf(err); !h.IsZero() {
		hint = "run " + h.String()
	}
	flat := func(s string) string { return strings.Map(flatten, s) }
	fmt.Printf("%s\t%s\t%s\n", fault.CodeOf(err), flat(err.Error()), flat(hint))
	return nil
}

func flatten(r rune) rune {
	if r == '\t' || r == '\n' || r == '\r' {
		return ' '
	}
	return r
}

// ThreadOptions are the options of the workspace in the process of a thread: a model drives it,
// so nobody is there to be asked, and no key can be opened.
func (a *App) ThreadOptions() workspace.Options {
	o := a.Options()
	o.Consent, o.Passphrase, o.KeyService, o.Progress, o.Notice = nil, nil, nil, nil, nil
	return o
}

// AIOf is the .ai of the run's project; "" where there is none.
func AIOf(a *App) string {
	if a.Project == "" {
		return ""
	}
	return filepath.Join(a.Project, ".ai")
}

// LedgerPath is where the user's ledger lies; "" where there is no data directory.
func (a *App) LedgerPath() string {
	if a.Data == "" {
		return ""
	}
	return filepath.Join(a.Data, "ledger", "ledger.db")
}

// Answered tells whether a person answered a question, and how. One that is not there any more
// ended without a yes.
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

// BootID names this start of the machine; "" where the system does not.
func BootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
