package main

import (
	"context"
	"os"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/serve/mcp"
	"github.com/rye-os/rye/workspace"
)

// serveMCP is the engine's side of rye mcp.
func serveMCP(ctx context.Context, a *app.App) error {
	open := func(project string) *workspace.Workspace {
		o := a.Options()
		o.Project, o.Consent, o.Passphrase, o.Progress, o.Page = project, mcp.Consent, nil, nil, readPage
		return workspace.Open(o)
	}
	s := mcp.New(mcp.Options{
		Here: open(a.Project),
		Open: func(path string) (rye.Verbs, error) {
			project, err := a.ProjectAt(path)
			if err != nil {
				return nil, err
			}
			return open(project), nil
		},
		Version: build.Version(),
		Log:     os.Stderr,
	})
	return s.Serve(ctx, os.Stdin, os.Stdout)
}
