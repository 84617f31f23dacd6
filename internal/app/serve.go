package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
)

// The code for threads is linked into the engine, because it would slow every start of the
// front. So when the front runs a tool of the library for threads (chain/primitive/builtin,
// Served), it calls the engine: one JSON object in, one out. The front has checked every gate
// before the call. The engine determines its caller itself.

// ServeFace is the face of the engine for one such call.
const ServeFace = "serve"

// maxServed bounds a call and its answer, in bytes.
const maxServed = 8 << 20

// servedReply is the engine's answer: a value or an error.
type servedReply struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Failed failed          `json:"failed,omitzero"`
}

// serve passes a tool's call to the engine beside this program.
func serve(ctx context.Context, a *App, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
	if !c.IsPerson() || a.Caller.IsInside() {
		return nil, notInside()
	}
	in, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	face := []string{ServeFace, "--dir", a.Dir}
	if a.Offline {
		face = append(face, "--offline")
	}
	out, err := askEngine(ctx, "look after threads", bytes.NewReader(in), a.Screen.Err(), face...)
	if err != nil {
		return nil, err
	}
	var reply servedReply
	if err := strict.Decode(out, maxServed, &reply); err != nil {
		return nil, fault.New(fault.Malformed, "the engine's answer: %w", err)
	}
	return reply.Value, reply.Failed.err()
}

// notInside refuses threads to callers within a run.
func notInside() error {
	return fault.New(fault.Denied, "a run can neither start nor inspect threads")
}

// ServeCall is the engine's side. It reads the one call on standard input, and replies with the
// result of answer.
func ServeCall(ctx context.Context, answer func(context.Context, rye.ServedCall) (json.RawMessage, error)) error {
	raw, err := io.ReadAll(io.LimitReader(os.Stdin, maxServed+1))
	if err != nil {
		return fault.New(fault.Failed, "read the call: %w", err)
	}
	var q rye.ServedCall
	if err := strict.Decode(raw, maxServed, &q); err != nil {
		return fault.New(fault.Malformed, "read the call: %w", err)
	}
	var reply servedReply
	if reply.Value, err = answer(ctx, q); err != nil {
		reply = servedReply{Failed: failedBy(err)}
	}
	return json.NewEncoder(os.Stdout).Encode(reply)
}
