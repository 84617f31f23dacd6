package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"time"
)

// A host serves one bare repository over smart HTTP on loopback, like a git forge.
type host struct {
	url    string
	dir    string // the bare repository
	how    string // which program speaks the protocol
	server *http.Server
	done   chan error
}

func (w *world) startHost(ctx context.Context) (*host, error) {
	h := &host{dir: filepath.Join(w.dir, "host", "tools.git"), done: make(chan error, 1)}
	var handler http.Handler
	var err error
	if w.git != "" {
		h.how = "git http-backend"
		handler, err = w.gitBackend(ctx, h.dir)
	} else {
		h.how = "rye's own code for tests"
		handler, err = ownBackend(h.dir)
	}
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h.url = fmt.Sprintf("http://%s/tools.git", l.Addr())
	h.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { h.done <- h.server.Serve(l) }()
	return h, nil
}

// shared returns the address of the bare repository through which the two share their project.
func (w *world) shared() string { return filepath.Join(w.dir, "shared.git") }

// close ends the server and waits for it.
func (h *host) close() error {
	err := h.server.Close()
	if e := <-h.done; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// gitBackend makes an empty bare repository that accepts every push, and serves it with
// git's own CGI program.
func (w *world) gitBackend(ctx context.Context, dir string) (http.Handler, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "--quiet", "--bare", "--initial-branch=main", dir}, {"-C", dir, "config", "http.receivepack", "true"}} {
		cmd := w.alice.command(ctx, append([]string{w.git}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		env := append(w.alice.env(), "GIT_PROJECT_ROOT="+filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1")
		if v := r.Header.Get("Git-Protocol"); v != "" {
			env = append(env, "GIT_PROTOCOL="+v)
		}
		(&cgi.Handler{Path: w.git, Args: []string{"http-backend"}, Env: env}).ServeHTTP(rw, r)
	}), nil
}
