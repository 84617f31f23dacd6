// Package run runs items: it asks the policy and the user about a verified plan, and hands
// the plan to its primitive. It also answers a tool that calls rye back while it runs.
package run

import (
	"context"
	"encoding/json"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// searchOf returns the places to look for the interpreters of a host's tools.
func searchOf(h *session.Host, o *custody.Options) primitive.Search {
	return primitive.Search{Project: h.ProjectDir, Vars: o.Interpreters, Path: o.Path, Home: h.Home}
}

// Runner runs items, at most Options.Workers at once. It is safe for concurrent use.
type Runner struct {
	host  *session.Host
	keys  *custody.Keys
	verbs rye.Verbs // for calls by running tools; with nil no tool may call
	serve Serve
	turns session.Turns
}

// Serve carries out a function that acts in this process; nil for none.
type Serve func(context.Context, rye.Caller, rye.ServedCall) (json.RawMessage, error)

// New returns a runner. Running tools call verbs, which may be nil.
func New(h *session.Host, keys *custody.Keys, verbs rye.Verbs, serve Serve) *Runner {
	return &Runner{host: h, keys: keys, verbs: verbs, serve: serve, turns: session.NewTurns(keys.Workers)}
}
