// Package run lets items run: it plans, locks, asks the policy and the person, and hands
// what was verified to a primitive.
package run

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/url"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Options are what running takes from the program around.
type Options struct {
	Interpreters map[string]string // RYE_PYTHON, RYE_NODE, ...: chosen by the user
	Path         string            // PATH for finding interpreters
	Home         string            // where version managers keep theirs
	Env          []string          // of which tools get what they declare
	Proxy        func(*http.Request) (*url.URL, error)
	Roots        *x509.CertPool // of tools' requests; nil is the system's

	// Self returns the program that runs builtins, which is rye, and its build: what
	// answers must be what asks. nil when this program cannot be one.
	Self func() (program, build string, err error)

	Workers int // executions at once, others wait in line; 0 is four for each processor, at least eight
}

// Runner executes, so many items at once as it has turns. It is safe for concurrent use.
type Runner struct {
	host *session.Host
	Keys *custody.Keys
	Options
	turns session.Turns
}

// New returns a runner.
func New(h *session.Host, keys *custody.Keys, o Options) *Runner {
	return &Runner{host: h, Keys: keys, Options: o, turns: session.NewTurns(o.Workers)}
}

// Desk is one session of a runner.
type Desk struct {
	*session.Session
	*Runner
}

// At returns a desk for a session.
func (r *Runner) At(s *session.Session) *Desk { return &Desk{s, r} }

// Plan works out what running a tool would do.
func Plan(ctx context.Context, s *session.Session, ref objects.Ref) (*chain.Plan, error) {
	return chain.Resolve(ctx, finder{s}, ref)
}
