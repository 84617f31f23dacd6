package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/thread"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/serve/mcp"
	"github.com/rye-os/rye/workspace"
)

// serveMCP serves rye mcp.
func serveMCP(ctx context.Context, a *app.App) error {
	served, err := a.Serve(a.Projects)
	if err != nil {
		return err
	}
	p := &projects{app: a, served: served, have: map[string]*workspace.Workspace{}}
	s := mcp.New(mcp.Options{Project: p.verbs, Threads: p.threads, Missing: p.missing, Caller: client(a), Version: build.Version(), Log: os.Stderr, Hurry: app.Hurry(ctx)})
	command := "rye mcp"
	if a.Reach.Addr != "" {
		command += " serve --http " + a.Reach.Addr
	}
	defer workspace.Serving(a.Open(), command)()
	if a.Reach.Addr != "" {
		return serveHTTP(ctx, a, s)
	}
	return s.Serve(ctx, os.Stdin, os.Stdout)
}

// missing describes what a person must set up before some calls can succeed.
func (p *projects) missing() (lacks []string) {
	w, project, err := p.at("")
	if err != nil {
		return nil // each call reports the error
	}
	if project == "" {
		lacks = append(lacks, "There is no project in this server's directory; a person creates one there with: rye init. The server then sees it at once.")
	}
	if keys, err := w.Keys().List(context.Background(), p.app.Caller); err == nil && !slices.ContainsFunc(keys, func(k rye.KeyInfo) bool { return !k.Retired }) {
		lacks = append(lacks, "There is no signing key, so sign fails; a person creates one with: rye key new.")
	}
	return lacks
}

// client returns the caller for which the server acts.
func client(a *app.App) rye.Caller {
	if a.Caller.IsInside() {
		return a.Caller
	}
	return rye.Client()
}

// projects holds the server's projects, each opened once; an open one holds no files and no locks.
// There are as many as the user listed, and another one for each when a project is created around
// it.
type projects struct {
	app    *app.App
	served *app.Served
	mu     sync.Mutex
	have   map[string]*workspace.Workspace
}

func (p *projects) verbs(path string) (rye.Verbs, error) {
	w, _, err := p.at(path)
	return w, err
}

func (p *projects) threads(path string) (rye.Threads, error) {
	w, project, err := p.at(path)
	if err != nil {
		return nil, err
	}
	o, err := threadOptions(p.app, w, project)
	return thread.New(o), err
}

func (p *projects) at(path string) (w *workspace.Workspace, project string, err error) {
	project, over, err := p.served.At(path)
	if err != nil {
		return nil, "", err
	}
	key := strings.Join(append([]string{project}, over...), "\x00")
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.have[key]
	if !ok {
		o := p.app.Options()
		o.Project, o.Over, o.Passphrase, o.Progress, o.Notice, o.Page = project, over, nil, nil, nil, readPage
		if o.Consent != nil { // inside a run, the client is the run
			o.Consent, o.NoPerson = mcp.Consent, false
		}
		w = openServing(p.app, o, project)
		p.have[key] = w
	}
	return w, project, nil
}
