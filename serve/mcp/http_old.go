package mcp

import (
	"net/http"
)

// Clients of 2024-11-05 open a stream, receive on it the address to post to, and read all answers
// there. The stream is the session: when it ends, the running calls end.

func (w *web) oldStream(rw http.ResponseWriter, r *http.Request, who *webAccount) {
	if r.Method != http.MethodGet {
		rw.Header().Set("Allow", http.MethodGet)
		refuseHTTP(rw, http.StatusMethodNotAllowed, r.Method+" is not supported here")
		return
	}
	if !accepts(r, "text/event-stream") {
		refuseHTTP(rw, http.StatusNotAcceptable, "the client must accept text/event-stream")
		return
	}
	s := w.newSession(r.Context(), who, true)
	if s == nil {
		rw.Header().Set("Retry-After", "60")
		refuseHTTP(rw, http.StatusServiceUnavailable, "this client has too many sessions")
		return
	}
	defer s.c.calls.Wait()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.drop(s)
	}()
	w.stream(rw, r, s, []byte("/messages?sessionId="+s.c.id))
}

func (w *web) oldPost(rw http.ResponseWriter, r *http.Request, who *webAccount) {
	if r.Method != http.MethodPost {
		rw.Header().Set("Allow", http.MethodPost)
		refuseHTTP(rw, http.StatusMethodNotAllowed, r.Method+" is not supported here")
		return
	}
	s := w.find(r.URL.Query().Get("sessionId"), who, true)
	if s == nil {
		refuseHTTP(rw, http.StatusNotFound, "no such session: open /sse again")
		return
	}
	raw, free, ok := w.body(rw, r, who)
	if !ok {
		return
	}
	defer free()
	s.c.receive(s.life, raw, s)
	rw.WriteHeader(http.StatusAccepted)
}
