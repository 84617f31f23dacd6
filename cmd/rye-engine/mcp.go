package main

import (
	"context"
	"os"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/serve/mcp"
)

// serveMCP is the engine's side of rye mcp.
func serveMCP(ctx context.Context, a *app.App) error {
	open := func(project string) *rye.Rye {
		o := a.Options()
		o.Project, o.Consent, o.Passphrase, o.Progress = project, mcp.Consent, nil, nil
		return rye.Open(o)
	}
	s := mcp.New(mcp.Options{
		Here: open(a.Project),
		Open: func(path string) (mcp.Verbs, error) {
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
