package transport

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/store"
)

// Server serves the bare repositories below a directory over smart HTTP, and to this process
// for local addresses. git and this package's Remote can clone, fetch and push. It runs no
// hooks, reads no settings of the repositories except their format and logging, and follows no
// path out of Root.
//
// Any object of a repository may be fetched by id, whether a ref reaches it or not: keep
// private objects in a separate repository.
type Server struct {
	// Root is the directory of the repositories: /a/b.git is Root/a/b.git.
	Root string
	// AllowPush lets clients move refs. Combine it with Authorize unless only
	// this machine can connect.
	AllowPush bool
	// FastForwardOnly refuses to move a ref to a commit that does not contain its old value.
	FastForwardOnly bool
	// DenyDeletes refuses to delete refs.
	DenyDeletes bool
	// Limits bound pushed packs; zero fields mean the values in store.DefaultLimits.
	Limits store.Limits
	// MaxRequest bounds the body of a request, without its pack; 0 = 16 MiB.
	MaxRequest int64
	// Authorize reports whether a request may read or push; nil allows all. A refused request
	// gets status 401.
	Authorize func(r *http.Request, repo string, push bool) bool

	keep string // the branch that pushes must not move; "" = none
}

func (s *Server) maxRequest() int64 {
	if s.MaxRequest > 0 {
		return s.MaxRequest
	}
	return 16 << 20
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
	if verb == "info/refs" {
		s.serveAdvert(w, r, repo, service)
	} else {
		s.serveRequest(w, r, repo, service)
	}
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

// version reads the Git-Protocol header: key=value pairs joined by colons.
func version(r *http.Request) int {
	for kv := range strings.SplitSeq(r.Header.Get("Git-Protocol"), ":") {
		if v, ok := strings.CutPrefix(kv, "version="); ok {
			if n, err := strconv.Atoi(v); err == nil && n >= 0 && n <= 2 {
				return n
			}
		}
	}
	return 0
}

func (s *Server) serveAdvert(w http.ResponseWriter, r *http.Request, repo *store.Repo, service string) {
	w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
	c := s.converse(repo, http.NoBody, w)
	v := version(r)
	if v < 2 || service == receivePack {
		c.w.linef("# service=%s", service)
		c.w.flush()
	}
	c.end(c.advertise(service, v)) // a client that left needs no answer
}

func (s *Server) serveRequest(w http.ResponseWriter, r *http.Request, repo *store.Repo, service string) {
	if r.Header.Get("Content-Type") != "application/x-"+service+"-request" {
		http.Error(w, "unexpected content type", http.StatusUnsupportedMediaType)
		return
	}
	limit := s.maxRequest()
	if service == receivePack {
		limit += packBytes(s.Limits)
	}
	body, err := bodyOf(w, r, limit)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-"+service+"-result")
	c := s.converse(repo, body, w)
	c.once = true
	c.end(c.answer(r.Context(), service, version(r)))
	io.Copy(io.Discard, body) // bounded; a client that is still sending can then read the answer
}

// bodyOf returns the request's body, decompressed, of at most limit bytes in both forms.
func bodyOf(w http.ResponseWriter, r *http.Request, limit int64) (io.Reader, error) {
	var body io.Reader = http.MaxBytesReader(w, r.Body, limit)
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, errors.New("body is not gzip")
		}
		body = z
	default:
		return nil, errors.New("content encoding is not supported")
	}
	return &boundedReader{ctx: context.Background(), r: body, left: limit}, nil
}

// openLocal opens the repository at a local path: a bare one, or the one of a working tree,
// whose current branch must not be moved. As in git, neither may belong to another user,
// unless the user's git lists the path as safe.
func openLocal(path string, safe func(path string) bool) (*Server, *store.Repo, error) {
	s := &Server{AllowPush: true}
	dir := path
	switch info, err := os.Lstat(filepath.Join(path, ".git")); {
	case err != nil:
	case !info.IsDir():
		return nil, nil, fault.New(fault.Malformed, "%s is not a directory: it points to a repository elsewhere", filepath.Join(path, ".git")).
			Advise("name the repository itself: git -C %s rev-parse --git-common-dir", path)
	default:
		dir = filepath.Join(path, ".git")
		if uid, err := place.OwnerOf(path); err == nil && !place.IsUser(uid) && !safe(path) {
			return nil, nil, othersRepository(&store.OwnerError{Dir: path, UID: uid})
		}
	}
	repo, err := store.OpenSafe(dir, func(string) bool { return safe(path) })
	var others *store.OwnerError
	if errors.As(err, &others) {
		return nil, nil, othersRepository(others)
	}
	if err != nil {
		return nil, nil, err
	}
	if filepath.Base(dir) == ".git" {
		if s.keep, err = repo.Head(); err != nil {
			repo.Close()
			return nil, nil, err
		}
	}
	return s, repo, nil
}

// othersRepository returns the error for a repository of another user, in git's words.
func othersRepository(err *store.OwnerError) error {
	return fault.New(fault.Denied, "%w", err).
		Advise("use it over ssh or https; if user %d may change the files that you read there, tell git: git config --global --add safe.directory %s", err.UID, err.Dir)
}

// safeDirectory reports whether the user's git lists path as safe although it belongs to
// another user: in the configuration of the user or the system, never in the repository's own.
func safeDirectory(o *Options, path string) (safe bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	out, err := runGit(context.Background(), o, gitConfigWait, "", "config", "-z", "--includes", "--type=path", "--get-all", "safe.directory")
	if err != nil {
		return false
	}
	for value := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		below, all := strings.CutSuffix(value, "/*")
		switch {
		case value == "":
			safe = false // resets the list
		case value == "*", value == path, value == real, all && strings.HasPrefix(real, below+"/"):
			safe = true
		}
	}
	return safe
}
