package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/objects"
)

// What looks after threads is linked into the engine, because it would cost every start of the
// front. So a tool of the library that is about threads (chain/primitive/builtin, Served) is a
// call of the engine where the front runs it: one JSON object in, one out. Every gate has let
// it pass by then, here; the engine finds out itself on whose behalf it acts.

// ServeFace is the engine for one such call.
const ServeFace = "serve"

// maxServed bounds a call and its answer, in bytes.
const maxServed = 8 << 20

// servedReply is the engine's answer. Error is set when there is no other.
type servedReply struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
	Code  fault.Code      `json:"code,omitempty"`
	Hint  string          `json:"hint,omitempty"`
}

// serve has the engine beside this program do what a tool asks of rye itself.
func serve(ctx context.Context, a *App, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
	if !c.IsPerson() || a.Caller.IsInside() {
		return nil, notInside()
	}
	path, err := beside(engineName)
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	args := []string{"--for", build.This().ID, ServeFace, "--dir", a.Dir}
	if a.Offline {
		args = append(args, "--offline")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), a.Screen.Err()
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return nil, fault.New(fault.Failed, "%s ended with status %d", path, exit.ExitCode()).Mend(build.Install)
	case err != nil:
		return nil, fault.New(fault.Failed, "start %s: %w", path, err).Mend(build.Install)
	}
	var reply servedReply
	if err := objects.DecodeJSON(out, maxServed, &reply); err != nil {
		return nil, fault.New(fault.Malformed, "the engine's answer: %w", err)
	}
	if reply.Error != "" {
		return nil, fault.New(reply.Code, "%s", reply.Error).With(fault.Decode(reply.Hint))
	}
	return reply.Value, nil
}

// notInside refuses threads to what runs within a run.
func notInside() error {
	return fault.New(fault.Denied, "threads are not started or looked at within a run")
}

// ServeCall is the engine's side: it answers the one call on standard input by what answer
// makes of it.
func ServeCall(ctx context.Context, answer func(context.Context, rye.ServedCall) (json.RawMessage, error)) error {
	raw, err := io.ReadAll(io.LimitReader(os.Stdin, maxServed+1))
	if err != nil {
		return fault.New(fault.Failed, "read the call: %w", err)
	}
	var q rye.ServedCall
	if err := objects.DecodeJSON(raw, maxServed, &q); err != nil {
		return fault.New(fault.Malformed, "read the call: %w", err)
	}
	var reply servedReply
	if reply.Value, err = answer(ctx, q); err != nil {
		reply = servedReply{Error: err.Error(), Code: fault.CodeOf(err), Hint: fault.HintOf(err).Encode()}
	}
	return json.NewEncoder(os.Stdout).Encode(reply)
}
