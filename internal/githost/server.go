// Package githost serves git repositories over smart HTTP, for tests: git, go-git and
// transport.Remote clone from it, fetch and push.
//
// Protocol version 2 and pushes are the conversations of transport.Server, one per request.
// Versions 0 and 1 of fetching are translated to version 2, so that rye ships neither of them.
package githost

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// Server serves the repositories below a directory. It follows no path out of Root. A form on a
// web page cannot push: the content type forces a preflight that is not answered.
type Server struct {
	// Root is the directory of the repositories: /a/b.git is Root/a/b.git.
	Root string
	// AllowPush lets clients move refs.
	AllowPush bool
	// FastForwardOnly refuses to move a ref to a commit that does not contain its old value.
	FastForwardOnly bool
	// DenyDeletes refuses to delete refs.
	DenyDeletes bool
	// MaxRequest bounds the body of a request, in bytes; 0 = 1 GiB.
	MaxRequest int64
	// Authorize reports whether a request may read or push; nil allows all. A refused request
	// gets status 401.
	Authorize func(r *http.Request, repo string, push bool) bool
}

// ServeHTTP answers /<repository>/info/refs, /git-upload-pack and /git-receive-pack.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, verb := splitPath(r.URL.Path)
	service := verb
	if verb == "info/refs" {
		service = r.URL.Query().Get("service")
	}
	method := http.MethodPost
	if verb == "info/refs" {
		method = http.MethodGet
	}
	push := service == receivePack
	switch {
	case name == "" || service != uploadPack && !push:
		http.Error(w, "not found", http.StatusNotFound)
		return
	case r.Method != method:
		w.Header().Set("Allow", method)
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	case s.Authorize != nil && !s.Authorize(r, name, push):
		w.Header().Set("WWW-Authenticate", `Basic realm="rye"`)
		http.Error(w, "credentials wanted", http.StatusUnauthorized)
		return
	case push && !s.AllowPush:
		http.Error(w, "pushing is not allowed", http.StatusForbidden)
		return
	}
	repo, err := s.open(name)
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	defer repo.Close()
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	h := &visit{server: &transport.Server{Repo: repo, Allow: s.allow}, service: service, w: w}
	h.old = !push && !slices.Contains(strings.Split(r.Header.Get("Git-Protocol"), ":"), "version=2")
	if verb == "info/refs" {
		h.advertise(r.Context())
	} else {
		h.answer(r, s.maxRequest())
	}
}

func (s *Server) maxRequest() int64 {
	if s.MaxRequest > 0 {
		return s.MaxRequest
	}
	return 1 << 30
}

// splitPath splits the path of a request into a repository's name and a verb; "" if it is no
// such path.
func splitPath(path string) (name, verb string) {
	for _, v := range []string{"info/refs", uploadPack, receivePack} {
		if n, ok := strings.CutSuffix(path, "/"+v); ok {
			return cleanName(strings.TrimPrefix(n, "/")), v
		}
	}
	return "", ""
}

// cleanName returns name if each of its segments is a safe file name, otherwise "".
func cleanName(name string) string {
	for seg := range strings.SplitSeq(name, "/") {
		if store.CheckName(seg) != nil {
			return ""
		}
	}
	return name
}

// open opens a repository below Root. It refuses links that lead out of Root.
func (s *Server) open(name string) (*store.Repo, error) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, n := range []string{name, name + ".git"} {
		if info, err := root.Stat(filepath.FromSlash(n) + "/objects"); err == nil && info.IsDir() {
			return store.Open(filepath.Join(s.Root, filepath.FromSlash(n)))
		}
	}
	return nil, fault.New(fault.NotFound, "repository %q", name)
}

// allow applies the host's own rules to one command of a push.
func (s *Server) allow(ctx context.Context, pushed *store.Reader, u transport.Update) error {
	switch {
	case u.New.IsZero() && s.DenyDeletes:
		return fault.New(fault.Denied, "deletion prohibited")
	case u.New.IsZero() || u.Old.IsZero() || !s.FastForwardOnly:
		return nil
	}
	all, err := pushed.Reach(ctx, []store.OID{u.New}, nil, store.ReachOptions{NoTrees: true, NoBlobs: true})
	if err == nil && !slices.Contains(all.Objects, u.Old) {
		err = fault.New(fault.Conflict, "non-fast-forward")
	}
	return err
}

// visit is one request to a repository.
type visit struct {
	server  *transport.Server
	service string
	old     bool // versions 0 and 1 of fetching
	w       http.ResponseWriter
}

// advertise answers info/refs. A client that left needs no answer, here and below.
func (h *visit) advertise(ctx context.Context) {
	h.w.Header().Set("Content-Type", "application/x-"+h.service+"-advertisement")
	if h.old || h.service == receivePack {
		io.WriteString(h.w, packet("# service="+h.service)+flush)
	}
	if h.old {
		io.WriteString(h.w, h.oldAdvert(ctx))
		return
	}
	h.server.Serve(ctx, h.service, http.NoBody, h.w)
}

func (h *visit) answer(r *http.Request, most int64) {
	if r.Header.Get("Content-Type") != "application/x-"+h.service+"-request" {
		http.Error(h.w, "unexpected content type", http.StatusUnsupportedMediaType)
		return
	}
	body, err := bodyOf(r)
	if err != nil {
		http.Error(h.w, err.Error(), http.StatusBadRequest)
		return
	}
	h.w.Header().Set("Content-Type", "application/x-"+h.service+"-result")
	bounded := &boundedReader{body, most}
	if h.old {
		h.oldAnswer(r.Context(), bounded)
	} else {
		h.server.Serve(r.Context(), h.service, bounded, &afterAdvert{w: h.w})
	}
	io.Copy(io.Discard, r.Body) // a client that is still sending can then read the answer
}

// bodyOf returns the request's body, decompressed.
func bodyOf(r *http.Request) (io.Reader, error) {
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
		return r.Body, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, errors.New("body is not gzip")
		}
		return z, nil
	}
	return nil, errors.New("content encoding is not supported")
}

// boundedReader reads at most left bytes from r; more is an error.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fault.New(fault.Limit, "the request is too large")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// afterAdvert drops the advertisement, which a client over HTTP got by an earlier request.
type afterAdvert struct {
	w    io.Writer
	held []byte
	past bool
}

func (a *afterAdvert) Write(p []byte) (int, error) {
	a.held = append(a.held, p...)
	for !a.past {
		rest := bytes.NewReader(a.held)
		kind, line, err := readPacket(rest)
		switch {
		case err != nil:
			return len(p), nil // it goes on
		case strings.HasPrefix(line, "ERR "):
			a.past = true
			continue
		}
		a.past = kind == flush
		a.held = a.held[len(a.held)-rest.Len():]
	}
	_, err := a.w.Write(a.held)
	a.held = a.held[:0]
	return len(p), err
}
