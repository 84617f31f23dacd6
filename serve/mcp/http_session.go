package mcp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// webSession is a client with a session, up to version 2025-11-25. Its id is 128 random bits, and
// is valid only for the account that began it.
type webSession struct {
	c    *conn
	life context.Context // context of the calls of an old session
	old  bool            // of 2024-11-05: it ends with its stream
	stop func()

	mu     sync.Mutex
	last   time.Time // last use
	get    *events   // the stream for messages that belong to no request; nil if there is none
	closed chan struct{}
}

func (s *webSession) use(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
}

// idle returns for how long the session has been unused; 0 while a request or stream is active.
func (s *webSession) idle(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.get != nil || s.c.busy() {
		return 0
	}
	return now.Sub(s.last)
}

// The session is the outlet for messages that belong to no request. They go out on the stream that
// the client opened for them, and are dropped without one.

func (s *webSession) tell(message []byte) {
	s.mu.Lock()
	to := s.get
	s.mu.Unlock()
	if to != nil {
		to.tell(message)
	}
}

func (s *webSession) answer(r response) {
	if r.json != nil {
		s.tell(r.json)
	}
}

// open sets the stream of the session. A client that opens another one has lost the previous one.
func (s *webSession) open(e *events) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.get != nil {
		s.get.broken()
	}
	s.get = e
}

func (s *webSession) shut(e *events) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.get == e {
		s.get, s.last = nil, time.Now()
	}
}

// newSession begins a session. It returns nil if the account has too many.
func (w *web) newSession(life context.Context, who *webAccount, old bool) *webSession {
	s := &webSession{life: life, old: old, last: time.Now(), closed: make(chan struct{})}
	s.c = newConn(w.s, who.account, randomID(), s)
	w.mu.Lock()
	defer w.mu.Unlock()
	n, idlest := 0, (*webSession)(nil)
	for _, other := range w.sessions {
		if other.c.who != who.account {
			continue
		}
		n++
		if idle := other.idle(s.last); idle > 0 && (idlest == nil || idle > idlest.idle(s.last)) {
			idlest = other
		}
	}
	if n >= maxSessions {
		if idlest == nil {
			return nil
		}
		w.drop(idlest)
	}
	stop, err := s.c.listen(context.WithoutCancel(life)) // drop ends it
	if err != nil {
		return nil
	}
	s.stop = stop
	w.sessions[s.c.id] = s
	return s
}

// drop ends a session. The caller holds w.mu.
func (w *web) drop(s *webSession) {
	if w.sessions[s.c.id] != s {
		return
	}
	delete(w.sessions, s.c.id)
	s.stop()
	s.c.end()
	close(s.closed)
}

// expire ends sessions that were unused for long.
func (w *web) expire(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sessions {
		if s.idle(now) > w.o.IdleTime {
			w.drop(s)
		}
	}
}

func (w *web) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sessions {
		w.drop(s)
	}
}

// find returns a session of the account, or nil. It hides sessions of other accounts.
func (w *web) find(id string, who *webAccount, old bool) *webSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.sessions[id]; s != nil && s.c.who == who.account && s.old == old {
		return s
	}
	return nil
}

// session returns the session that a request names, or refuses the request.
func (w *web) session(rw http.ResponseWriter, r *http.Request, who *webAccount) *webSession {
	id := r.Header.Get(mcp.HeaderSessionID)
	if id == "" {
		refuseHTTP(rw, http.StatusBadRequest, "the header "+mcp.HeaderSessionID+" is missing: begin with initialize")
		return nil
	}
	s := w.find(id, who, false)
	if s == nil {
		refuseHTTP(rw, http.StatusNotFound, "no such session: begin again with initialize")
		return nil
	}
	if v := r.Header.Get(mcp.HeaderProtocolVersion); v != "" && !mcp.IsValidProtocolVersion(v) {
		refuseHTTP(rw, http.StatusBadRequest, "the header "+mcp.HeaderProtocolVersion+" has an unknown version")
		return nil
	}
	return s
}

// initialize begins a session. It ends the session again if the answer is an error.
func (w *web) initialize(rw http.ResponseWriter, r *http.Request, who *webAccount, e *envelope) {
	s := w.newSession(r.Context(), who, false)
	if s == nil {
		rw.Header().Set("Retry-After", "60")
		refuseHTTP(rw, http.StatusServiceUnavailable, "this client has too many sessions")
		return
	}
	w.serve(rw, r, e, func(ctx context.Context, out outlet) bool {
		res := s.c.process(ctx, e, out, nil)
		if res.code == 0 {
			rw.Header().Set(mcp.HeaderSessionID, s.c.id)
		} else {
			w.mu.Lock()
			w.drop(s)
			w.mu.Unlock()
		}
		out.answer(res)
		return true
	})
}

func (w *web) delete(rw http.ResponseWriter, r *http.Request, who *webAccount) {
	if s := w.session(rw, r, who); s != nil {
		w.mu.Lock()
		w.drop(s)
		w.mu.Unlock()
		rw.WriteHeader(http.StatusNoContent)
	}
}

// get serves the stream for messages that belong to no request.
func (w *web) get(rw http.ResponseWriter, r *http.Request, who *webAccount) {
	if !accepts(r, "text/event-stream") {
		refuseHTTP(rw, http.StatusNotAcceptable, "the client must accept text/event-stream")
		return
	}
	if s := w.session(rw, r, who); s != nil {
		w.stream(rw, r, s, nil)
	}
}

// stream keeps a session's stream open until either side ends it.
func (w *web) stream(rw http.ResponseWriter, r *http.Request, s *webSession, first []byte) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	mine := newEvents(rw, cancel)
	defer mine.close()
	defer s.shut(mine)
	mine.do(func() { // messages wait until the first event is written
		s.open(mine)
		mine.begin()
		if first != nil {
			mine.event("endpoint", first)
		}
	})
	tick := time.NewTicker(w.o.testOnlyAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.closed:
			return
		case <-w.streams.Done():
			// A client that loses this stream may give up its calls too. And if the end arrives
			// together with the last answer, it may see the end first.
			s.c.drain(r.Context(), w.s.o.Drain)
			last := time.NewTimer(lastTime)
			defer last.Stop()
			select {
			case <-last.C:
			case <-ctx.Done():
			}
			return
		case <-tick.C:
			if _, ok := w.principal(r); !ok {
				return // its token was revoked
			}
			mine.do(mine.alive)
		}
	}
}
