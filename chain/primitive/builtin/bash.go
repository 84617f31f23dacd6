package builtin

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
)

// Bounds of a command. The default time and the output are RYE OS's.
const (
	defaultSeconds = 120
	mostSeconds    = 3600
	maxCommand     = 100_000 // bytes; a program takes 131,071 in one argument
	maxOutput      = 51200   // bytes kept of each stream
)

type bashParams struct {
	Command    string `json:"command"`
	Timeout    *int   `json:"timeout"` // seconds
	WorkingDir string `json:"working_dir"`
}

type bashAnswer struct {
	Success    bool   `json:"success"`
	ExitCode   int    `json:"exit_code"` // 128 + n when signal n ended it
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	Truncated  bool   `json:"truncated"` // the middle of a stream is a marker
	TimedOut   bool   `json:"timed_out,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Error      string `json:"error,omitempty"`
}

func (a bashAnswer) failed() bool { return !a.Success }

// bash runs one command in the sandbox of this process. The text is an unsigned parameter. So the
// policy analyses it first (Shell), and a person allows exactly this text.
func bash(ctx context.Context, in Input) (any, error) {
	var q bashParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(q.Command) == "":
		return nil, fault.New(fault.Usage, "parameters: command is empty")
	case strings.ContainsRune(q.Command, 0):
		return nil, fault.New(fault.Usage, "parameters: command holds a NUL byte, which a program cannot receive")
	case len(q.Command) > maxCommand:
		return nil, fault.New(fault.Limit, "parameters: command has %d bytes, at most %d are allowed", len(q.Command), maxCommand).Advise("write a script and run that")
	case in.Program == "":
		return nil, fault.New(fault.NotFound, "there is no bash here").Advise("install bash, or set RYE_BASH")
	}
	seconds, err := bounded("timeout", q.Timeout, defaultSeconds, 1, mostSeconds)
	if err != nil {
		return nil, err
	}
	dir, err := workingDir(in, q.WorkingDir)
	if err != nil {
		return nil, err
	}
	return runCommand(ctx, in.Program, q.Command, dir, time.Duration(seconds)*time.Second)
}

// workingDir returns a directory below the project, or the project.
func workingDir(in Input, path string) (string, error) {
	t, p, err := lookAt(in, path)
	if err != nil {
		return "", err
	}
	defer p.close()
	if !p.info.IsDir() {
		return "", fault.New(fault.Usage, "working_dir %q: it is a file", path)
	}
	return filepath.Join(t.base, filepath.FromSlash(p.rel)), nil
}

func runCommand(ctx context.Context, program, command, dir string, limit time.Duration) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	argv := []string{"-c", "--", command}
	if strings.Contains(filepath.Base(program), "bash") {
		argv = append([]string{"--noprofile", "--norc"}, argv...)
	}
	cmd := exec.CommandContext(ctx, program, argv...)
	stdout, stderr := primitive.NewExcerpt(maxOutput), primitive.NewExcerpt(maxOutput)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, stderr
	cmd.WaitDelay = 500 * time.Millisecond // for a child that keeps the output open after the end
	group(cmd)
	begun := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil, fault.New(fault.Failed, "start %s: %w", program, err)
	}
	a := bashAnswer{
		ExitCode: exitCode(cmd.ProcessState), Stdout: string(stdout.Bytes()), Stderr: string(stderr.Bytes()),
		Truncated: stdout.Dropped()+stderr.Dropped() > 0, DurationMS: time.Since(begun).Milliseconds(),
	}
	a.Success = a.ExitCode == 0
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a.Success, a.TimedOut = false, true
		a.Error = "stopped after its time limit of " + limit.String()
	}
	return a, nil
}
