package mcp

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// The door: every request passes these checks when only its head is read.

// single lists headers that matter for decisions and may occur only once.
var single = []string{"Authorization", "Origin", "Content-Type", "Content-Length", mcp.HeaderProtocolVersion, mcp.HeaderSessionID, mcp.HeaderMethod, mcp.HeaderName}

// ServeHTTP answers one request.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	h := rw.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if !slices.Contains(w.hosts, strings.ToLower(r.Host)) {
		refuseHTTP(rw, http.StatusForbidden, "the Host of the request is not one of this server")
		return
	}
	for _, name := range single {
		if len(r.Header.Values(name)) > 1 {
			refuseHTTP(rw, http.StatusBadRequest, "the header "+name+" occurs twice")
			return
		}
	}
	if !w.admits(rw, r) {
		return
	}
	serve := w.routes(r.URL.Path)
	if serve == nil {
		refuseHTTP(rw, http.StatusNotFound, "not found")
		return
	}
	who, ok := w.principal(r)
	if !ok {
		value := `Bearer realm="rye mcp"`
		if r.Header.Get("Authorization") != "" {
			value += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", value)
		refuseHTTP(rw, http.StatusUnauthorized, "the request needs a client's token; rye mcp token add makes one")
		return
	}
	serve(rw, r, w.account(who))
}

// routes returns the handler of a path; nil for none.
func (w *web) routes(path string) func(http.ResponseWriter, *http.Request, *webAccount) {
	switch path {
	case "/mcp":
		return w.streamable
	case "/sse":
		return w.oldStream
	case "/messages":
		return w.oldPost
	}
	return nil
}

// admits refuses requests from web pages unless their origin is the server's own or listed. It also
// answers the preflight requests of browsers.
func (w *web) admits(rw http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			refuseHTTP(rw, http.StatusForbidden, "the request comes from a web page of another site")
			return false
		}
		return true
	}
	if !slices.Contains(w.origins, strings.ToLower(origin)) {
		refuseHTTP(rw, http.StatusForbidden, "the Origin of the request may not call this server")
		return false
	}
	h := rw.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", mcp.HeaderSessionID)
	h.Set("Vary", "Origin")
	if r.Method != http.MethodOptions {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", strings.Join([]string{"Authorization", "Content-Type", "Accept",
		mcp.HeaderSessionID, mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName, mcp.HeaderLastEventID}, ", "))
	h.Set("Access-Control-Max-Age", "600")
	rw.WriteHeader(http.StatusNoContent)
	return false
}

// principal returns the client whose token the request has.
func (w *web) principal(r *http.Request) (name string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	return w.o.Principal(strings.TrimSpace(token))
}

// refuseHTTP answers a request that holds no message.
func refuseHTTP(rw http.ResponseWriter, status int, why string) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	raw, _ := json.Marshal(map[string]string{"error": strings.ToLower(strings.ReplaceAll(http.StatusText(status), " ", "_")), "message": why})
	_, _ = rw.Write(append(raw, '\n')) // the client may be gone
}

// refuseMessage answers a message that is refused before it is handled.
func refuseMessage(rw http.ResponseWriter, status int, bad *refusal) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(rpcError(bad.id, bad.code, bad.why).json)
}

// accepts reports whether the client accepts a content type.
func accepts(r *http.Request, want string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(want, "/")
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if t, _, err := mime.ParseMediaType(part); err == nil && (t == want || t == "*/*" || t == kind+"/*") {
			return true
		}
	}
	return false
}

// isJSON reports whether the body is declared as JSON. Web pages can send other types, such as
// text/plain, without a preflight request.
func isJSON(r *http.Request) bool {
	t, p, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && t == "application/json" && (p["charset"] == "" || strings.EqualFold(p["charset"], "utf-8"))
}
