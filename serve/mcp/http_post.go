package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// streamable serves the address of streamable HTTP. Each request states its protocol version: from
// 2026-07-28 on there are no sessions, and only POST is allowed.
func (w *web) streamable(rw http.ResponseWriter, r *http.Request, who *webAccount) {
	modern := mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	switch {
	case r.Method == http.MethodPost:
		w.post(rw, r, who)
	case r.Method == http.MethodGet && !modern:
		w.get(rw, r, who)
	case r.Method == http.MethodDelete && !modern:
		w.delete(rw, r, who)
	default:
		rw.Header().Set("Allow", http.MethodPost)
		if !modern {
			rw.Header().Set("Allow", "GET, POST, DELETE")
		}
		refuseHTTP(rw, http.StatusMethodNotAllowed, r.Method+" is not supported here")
	}
}

func (w *web) post(rw http.ResponseWriter, r *http.Request, who *webAccount) {
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		refuseHTTP(rw, http.StatusNotAcceptable, "the client must accept application/json and text/event-stream")
		return
	}
	raw, free, ok := w.body(rw, r, who)
	if !ok {
		return
	}
	defer free()
	if messages, ok := batchOf(raw); ok {
		if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
			refuseMessage(rw, http.StatusBadRequest, refused(nil, mcp.INVALID_REQUEST, "a batch belongs to protocol version %s", mcp.ProtocolVersion20250326))
		} else if s := w.session(rw, r, who); s != nil {
			w.serve(rw, r, &envelope{}, func(ctx context.Context, out outlet) bool { return s.c.receiveBatch(ctx, messages, out) })
		}
		return
	}
	e, bad := parseEnvelope(raw)
	switch {
	case bad != nil:
		refuseMessage(rw, http.StatusBadRequest, bad)
	case isModern(r.Header, e):
		w.postModern(rw, r, who, e)
	case e.method == string(mcp.MethodInitialize) && e.id != nil:
		w.initialize(rw, r, who, e)
	default:
		if s := w.session(rw, r, who); s != nil {
			s.use(time.Now())
			w.serve(rw, r, e, func(ctx context.Context, out outlet) bool { return s.c.dispatch(ctx, e, nil, out) })
			s.use(time.Now())
		}
	}
}

// isModern reports whether a request has a version without sessions, stated in the header or in the
// message; postModern requires both.
func isModern(h http.Header, e *envelope) bool {
	return mcp.IsModernProtocol(h.Get(mcp.HeaderProtocolVersion)) || mcp.IsModernProtocol(e.version())
}

// version returns the protocol version stated in a message.
func (e *envelope) version() string { return e.param("_meta", mcp.MetaKeyProtocolVersion) }

// postModern answers a message in a version without sessions: each gets its own conn.
func (w *web) postModern(rw http.ResponseWriter, r *http.Request, who *webAccount, e *envelope) {
	if bad := w.disagrees(r.Header, e); bad != nil {
		refuseMessage(rw, http.StatusBadRequest, bad)
		return
	}
	c := newConn(w.s, who.account, "", nil)
	w.serve(rw, r, e, func(ctx context.Context, out outlet) bool { return c.dispatch(ctx, e, nil, out) })
}

// disagrees refuses a message that contradicts its headers, because proxies between client and
// server read only the headers.
func (w *web) disagrees(h http.Header, e *envelope) *refusal {
	header, version := h.Get(mcp.HeaderProtocolVersion), e.version()
	switch {
	case e.isAnswer():
		return refused(nil, mcp.INVALID_REQUEST, "version %s does not allow an answer here", mcp.ProtocolVersion20260728)
	case e.id == nil:
		version = header // a notification need not repeat it
	case header == "":
		return refused(e.id, mcp.HEADER_MISMATCH, "the header %s is missing", mcp.HeaderProtocolVersion)
	case version == "":
		return refused(e.id, mcp.INVALID_PARAMS, "_meta has no %s", mcp.MetaKeyProtocolVersion)
	case version != header:
		return refused(e.id, mcp.HEADER_MISMATCH, "the header %s and _meta differ", mcp.HeaderProtocolVersion)
	}
	params := e.params
	if params == nil {
		params = []byte("{}")
	}
	err := mcp.ValidateStandardHeaders(h.Get, mcp.ProtocolVersion20260728, mcp.MCPMethod(e.method), params)
	if tool := w.s.rpc.GetTool(e.param("name")); err == nil && tool != nil && e.method == string(mcp.MethodToolsCall) {
		err = mcp.ValidateParamHeadersLookup(func(name string) (string, bool) {
			return h.Get(name), len(h.Values(name)) > 0
		}, &tool.Tool, params)
	}
	if err != nil {
		return refused(e.id, mcp.HEADER_MISMATCH, "%s", err.Error())
	}
	return nil
}

// body reads the body of a request, within limits of size and time. Large bodies need room in the
// account; free returns that room.
func (w *web) body(rw http.ResponseWriter, r *http.Request, who *webAccount) (raw []byte, free func(), ok bool) {
	free = func() {}
	most := w.s.o.MaxMessage
	if !isJSON(r) {
		refuseHTTP(rw, http.StatusUnsupportedMediaType, "the body must be application/json")
		return nil, free, false
	}
	if r.ContentLength > most {
		w.tooLarge(rw)
		return nil, free, false
	}
	rc := http.NewResponseController(rw)
	_ = rc.SetReadDeadline(time.Now().Add(w.o.BodyTime)) // without it, the server's own limits apply
	defer rc.SetReadDeadline(time.Time{})
	if size := r.ContentLength; size < 0 || size > largeBody {
		if size < 0 {
			size = most
		}
		size = min(size, readBytes)
		ctx, stop := context.WithTimeout(r.Context(), w.o.BodyTime)
		defer stop()
		if who.reads.Acquire(ctx, size) != nil {
			rw.Header().Set("Retry-After", "10")
			refuseHTTP(rw, http.StatusServiceUnavailable, "this client has too many large requests under way")
			return nil, free, false
		}
		free = func() { who.reads.Release(size) }
	}
	raw, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, most))
	if err == nil {
		return raw, free, true
	}
	free()
	rw.Header().Set("Connection", "close")
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		w.tooLarge(rw)
	case errors.Is(err, os.ErrDeadlineExceeded):
		refuseHTTP(rw, http.StatusRequestTimeout, "the body did not arrive in time")
	default:
		refuseHTTP(rw, http.StatusBadRequest, "the body is incomplete")
	}
	return nil, func() {}, false
}

func (w *web) tooLarge(rw http.ResponseWriter) {
	rw.Header().Set("Connection", "close")
	refuseHTTP(rw, http.StatusRequestEntityTooLarge, "the message is too long")
}

// serve passes a posted message to a conn and waits for the answer. If the client disconnects, its
// requests are cancelled: streams cannot be resumed, so the answer could not be delivered.
func (w *web) serve(rw http.ResponseWriter, r *http.Request, e *envelope, receive func(context.Context, outlet) bool) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w.work.Add(1)
	out := &reply{events: newEvents(rw, cancel), modern: isModern(r.Header, e), finished: w.work.Done, done: make(chan struct{})}
	defer out.close()
	if e.method == string(mcp.MethodSubscriptionsListen) {
		defer context.AfterFunc(w.streams, cancel)()
	}
	if !receive(ctx, out) {
		w.work.Done()
		out.do(func() { rw.WriteHeader(http.StatusAccepted) })
		return
	}
	tick := time.NewTicker(w.o.testOnlyAlive)
	defer tick.Stop()
	for {
		select {
		case <-out.done:
			return
		case <-r.Context().Done():
			if w.streams.Err() != nil {
				<-out.done // the server is ending, but the client is still connected
			}
			return
		case <-tick.C:
			if _, ok := w.principal(r); !ok {
				return // its token was revoked
			}
			out.alive()
		}
	}
}
