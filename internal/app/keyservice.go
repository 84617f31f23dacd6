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
)

// What speaks to key services is linked into the engine, because it would cost
// every start of the front. So a signature by one is a call of the engine: one
// JSON object in, one out. The address goes that way, too, and not as an argument,
// which every user of the machine could read.

// KeyRequest asks the engine for a signature, or without a message for the key.
type KeyRequest struct {
	URI     string `json:"uri"`
	Message []byte `json:"message,omitempty"`
}

// KeyReply is the engine's answer. Error is set when there is no other.
type KeyReply struct {
	Public    string     `json:"public,omitempty"`
	Signature []byte     `json:"signature,omitempty"`
	Error     string     `json:"error,omitempty"`
	Code      fault.Code `json:"code,omitempty"`
	Hint      string     `json:"hint,omitempty"`
}

// maxKeyExchange bounds a request and a reply, in bytes. What is signed is a
// statement of some hundred bytes, or a commit.
const maxKeyExchange = 8 << 20

// keyService signs through the engine beside this program.
func (a *App) keyService(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error) {
	path, err := beside(engineName)
	if err != nil {
		return rye.KeyAnswer{}, err
	}
	in, err := json.Marshal(KeyRequest{URI: uri, Message: message})
	if err != nil {
		return rye.KeyAnswer{}, fault.New(fault.Failed, "sign with the key service: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, "--for", build.This().ID, "keyservice")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), a.Screen.Err() // where a plug-in says what to touch
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return rye.KeyAnswer{}, fault.New(fault.Auth, "sign with the key service: it does not answer: %w", ctx.Err())
	case ctx.Err() != nil:
		return rye.KeyAnswer{}, ctx.Err()
	case errors.As(err, &exit):
		return rye.KeyAnswer{}, fault.New(fault.Failed, "sign with the key service: %s ended with status %d", path, exit.ExitCode()).Mend(build.Install)
	case err != nil:
		return rye.KeyAnswer{}, fault.New(fault.Failed, "start %s: %w", path, err).Mend(build.Install)
	}
	var reply KeyReply
	if err := json.Unmarshal(out, &reply); err != nil {
		return rye.KeyAnswer{}, fault.New(fault.Malformed, "sign with the key service: the engine's answer: %w", err)
	}
	if reply.Error != "" {
		return rye.KeyAnswer{}, fault.New(reply.Code, "%s", reply.Error).With(fault.Decode(reply.Hint))
	}
	return rye.KeyAnswer{Public: reply.Public, Signature: reply.Signature}, nil
}

// ServeKeys is the engine's side: it answers the one request on standard input by
// what answer makes of it.
func ServeKeys(ctx context.Context, answer func(context.Context, KeyRequest) (KeyReply, error)) error {
	raw, err := io.ReadAll(io.LimitReader(os.Stdin, maxKeyExchange+1))
	if err != nil {
		return fault.New(fault.Failed, "read the request: %w", err)
	}
	if len(raw) > maxKeyExchange {
		return fault.New(fault.Limit, "the request has more than %d bytes", maxKeyExchange)
	}
	var q KeyRequest
	if err := json.Unmarshal(raw, &q); err != nil {
		return fault.New(fault.Malformed, "read the request: %w", err)
	}
	reply, err := answer(ctx, q)
	if err != nil {
		reply = KeyReply{Error: err.Error(), Code: fault.CodeOf(err), Hint: fault.HintOf(err).Encode()}
	}
	return json.NewEncoder(os.Stdout).Encode(reply)
}
