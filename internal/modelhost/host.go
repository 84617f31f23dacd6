package modelhost

import (
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

	"github.com/rye-os/rye/agent/provider/script"
)

// Bounds of requests.
const (
	maxRequest   = 32 << 20 // bytes of one request (Anthropic, "Request size limits")
	mostRequests = 1000     // requests that are kept
	mostKept     = 64 << 20 // bytes of their bodies
	maxTokens    = 1 << 40
	bodyTime     = 30 * time.Second
)

// A Host answers requests by a script. It is safe for concurrent use.
type Host struct {
	script *Script
	model  *script.Model
	cache  cache

	mu   sync.Mutex
	seen []*Request
	kept int64 // bytes of the bodies in seen
}

// A Request is a request that a Host received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Status       int    // of the answer; 0 before it, and when no head is sent
	Entry        string // path of the entry that answered, "turns.0"; "" for none
	Turn         int    // of the model, from 1; 0 when the request was refused
	Digest       string // of the prompt; "" when the request was refused
}

// New returns the host of a script, which must not be nil. The caller chooses the server and its
// address; Serve listens on loopback.
func New(s *Script) *Host { return &Host{script: s, model: script.New(s.shared)} }

// Requests returns the requests so far, in the order in which they were read. It keeps the last
// 1,000, up to 64 MiB of bodies. The caller must not change headers and bodies.
func (h *Host) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Request, len(h.seen))
	for i, r := range h.seen {
		out[i] = *r
	}
	return out
}

func (h *Host) record(r *Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, r)
	h.kept += int64(len(r.Body))
	for len(h.seen) > mostRequests || h.kept > mostKept {
		h.kept -= int64(len(h.seen[0].Body))
		h.seen = slices.Delete(h.seen, 0, 1)
	}
}

// A service has the functions that differ between the two formats.
type service struct {
	read   func(http.Header, any) (*prompt, *refusal)
	refuse func(*refusal) any
	key    func(http.Header) string
	id     string // header with the request's id
	whole  func(*script.Answer) (any, error)
	stream func(*script.Answer, *prompt, *script.Failure, string) [][]byte
}

var services = map[string]*service{
	"/v1/messages": {
		read: readAnthropic, refuse: (*refusal).anthropic, id: "request-id", whole: wholeAnthropic,
		key: func(h http.Header) string { return h.Get("x-api-key") },
		stream: func(a *script.Answer, _ *prompt, f *script.Failure, _ string) [][]byte {
			return a.Events(f)
		},
	},
	"/v1/chat/completions": {
		read: readOpenAI, refuse: (*refusal).openAI, id: "x-request-id", whole: wholeOpenAI, stream: streamOpenAI,
		key: func(h http.Header) string {
			key, _ := strings.CutPrefix(h.Get("authorization"), "Bearer ")
			return key
		},
	},
}

// ServeHTTP answers one request.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"] = nil // so that equal requests get equal bytes
	s, known := services[r.URL.Path]
	if !known {
		s = services["/v1/chat/completions"]
		if r.Header.Get("anthropic-version") != "" {
			s = services["/v1/messages"]
		}
	}
	x := &exchange{h: h, s: s, w: w, r: r, req: &Request{Method: r.Method, Path: r.URL.Path, Header: maps.Clone(r.Header)}}
	switch {
	case !known:
		h.record(x.req)
		x.refuse(&refusal{status: http.StatusNotFound, kind: "not_found_error", message: "the host has POST /v1/messages and /v1/chat/completions"})
	case r.Method != http.MethodPost:
		h.record(x.req)
		x.refuse(&refusal{status: http.StatusMethodNotAllowed, message: "want POST"})
	default:
		x.post()
	}
}

// An exchange is one request and its answer.
type exchange struct {
	h   *Host
	s   *service
	w   http.ResponseWriter
	r   *http.Request
	req *Request // recorded; note sets later fields
}

// note sets a field of the recorded request, which other goroutines may be reading.
func (x *exchange) note(set func(*Request)) {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	set(x.req)
}

func (x *exchange) post() {
	raw, refused := x.body()
	x.req.Body = raw
	x.h.record(x.req)
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
	x.note(func(r *Request) { r.Turn, r.Digest = p.Turn(), p.Seed })
	e, err := x.h.model.Choose(&p.Prompt)
	if err != nil {
		x.refuse(invalidRequest("%v", err))
		return
	}
	x.note(func(r *Request) { r.Entry = e.Path })
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
	s := x.h.script
	if s.key != "" && x.s.key(x.r.Header) != s.key {
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
	if len(s.models) > 0 && !slices.Contains(s.models, p.Model) {
		r := &refusal{status: http.StatusNotFound, message: "model: " + p.Model}
		if p.Format == script.OpenAI {
			r.code, r.message = "model_not_found", "The model `"+p.Model+"` does not exist or you do not have access to it."
		}
		return nil, r
	}
	return p, nil
}

func (x *exchange) answer(e *script.Entry, p *prompt) {
	own := x.h.script.own[e.Path]
	f := e.Failure
	if f != nil && (!f.MidStream || !p.stream) {
		x.fail(e, own)
		return
	}
	a, err := e.Answer(&p.Prompt)
	if err != nil {
		x.refuse(invalidRequest("the script of the host: %v", err))
		return
	}
	for i, raw := range own.raw {
		a.Calls[i].Args = raw
	}
	if x.h.script.cache {
		u := x.h.cache.usage(p)
		u.Output, u.Reasoning = a.Usage.Output, a.Usage.Reasoning
		a.Usage = u
	}
	if p.stream {
		x.send(e, http.StatusOK, script.EventStream, x.s.stream(a, p, f, own.code)...)
		return
	}
	doc, err := x.s.whole(a)
	if err != nil {
		x.refuse(invalidRequest("the script of the host: %v", err))
		return
	}
	x.send(e, http.StatusOK, nil, compact(doc))
}

// fail sends an error that the script defines.
func (x *exchange) fail(e *script.Entry, own own) {
	f := e.Failure
	header, body := maps.Clone(f.Header), own.body
	if body == "" {
		r := refused(f, own.code)
		r.request = x.w.Header().Get(x.s.id)
		body = string(compact(x.s.refuse(r)))
	} else if header.Get("content-type") == "" {
		header.Set("content-type", "text/html")
	}
	x.send(e, f.Status, header, []byte(body))
}

// send sends an answer in the time that its entry takes. It closes the connection if the answer
// breaks off, or if the client or the server is gone: a normal end would look like a whole answer.
func (x *exchange) send(e *script.Entry, status int, header http.Header, pieces ...[]byte) {
	res, err := e.Reply(x.r.Context(), status, header, pieces...)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	x.note(func(r *Request) { r.Status = status })
	maps.Copy(x.w.Header(), res.Header)
	x.w.WriteHeader(status)
	flush := http.NewResponseController(x.w).Flush
	buf := make([]byte, 32<<10)
	for {
		n, err := res.Body.Read(buf)
		if err == io.EOF {
			return
		}
		if err == nil {
			_, err = x.w.Write(buf[:n])
			_ = flush() // a test's recorder has nothing to flush
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

func (x *exchange) refuse(r *refusal) {
	r.request = x.w.Header().Get(x.s.id)
	x.note(func(q *Request) { q.Status = r.status })
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(r.status)
	_, _ = x.w.Write(compact(x.s.refuse(r)))
}
