package mcp

import (
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// events is a stream of server-sent events with messages for a client. Its owner ends it with
// close; nothing is written afterwards.
type events struct {
	mu     sync.Mutex
	rw     http.ResponseWriter
	closed bool
	broken func() // called when the client stops reading
}

func newEvents(rw http.ResponseWriter, broken func()) *events { return &events{rw: rw, broken: broken} }

// begin writes the head of the response.
func (s *events) begin() {
	h := s.rw.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	s.rw.WriteHeader(http.StatusOK)
	s.write(nil)
}

func (s *events) event(name string, data []byte) {
	b := append([]byte("event: "+name+"\ndata: "), data...)
	s.write(append(b, "\n\n"...))
}

// alive keeps proxies from closing the stream.
func (s *events) alive() { s.write([]byte(":\n\n")) }

func (s *events) write(b []byte) {
	rc := http.NewResponseController(s.rw)
	_ = rc.SetWriteDeadline(time.Now().Add(writeTime)) // the connection may be gone
	_, err := s.rw.Write(b)
	if err == nil {
		err = rc.Flush()
	}
	if err != nil {
		s.closed = true
		s.broken()
	}
}

// do calls f unless the stream is closed.
func (s *events) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		f()
	}
}

func (s *events) close() { s.do(func() { s.closed = true }) }

func (s *events) tell(message []byte) { s.do(func() { s.event("message", message) }) }

func (s *events) answer(r response) {
	if r.json != nil {
		s.tell(r.json)
	}
}

// reply is the outlet of one POST: a single JSON object if there is only an answer, otherwise a
// stream of events that ends with the answer.
type reply struct {
	*events
	modern   bool          // JSON-RPC codes become HTTP codes
	finished func()        // called with the answer
	done     chan struct{} // closed when the answer is written
	stream   bool
}

func (p *reply) begin() {
	if !p.stream {
		p.stream = true
		p.events.begin()
	}
}

func (p *reply) tell(message []byte) {
	p.do(func() {
		p.begin()
		p.event("message", message)
	})
}

// alive shows that the server is working. It turns the response into a stream.
func (p *reply) alive() {
	p.do(func() {
		p.begin()
		p.events.alive()
	})
}

func (p *reply) answer(r response) {
	defer p.finished()
	p.do(func() {
		switch {
		case r.json == nil && !p.stream:
			p.rw.WriteHeader(http.StatusAccepted) // the client wants no answer
		case r.json == nil:
		case p.stream:
			p.event("message", r.json)
		default:
			p.object(r)
		}
		p.closed = true
	})
	close(p.done)
}

func (p *reply) object(r response) {
	_ = http.NewResponseController(p.rw).SetWriteDeadline(time.Now().Add(writeTime))
	p.rw.Header().Set("Content-Type", "application/json")
	p.rw.WriteHeader(p.status(r.code))
	_, _ = p.rw.Write(r.json) // the client may be gone
}

// status returns the HTTP status for a JSON-RPC code. Before 2026-07-28, an error is a message like
// any other.
func (p *reply) status(code int) int {
	switch {
	case !p.modern || code == 0:
		return http.StatusOK
	case code == mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case code == mcp.INTERNAL_ERROR:
		return http.StatusOK
	}
	return http.StatusBadRequest
}
