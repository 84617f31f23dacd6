package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A shop is a registry with a project's items behind git's own http-backend on loopback, a
// project that reads it, and a clone of it.
type shop struct {
	b              *bench
	n, published   int
	makes, reads   string // projects
	url, dir       string // of the registry
	clone          string
	cache, remains string // the directories where rye keeps data of registries
	added          int
}

func registryRows(n int) []row {
	var s *shop
	var failed error // the first error of opening the shop; all rows then fail with it
	in := func(setup func(s *shop) (side, side, error)) func(*bench, int) (side, side, error) {
		return func(b *bench, n int) (_, _ side, err error) {
			if s == nil && failed == nil {
				s, failed = b.openShop(n)
			}
			if failed != nil {
				return nil, nil, failed
			}
			return setup(s)
		}
	}
	return []row{
		{what: "registry: nothing is new", n: n, peer: "git fetch", setup: in((*shop).nothingNew)},
		{what: "registry: one item, the state known", n: n, peer: "git clone --bare", setup: in((*shop).one)},
		{what: "registry: one item, at first contact", n: n, peer: "git clone --bare", setup: in((*shop).first)},
		{what: "registry: publish one item", n: n, peer: "git push of one commit", setup: in((*shop).publishOne)},
	}
}

func (b *bench) openShop(n int) (*shop, error) {
	dir, err := b.project(n)
	if err != nil {
		return nil, err
	}
	s := &shop{b: b, n: n, makes: dir, reads: filepath.Join(b.dir, "reads"), dir: filepath.Join(b.dir, "shop", "r.git"), clone: filepath.Join(b.dir, "clone.git")}
	server, err := b.serveGit(filepath.Dir(s.dir))
	if err != nil {
		return nil, err
	}
	s.url = server + "/r.git"
	s.cache, s.remains = strings.TrimSpace(b.output("rye", "where", "cache")), strings.TrimSpace(b.output("rye", "where", "state"))
	return s, errors.Join(
		b.pins(dir, n, keepPins), b.pins(dir, n, restorePins),
		b.do(b.dir, "git", "init", "--quiet", "--bare", s.dir), b.do(s.dir, "git", "config", "http.receivepack", "true"),
		b.do(dir, "rye", "registry", "init", s.url, "--name", "shop", "--yes", "--quiet"),
		b.do(dir, "rye", "push", "--all", "--registry", "shop", "--quiet"),
		b.do(dir, "rye", "registry", "checkpoint", "--yes", "--quiet"),
		os.MkdirAll(s.reads, 0o755), b.do(s.reads, "rye", "init", "--quiet"),
		b.do(s.reads, "rye", "registry", "add", s.url, "--name", "shop", "--scope", "acme", "--yes", "--quiet"),
		b.do(s.reads, "rye", "add", "acme/knowledge/"+strings.TrimPrefix(entry(0), "acme/"), "--yes", "--quiet"),
		b.do(b.dir, "git", "clone", "--quiet", "--bare", s.url, s.clone))
}

// serveGit serves the repositories below a directory by git's http-backend.
func (b *bench) serveGit(root string) (url string, err error) { return b.serveGitSlowly(root, 0) }

// serveGitSlowly is serveGit for a host on another machine, which takes its time for each answer and
// nothing of the processors here: it gives the same answer to the same request. So its repositories
// must not change.
func (b *bench) serveGitSlowly(root string, each time.Duration) (url string, err error) {
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", err
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	backend := collected{&cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + b.dir}, InheritEnv: []string{"PATH"}}}
	var handler http.Handler = backend
	if each > 0 {
		handler = &elsewhere{Handler: backend, each: each, answers: map[string]*httptest.ResponseRecorder{}}
	}
	server := &http.Server{Handler: handler}
	go server.Serve(at)
	b.ends = append(b.ends, server.Close)
	return "http://" + at.Addr().String(), nil
}

// elsewhere remembers the answers of its handler, and waits before each.
type elsewhere struct {
	http.Handler
	each    time.Duration
	mu      sync.Mutex
	answers map[string]*httptest.ResponseRecorder
}

func (h *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := strings.Join([]string{r.Method, r.URL.String(), r.Header.Get("Git-Protocol"), r.Header.Get("Accept-Encoding"), string(body)}, "\n")
	h.mu.Lock()
	answer := h.answers[key]
	h.mu.Unlock()
	if answer == nil {
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		answer = httptest.NewRecorder()
		h.Handler.ServeHTTP(answer, r)
		h.mu.Lock()
		h.answers[key] = answer
		h.mu.Unlock()
	}
	time.Sleep(h.each)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
}

// collected gives its handler only bodies of known length. It first collects a chunked body,
// such as git's push of a large pack, in a file, as web servers do for CGI.
type collected struct{ http.Handler }

func (h collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength >= 0 {
		h.Handler.ServeHTTP(w, r)
		return
	}
	f, err := os.CreateTemp("", "rye-bench-body-")
	if err == nil {
		defer f.Close()
		defer os.Remove(f.Name())
		r.ContentLength, err = io.Copy(f, r.Body)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.Body, r.TransferEncoding = f, nil
	h.Handler.ServeHTTP(w, r)
}

func (s *shop) nothingNew() (side, side, error) {
	return s.b.process(s.reads, "rye", "fetch", "--quiet"), s.b.process(s.clone, "git", "fetch", "--quiet", "origin", "+refs/heads/*:refs/heads/*"), nil
}

// add adds one item that was not added before.
func (s *shop) add() (cost, error) {
	s.added++
	name := strings.Replace(entry(s.added*7919%s.n), "acme/", "acme/knowledge/", 1)
	return s.b.process(s.reads, "rye", "add", name, "--yes", "--quiet")()
}

func (s *shop) whole() side {
	return func() (cost, error) {
		to := filepath.Join(s.b.dir, "whole.git")
		if err := os.RemoveAll(to); err != nil {
			return cost{}, err
		}
		return s.b.process(s.b.dir, "git", "clone", "--quiet", "--bare", s.url, to)()
	}
}

func (s *shop) one() (side, side, error) { return s.add, s.whole(), nil }

// first is add without rye's data of registries, as on a new machine.
func (s *shop) first() (side, side, error) {
	return func() (cost, error) {
		if err := errors.Join(os.RemoveAll(filepath.Join(s.cache, "registries")), os.RemoveAll(filepath.Join(s.remains, "registries"))); err != nil {
			return cost{}, err
		}
		return s.add()
	}, s.whole(), nil
}

// publishOne publishes one more item. The peer commits one new file into a branch with as many
// files.
func (s *shop) publishOne() (side, side, error) {
	tree := filepath.Join(s.b.dir, "tree")
	err := errors.Join(os.CopyFS(tree, os.DirFS(filepath.Join(s.makes, ".ai", "knowledge"))),
		s.b.do(tree, "git", "init", "--quiet"), s.b.do(tree, "git", "config", "http.postBuffer", "1000000000"), s.b.do(tree, "git", "add", "."), s.b.do(tree, "git", "commit", "--quiet", "-m", "all"),
		s.b.do(s.b.dir, "git", "init", "--quiet", "--bare", filepath.Join(s.b.dir, "shop", "git.git")),
		s.b.do(filepath.Join(s.b.dir, "shop", "git.git"), "git", "config", "http.receivepack", "true"),
		s.b.do(tree, "git", "push", "--quiet", strings.Replace(s.url, "/r.git", "/git.git", 1), "HEAD:refs/heads/main"))
	ours := func() (cost, error) {
		s.published++
		i := s.n + 1000 + s.published
		if err := errors.Join(writeEntry(s.makes, i), s.b.do(s.makes, "rye", "sign", "--quiet", "knowledge:"+entry(i))); err != nil {
			return cost{}, err
		}
		return s.b.process(s.makes, "rye", "push", "--quiet", "knowledge:"+entry(i))()
	}
	theirs := func() (cost, error) {
		s.published++
		name := fmt.Sprintf("new%d.md", s.published)
		err := errors.Join(os.WriteFile(filepath.Join(tree, name), []byte(name), 0o644), s.b.do(tree, "git", "add", name), s.b.do(tree, "git", "commit", "--quiet", "-m", name))
		if err != nil {
			return cost{}, err
		}
		return s.b.process(tree, "git", "push", "--quiet", strings.Replace(s.url, "/r.git", "/git.git", 1), "HEAD:refs/heads/main")()
	}
	return ours, theirs, err
}
