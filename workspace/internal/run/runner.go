// Package run runs items: it asks the policy and the user about a verified plan, and
// hands the plan to the primitive that it ends in. It also answers a tool that calls rye back
// while it runs.
package run

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
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

	// Page turns a page of the web into what it says; nil where nobody does.
	Page func(context.Context, rye.WebPage) ([]byte, error)

	// Self returns the program that runs builtins, which is rye, and its build: what
	// answers must be what asks. nil when this program cannot be one.
	Self func() (program, build string, err error)

	// Verbs are what tools ask of rye while they run; nil lets none ask.
	Verbs rye.Verbs

	// Wordless refuses a tool that may search, with rye.WordlessError and before anything happens:
	// whoever asks has it run by a program that searches words.
	Wordless bool

	// Serve does what a function asks that acts in this process; nil where nobody does.
	Serve func(context.Context, rye.Caller, rye.ServedCall) (json.RawMessage, error)

	Workers int // executions at once, others wait in line; 0 is four for each processor, at least eight
}

// search says where the interpreters of a project's tools are looked for.
func (o Options) search(project string) primitive.Search {
	return primitive.Search{Project: project, Vars: o.Interpreters, Path: o.Path, Home: o.Home}
}

// Runner runs items, at most Options.Workers at once. It is safe for concurrent use.
type Runner struct {
	host    *session.Host
	keys    *custody.Keys
	options Options
	turns   session.Turns
}

// New returns a runner.
func New(h *session.Host, keys *custody.Keys, o Options) *Runner {
	return &Runner{host: h, keys: keys, options: o, turns: session.NewTurns(o.Workers)}
}

// Desk is what running one item needs: what is there, the user's keys, and the options
// of the runner.
type Desk struct {
	*session.Session
	Keys *custody.Keys
	Options
}

// At returns the desk for a session.
func (r *Runner) At(s *session.Session) *Desk { return &Desk{s, r.keys, r.options} }
