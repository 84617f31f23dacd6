package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// The code for key services is linked into the engine, because it would slow every start
// of the front. So a signature by a key service is a call of the engine: one JSON object
// in, one out. The address is in that object and not an argument, which every user of
// the machine could read.

// KeyRequest asks the engine for a signature or, without a message, for the public key.
type KeyRequest struct {
	URI     string `json:"uri"`
	Message []byte `json:"message,omitempty"`
}

// KeyReply is the engine's answer, or its error.
type KeyReply struct {
	Public    string `json:"public,omitempty"`
	Signature []byte `json:"signature,omitempty"`
	Failed    failed `json:"failed,omitzero"`
}

// maxKeyExchange bounds a request and a reply, in bytes. A signed message is a
// statement of some hundred bytes, or a commit.
const maxKeyExchange = 8 << 20

// keyService signs through the engine beside this program.
func (a *App) keyService(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error) {
	in, err := json.Marshal(KeyRequest{URI: uri, Message: message})
	if err != nil {
		return rye.KeyAnswer{}, fault.New(fault.Failed, "sign with the key service: %w", err)
	}
	out, err := askEngine(ctx, "sign with the key service", bytes.NewReader(in), a.Screen.Err(), "keyservice") // a plug-in may ask for a touch there
	if errors.Is(err, context.DeadlineExceeded) {
		err = fault.New(fault.Auth, "sign with the key service: it does not answer: %w", err)
	}
	if err != nil {
		return rye.KeyAnswer{}, err
	}
	var reply KeyReply
	if err := json.Unmarshal(out, &reply); err != nil {
		return rye.KeyAnswer{}, fault.New(fault.Malformed, "sign with the key service: the engine's answer: %w", err)
	}
	return rye.KeyAnswer{Public: reply.Public, Signature: reply.Signature}, reply.Failed.err()
}

// ServeKeys is the engine's side. It reads the one request on standard input, and
// replies with the result of answer.
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
		reply = KeyReply{Failed: failedBy(err)}
	}
	return json.NewEncoder(os.Stdout).Encode(reply)
}
