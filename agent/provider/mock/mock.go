// Package mock is a scripted model: a server on loopback that answers from a script,
// streamed or not, as Anthropic Messages (POST /v1/messages) and OpenAI Chat Completions
// (POST /v1/chat/completions) do. It stands in for a model where there is no network, in
// examples and in tests.
//
//	turns:
//	  - say: [Let me, " see."]
//	    calls:
//	      - {name: read_file, args: {path: notes.txt}}
//	  - say: "It says: ${result.0.text}"
//
// The script has no state: the request alone selects the entry, mostly by the number of the model's
// turns in it. So an interrupted thread that asks again gets the same answer, byte for byte. There
// are two exceptions: a failure with times, and the cache if the script counts it.
//
// Requests are checked as the services check them: only known members, an answer to every call,
// unchanged thinking. Refusals use the words of the services. Without these checks a thread could
// pass its tests with requests that the real service refuses.
//
// docs/format/mock.md is normative.
package mock

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye"
)

// Bounds of requests.
const (
	maxRequest   = 32 << 20 // bytes of one request (Anthropic, "Request size limits")
	mostRequests = 1000     // requests that are kept
	mostKept     = 64 << 20 // bytes of their bodies
	bodyTime     = 30 * time.Second
)

// A Model answers requests by a script. It is safe for concurrent use.
type Model struct {
	script *Script
	cache  cache

	mu   sync.Mutex
	used map[string]int64 // how many times a failure happened, by the path of its entry
	seen []*Request
	kept int64 // bytes of the bodies in seen
}

// A Request is a request that a Model received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Status       int    // of the answer; 0 before it, and when no head is sent
	Entry        string // path of the entry that answered, "turns.0"; "" for none
	Turn         int    // of the model, from 1; 0 when the request was refused
	Digest       string // of the prompt; "" when the request was refused
}

// New returns the model of a script, which must not be nil. The caller chooses the server and its
// address; Serve listens on loopback.
func New(s *Script) *Model { return &Model{script: s, used: map[string]int64{}} }

// Requests returns the requests so far, in the order in which they were read. It keeps the last
// 1,000, up to 64 MiB of bodies. The caller must not change headers and bodies.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Request, len(m.seen))
	for i, r := range m.seen {
		out[i] = *r
	}
	return out
}

func (m *Model) record(r *Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, r)
	m.kept += int64(len(r.Body))
	for len(m.seen) > mostRequests || m.kept > mostKept {
		m.kept -= int64(len(m.seen[0].Body))
		m.seen = slices.Delete(m.seen, 0, 1)
	}
}

// A service has the functions that differ between the two formats.
type service struct {
	read   func(http.Header, any) (*prompt, *refusal)
	refuse func(*refusal) any
	key    func(http.Header) string
	id     string // header with the request's id
	send   func(*answer, *prompt, *body, *refusal) error
}

var services = map[string]*service{
	"/v1/messages": {
		read: readAnthropic, refuse: (*refusal).anthropic, id: "request-id",
		key: func(h http.Header) string { return h.Get("x-api-key") },
		send: func(a *answer, p *prompt, b *body, failed *refusal) error {
			if p.stream {
				return a.streamAnthropic(b, failed)
			}
			return a.wholeAnthropic(b)
		},
	},
	"/v1/chat/completions": {
		read: readOpenAI, refuse: (*refusal).openAI, id: "x-request-id",
		key: func(h http.Header) string {
			key, _ := strings.CutPrefix(h.Get("authorization"), "Bearer ")
			return key
		},
		send: func(a *answer, p *prompt, b *body, failed *refusal) error {
			if p.stream {
				return a.streamOpenAI(b, failed, p.counted)
			}
			return a.wholeOpenAI(b)
		},
	},
}

// ServeHTTP answers one request.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"] = nil // so that equal requests get equal bytes
	s, known := services[r.URL.Path]
	if !known {
		s = services["/v1/chat/completions"]
		if r.Header.Get("anthropic-version") != "" {
			s = services["/v1/messages"]
		}
	}
	x := &exchange{m: m, s: s, w: w, r: r, req: &Request{Method: r.Method, Path: r.URL.Path, Header: maps.Clone(r.Header)}}
	switch {
	case !known:
		m.record(x.req)
		x.refuse(&refusal{status: http.StatusNotFound, kind: "not_found_error", message: "the mock model has POST /v1/messages and /v1/chat/completions"})
	case r.Method != http.MethodPost:
		m.record(x.req)
		x.refuse(&refusal{status: http.StatusMethodNotAllowed, message: "want POST"})
	default:
		x.post()
	}
}

// An exchange is one request and its answer.
type exchange struct {
	m   *Model
	s   *service
	w   http.ResponseWriter
	r   *http.Request
	req *Request // recorded; note sets later fields
}

// note sets a field of the recorded request, which other goroutines may be reading.
func (x *exchange) note(set func(*Request)) {
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	set(x.req)
}

func (x *exchange) post() {
	raw, refused := x.body()
	x.req.Body = raw
	x.m.record(x.req)
	if refused != nil {
		x.refuse(refused)
		return
	}
	sum := sha256.Sum256(raw)
	x.w.Header().Set(x.s.id, "req_"+hex.EncodeToString(sum[:12]))
	p, refused := x.prompt(raw)
	if refused != nil {
		x.refuse(refused)
		return
	}
	x.note(func(r *Request) { r.Turn, r.Digest = p.turn(), p.digest })
	e := x.m.choose(p)
	if e == nil {
		x.refuse(x.m.script.nothing(p))
		return
	}
	x.note(func(r *Request) { r.Entry = e.path })
	if wait(x.r.Context(), e.wait) != nil {
		panic(http.ErrAbortHandler) // a normal end here would look like a whole answer
	}
	x.answer(e, p)
}

// body reads the request's body within bodyTime.
func (x *exchange) body() ([]byte, *refusal) {
	c := http.NewResponseController(x.w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has no deadline
	raw, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxRequest))
	_ = c.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, message: "Request exceeds the maximum size"}
	case err != nil:
		return nil, &refusal{status: http.StatusRequestTimeout, message: "the request's body is incomplete"}
	}
	return raw, nil
}

func (x *exchange) prompt(raw []byte) (*prompt, *refusal) {
	script := x.m.script
	if script.key != "" && x.s.key(x.r.Header) != script.key {
		return nil, &refusal{status: http.StatusUnauthorized, message: "invalid API key"}
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, invalidRequest("The request body is not valid JSON: %v", err)
	}
	p, refused := x.s.read(x.r.Header, v)
	if refused != nil {
		return nil, refused
	}
	if len(script.models) > 0 && !slices.Contains(script.models, p.model) {
		r := &refusal{status: http.StatusNotFound, message: "model: " + p.model}
		if p.format == formatOpenAI {
			r.code, r.message = "model_not_found", "The model `"+p.model+"` does not exist or you do not have access to it."
		}
		return nil, r
	}
	return p, nil
}

// choose returns the first entry that answers p, or nil.
func (m *Model) choose(p *prompt) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.script.turns {
		e := &m.script.turns[i]
		if !e.when.matches(p) || e.times > 0 && m.used[e.path] >= e.times {
			continue
		}
		if e.times > 0 {
			m.used[e.path]++
		}
		return e
	}
	return nil
}

func (x *exchange) answer(e *entry, p *prompt) {
	var failed *refusal
	if f := e.failure; f != nil {
		failed = &refusal{status: f.status, kind: f.kind, code: f.code, message: f.message}
		if failed.message == "" {
			failed.message = cmp.Or(http.StatusText(f.status), "Overloaded") // HTTP defines no text for 529
		}
		if !f.midStream || !p.stream {
			x.fail(f, failed)
			return
		}
	}
	var counted *rye.Usage
	if x.m.script.cache {
		u := x.m.cache.usage(p)
		counted = &u
	}
	a, err := e.answer(p, counted)
	if err == nil {
		err = a.sayable(p)
	}
	if err != nil {
		x.refuse(invalidRequest("the script of the mock model: %v", err))
		return
	}
	b := newBody(x.r.Context(), x.w, e)
	if b.left != 0 {
		x.note(func(r *Request) { r.Status = http.StatusOK })
	}
	if x.s.send(a, p, b, failed) != nil { // the client is gone, or the server ends
		panic(http.ErrAbortHandler)
	}
}

// fail sends an error that the script defines.
func (x *exchange) fail(f *failure, r *refusal) {
	maps.Copy(x.w.Header(), f.header)
	if f.body == "" {
		x.refuse(r)
		return
	}
	if f.header.Get("content-type") == "" {
		x.w.Header().Set("Content-Type", "text/html")
	}
	x.note(func(r *Request) { r.Status = f.status })
	x.w.WriteHeader(f.status)
	_, _ = io.WriteString(x.w, f.body)
}

func (x *exchange) refuse(r *refusal) {
	r.request = x.w.Header().Get(x.s.id)
	x.note(func(q *Request) { q.Status = r.status })
	if x.w.Header().Get("Content-Type") == "" {
		x.w.Header().Set("Content-Type", jsonType)
	}
	x.w.WriteHeader(r.status)
	_, _ = x.w.Write(compact(x.s.refuse(r)))
}
