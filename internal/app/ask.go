package app

import (
	"context"
	"errors"
	"io"
	"os/exec"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
)

// askEngine sends a question to the engine beside this program, to one of its faces, and
// returns the answer. doing names the action in errors.
func askEngine(ctx context.Context, doing string, question io.Reader, says io.Writer, face ...string) ([]byte, error) {
	path, err := beside(engineName)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, append([]string{"--for", build.This().ID}, face...)...)
	cmd.Stdin, cmd.Stderr = question, says
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return nil, fault.New(fault.Failed, "%s: %s ended with status %d", doing, path, exit.ExitCode()).Mend(build.Install)
	case err != nil:
		return nil, fault.New(fault.Failed, "%s: start %s: %w", doing, path, err).Mend(build.Install)
	}
	return out, nil
}

// failed is an error in an answer of the engine; the zero value is none.
type failed struct {
	Error string     `json:"error,omitempty"`
	Code  fault.Code `json:"code,omitempty"`
	Hint  string     `json:"hint,omitempty"`
}

func failedBy(err error) failed {
	return failed{Error: err.Error(), Code: fault.CodeOf(err), Hint: fault.HintOf(err).Encode()}
}

func (f failed) err() error {
	if f.Error == "" {
		return nil
	}
	return fault.New(f.Code, "%s", f.Error).With(fault.Decode(f.Hint))
}
