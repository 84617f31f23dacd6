// Package rye is one .ai directory of directives, tools and knowledge, signed,
// layered and pinned, offered as a handful of verbs. Every face of rye (command
// line, MCP) calls these verbs and nothing below them; programs that embed rye
// do the same.
//
// A Rye is safe for concurrent use. Methods that wait take a context; when it is
// cancelled they stop, end what they started, and leave nothing half done.
// Errors carry a code and often a remedy: see Code and Hint.
package rye

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/store/transport"
)

// Options says where a Rye finds its directories and how it speaks to a person.
// internal/app fills it from the environment; nothing below reads the environment.
type Options struct {
	Project   string // directory that holds .ai/rye.yaml; "" outside a project
	User      string // the user space's base; its items are in <User>/.ai; "" for none
	ConfigDir string // keys, trust.yaml, policy.yaml
	StateDir  string // what registries were seen to say, never delete; and the log of verdicts
	CacheDir  string // may be deleted at any time

	Key        string                 // name or path of the signing key, agent[:SHA256:...] or kms:<address>; "" is "default"
	Agent      string                 // the ssh-agent's socket; "" for none
	Passphrase func() ([]byte, error) // asks for the key's passphrase; nil when nobody can be asked
	// KeyService signs a message with a key service; without one it only says which
	// key it is. nil when there is none.
	KeyService   func(ctx context.Context, uri string, message []byte) (KeyAnswer, error)
	Interpreters map[string]string // RYE_PYTHON, RYE_NODE, ...: chosen by the user
	Path         string            // PATH for finding interpreters
	Home         string            // where version managers keep theirs

	// How other machines are reached; see store/transport.
	Token func(host string) string
	Netrc string        // the user's netrc file; "" for none
	Git   func() string // finds git, for its credential helpers; nil, or "" for none
	Env   []string      // for ssh and git, cleaned before use, and what tools declare of it
	Proxy func(*http.Request) (*url.URL, error)
	Roots *x509.CertPool // of tools' requests; nil is the system's

	// Helper starts a program that hands the arguments which follow to ServeHelper, for
	// instance this one: what outsiders send that may be large is read there, with
	// little memory and time. nil reads it here.
	Helper []string

	// Self returns the program that runs builtins, which is rye, and its build: what
	// answers must be what asks. nil when this program cannot be one (see builtin.Main).
	Self func() (program, build string, err error)

	Version string // of the program; recorded, never trusted

	Workers int // executions at once, others wait in line; 0 is four for each processor, at least eight

	Offline  bool
	Now      func() time.Time                                    // nil means time.Now
	Consent  func(ctx context.Context, q Question) (bool, error) // nil refuses everything
	Progress func(text string)                                   // nil is silence
	Verdict  func(Verdict)                                       // gets every decision of the policy; called by one verb at a time, by several verbs at once
}

// Question is a decision that only a person, or a flag that stands for one, may take.
type Question struct {
	Topic string     // "pin registry", "accept project", "run", ...
	Text  string     // one line
	Lines []string   // what is being agreed to: fingerprints, a diff, capabilities
	Mend  fault.Hint // the flag or command that answers yes without a terminal

	// Person is set for what only a person who looks at it may answer: a yes makes
	// something trusted that was not, so that no flag may stand for one.
	Person bool
}

// Caller is on whose behalf a verb is called. It decides which capabilities hold.
type Caller struct {
	Name string   // "terminal", "mcp", ...
	Caps []string // capability patterns; nil means none. A person at a terminal holds rye.*
}

// Terminal is the caller with every capability: the person who owns the keys.
var Terminal = Caller{Name: "terminal", Caps: []string{"rye.*"}}

// Client is an MCP client: search, load and execute, and sign under approval.
var Client = Caller{Name: "mcp", Caps: []string{"rye.search.*", "rye.load.*", "rye.execute.*", "rye.sign.*"}}

// ServeHelper does the work of Options.Helper in this process, from standard input to
// standard output, and returns the exit status.
func ServeHelper(args []string) int { return store.ServeImport(args, os.Stdin, os.Stdout) }

// TokenVariable returns the name of the environment variable that holds the token for
// a host: "git.example.org" gives RYE_TOKEN_GIT_EXAMPLE_ORG.
func TokenVariable(host string) string { return transport.TokenVariable(host) }

// State is what a working item is, compared with its signature and its space:
// signed, modified, unsigned, untrusted, older, deleted, legacy, malformed, revoked.
type State = space.State

// ItemInfo describes one item for lists and status.
type ItemInfo struct {
	Ref         string   `json:"ref"`
	Kind        string   `json:"kind"`
	ID          string   `json:"id"`
	Space       string   `json:"space"`
	State       State    `json:"state"`
	Why         string   `json:"why,omitempty"`
	Recorded    bool     `json:"recorded"` // the space's ref holds these very bytes
	Path        string   `json:"path,omitempty"`
	Name        string   `json:"name,omitempty"`
	Title       string   `json:"title,omitempty"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	Category    string   `json:"category,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Signer      string   `json:"signer,omitempty"`
	SignedAt    string   `json:"signed_at,omitempty"`
	SHA256      string   `json:"sha256,omitempty"`
	Locked      bool     `json:"locked,omitempty"`
	Covers      string   `json:"covers,omitempty"`  // what a signature of the ancestor covers
	Bundle      string   `json:"bundle,omitempty"`  // the bundle that it lies in, or is
	Shadows     []string `json:"shadows,omitempty"` // spaces below that hold the same ref

	// Fields are further ones that an extractor of the project or the user asks for.
	Fields map[string]string `json:"fields,omitempty"`

	// Set by Show only.
	Executor string      `json:"executor_id,omitempty"`
	Params   []ParamInfo `json:"parameters,omitempty"`
}

// Survey is how many items of a project are in each state, and which of them there is
// more to say of than that they are signed and recorded.
type Survey struct {
	Count map[State]int // of all items; a state that none is in is not there
	Items []ItemInfo
}

// ParamInfo is a parameter of a tool or an input of a directive.
type ParamInfo struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Default     string `json:"default,omitempty"`
	Description string `json:"description,omitempty"`
}

// Ref is the name of an item; see objects.ParseRef for its forms.
type Ref = objects.Ref
