package main

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/secret"
	"github.com/rye-os/rye/agent/thread"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/rlimit"
	"github.com/rye-os/rye/workspace"
)

// threads returns the threads of the project of a run.
func threads(a *app.App) (rye.Threads, error) {
	o, err := threadOptions(a, a.Open(), a.Dir)
	if err != nil {
		return nil, err
	}
	return thread.New(o), nil
}

// runThread runs the engine as the process of one thread.
func runThread(ctx context.Context, a *app.App) error {
	debug.SetGCPercent(25)
	holdTo(0)
	return app.ServeThread(ctx, func() (app.ThreadRunner, error) {
		o, err := threadOptions(a, openServing(a, a.ThreadOptions(), a.Dir), a.Dir)
		if err != nil {
			return nil, err
		}
		o.Prompt, o.Confine = holdTo, rlimit.Memory
		return thread.Prepare(ctx, o), nil
	})
}

// serveCall serves one call to a library tool for threads, which rye passed on.
func serveCall(ctx context.Context, a *app.App) error {
	return app.ServeCall(ctx, func(ctx context.Context, q rye.ServedCall) (json.RawMessage, error) {
		o, err := threadOptions(a, a.Open(), a.Dir)
		if err != nil {
			return nil, err
		}
		return thread.Serve(ctx, thread.New(o), a.Caller, q)
	})
}

// openServing opens a workspace whose thread tools act in this process, and that searches
// transcripts. dir is the project's directory.
func openServing(a *app.App, o workspace.Options, dir string) (w *workspace.Workspace) {
	o.Serve = func(ctx context.Context, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
		t, err := threadOptions(a, w, dir)
		if err != nil {
			return nil, err
		}
		return thread.Serve(ctx, thread.New(t), c, q)
	}
	o.Turns = func(ctx context.Context, c rye.Caller, q workspace.TurnsRequest) (*workspace.Turns, error) {
		return turnsOf(ctx, a, w, dir, c, q)
	}
	w = workspace.Open(o)
	return w
}

// turns opens transcripts for a search from the command line.
func turns(a *app.App) app.TurnsOf {
	return func(ctx context.Context, c rye.Caller, q workspace.TurnsRequest) (*workspace.Turns, error) {
		return turnsOf(ctx, a, a.Open(), a.Dir, c, q)
	}
}

// turnsOf opens the transcripts of a workspace's project.
func turnsOf(ctx context.Context, a *app.App, w *workspace.Workspace, dir string, c rye.Caller, q workspace.TurnsRequest) (*workspace.Turns, error) {
	o, err := threadOptions(a, w, dir)
	if err != nil {
		return nil, err
	}
	t, err := thread.OpenTurns(ctx, thread.New(o), c, thread.TurnsRequest(q))
	return (*workspace.Turns)(t), err
}

// holdTo keeps the memory of a thread's process in proportion to its prompt. The conversation is
// kept whole and rendered whole for each question, so there is much garbage, and there may be many
// such processes. The limit includes the program's own pages (26 MB).
func holdTo(prompt int) { debug.SetMemoryLimit(max(20<<20, 8<<20+5*int64(prompt)/2)) }

// threadOptions returns the options for the project at or above dir.
func threadOptions(a *app.App, w *workspace.Workspace, dir string) (thread.Options, error) {
	if a.Caller.IsInside() {
		return thread.Options{}, fault.New(fault.Denied, "a run can neither start nor inspect threads")
	}
	if a.LedgerPath() == "" {
		return thread.Options{}, fault.New(fault.Denied, "threads need the data directory for their costs, and it is missing").Advise("rye where")
	}
	secrets := app.Secrets{App: a, Open: func(file, identity []byte, passphrase func() ([]byte, error)) (map[string]string, error) {
		return secret.Open(file, secret.Keys{Identity: identity, Passphrase: passphrase})
	}}
	return thread.Options{
		Verbs: w, Record: w.Record(), Ledger: a.LedgerPath(), Live: app.AIOf(a), Cache: a.Cache, Boot: app.BootID(), User: "user",
		HTTP:   &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}},
		Secret: secrets.Secret, Host: secrets.Host,
		Spawn: func(_ context.Context, id string, handed []byte) (thread.Child, error) {
			return a.SpawnThread(dir, id, handed)
		},
		Ahead:    func(context.Context) (thread.Early, error) { return a.ThreadAhead(dir) },
		Answered: func(ctx context.Context, question string) (bool, bool, error) { return app.Answered(ctx, w, question) },
	}, nil
}
