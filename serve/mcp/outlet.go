package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// outlet writes messages to a client, each as a whole, in the order of the calls. It is safe for
// concurrent use.
type outlet interface {
	tell(message []byte) // a notification, or a question to the client
	answer(response)     // the answer to a request
}

// response is the answer to a request. The zero response is none: the client cancelled, or is gone.
type response struct {
	json []byte
	code int // JSON-RPC error code; 0 for a result
}

// lines is the outlet for a pair of pipes.
type lines struct {
	mu     sync.Mutex
	to     io.Writer
	broken func(error) // called when the client stops reading
}

func (l *lines) tell(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.to.Write(append(message, '\n')); err != nil {
		l.broken(err)
	}
}

func (l *lines) answer(r response) {
	if r.json != nil {
		l.tell(r.json)
	}
}

// batch is the outlet for the requests of one batch. It writes their answers together.
type batch struct {
	outlet
	mu      sync.Mutex
	left    int // answers still to come
	answers [][]byte
}

// maxBatch bounds the messages in a batch.
const maxBatch = 256

func (b *batch) answer(r response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.json != nil {
		b.answers = append(b.answers, r.json)
	}
	if b.left--; b.left > 0 {
		return
	}
	if len(b.answers) == 0 {
		b.outlet.answer(response{})
		return
	}
	b.outlet.answer(response{json: append(append([]byte("["), bytes.Join(b.answers, []byte(","))...), ']')})
}

// encode returns a message as JSON without HTML escapes.
func encode(message any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(message); err != nil {
		return nil, err
	}
	return plain(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func rpcError(id json.RawMessage, code int, why string) response {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	raw, _ := encode(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "error": map[string]any{"code": code, "message": why}})
	return response{raw, code} // only strings: always encodes
}
