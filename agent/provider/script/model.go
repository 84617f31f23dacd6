package script

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// A Model answers requests by a script. It is an http.RoundTripper, opens no connection, and is safe
// for concurrent use. The address of a request does not matter.
type Model struct {
	script *Script

	mu   sync.Mutex
	used map[*Entry]int64 // how many times a failure happened
}

// New returns the model of a script, which must not be nil.
func New(s *Script) *Model { return &Model{script: s, used: map[*Entry]int64{}} }

// Choose returns the first entry that answers p. The error says what p asks if there is none.
func (m *Model) Choose(p *Prompt) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.script.entries {
		if !e.when.holds(p) || e.times > 0 && m.used[e] >= e.times {
			continue
		}
		m.used[e]++
		return e, nil
	}
	return nil, p.unanswered()
}

// RoundTrip answers a request to Anthropic Messages, always as a stream. It waits where the script
// says so, and so does the body of the answer when it is read. Both end at once with the request's
// context.
func (m *Model) RoundTrip(r *http.Request) (*http.Response, error) {
	if t := httptrace.ContextClientTrace(r.Context()); t != nil && t.GotConn != nil {
		t.GotConn(httptrace.GotConnInfo{}) // from now on the client waits for an answer
	}
	var raw []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if raw, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	res, err := m.answer(r.Context(), raw)
	if err != nil {
		return nil, err
	}
	res.Request = r
	return res, nil
}

func (m *Model) answer(ctx context.Context, raw []byte) (*http.Response, error) {
	p, err := readPrompt(raw)
	if err != nil {
		return refuse(ctx, err)
	}
	e, err := m.Choose(p)
	if err != nil {
		return refuse(ctx, err)
	}
	f := e.Failure
	if f != nil && !f.MidStream {
		return e.Reply(ctx, f.Status, f.Header, f.document())
	}
	a, err := e.Answer(p)
	if err != nil {
		return refuse(ctx, err)
	}
	return e.Reply(ctx, http.StatusOK, EventStream, a.Events(f)...)
}

// refuse answers a request that the script cannot answer.
func refuse(ctx context.Context, err error) (*http.Response, error) {
	f := &Failure{Status: http.StatusBadRequest, Message: err.Error()}
	return (&Entry{stall: -1, cut: -1}).Reply(ctx, f.Status, nil, f.document())
}

// EventStream is the head of a stream. Any other answer is JSON unless its head says otherwise.
var EventStream = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}

// Reply waits, and returns an answer. Its body pauses between two pieces, stalls or breaks off. The
// entry sets each of these. The caller closes the body. Reply returns the error of ctx, or io.EOF if
// the connection closes before the head.
func (e *Entry) Reply(ctx context.Context, status int, header http.Header, pieces ...[]byte) (*http.Response, error) {
	if err := wait(ctx, e.wait); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	b := &body{ctx: ctx, stop: stop, pieces: pieces, pace: e.pace, left: max(e.stall, e.cut), stalls: e.stall >= 0}
	if b.left == 0 {
		defer stop()
		if err := b.halt(); err != io.ErrUnexpectedEOF {
			return nil, err
		}
		return nil, io.EOF
	}
	res := &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: b, ContentLength: -1}
	maps.Copy(res.Header, header)
	return res, nil
}
