package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// outlet is where messages for a client go, each whole, in the order of the calls. It is
// safe for concurrent use.
type outlet interface {
	tell(message []byte) // a notification, or a question to the client
	answer(response)     // what a request came to
}

// response is what a request came to. The zero response is none: the client cancelled, or is
// gone.
type response struct {
	json []byte
	code int // of JSON-RPC; 0 is a result
}

// lines is the outlet of a pair of pipes.
type lines struct {
	mu     sync.Mutex
	to     io.Writer
	broken func(error) // the client does not read any more
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

// batch is the outlet of the requests of one batch, whose answers go out together.
type batch struct {
	outlet
	mu      sync.Mutex
	left    int // answers that have not come
	answers [][]byte
}

// maxBatch bounds how many messages a batch has.
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

// encode is a message's JSON, in which no text is escaped for the sake of HTML.
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
	return response{raw, code} // of texts: it always encodes
}
