// Package workspace is the door to everything that rye does: a Workspace is one project,
// or none, opened for work, and its methods are the verbs. The command line, the MCP
// server and programs that embed rye call them and nothing below.
//
// Each verb takes a context, a rye.Caller and one request of package rye, and returns one
// report. The caller must hold the capability rye.<verb>; searching, loading, executing
// and signing ask for one that names the item. When the context is cancelled a verb
// stops, ends what it started, and leaves nothing half done. Errors carry a code and often
// a remedy: see package fault.
//
// Verbs that belong together are grouped: w.Keys(), w.Trust(), w.Bundles(), w.Locks(),
// w.Policy(), w.Registry(), w.History() and w.Upkeep().
package workspace

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/finder"
	"github.com/rye-os/rye/workspace/internal/run"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Options say where a Workspace finds its directories and how it speaks to a person. The
// zero value has no project, no keys and nobody to ask; what a verb then lacks is its
// error. Nothing in rye's packages reads the environment: internal/app fills this for the
// programs.
type Options struct {
	Project   string   // directory that holds .ai/rye.yaml; "" outside a project
	Over      []string // directories of projects whose policies hold, too: those that Project lies in, those of a server that opens it
	NoProject string   // where the search for a project ended early, and why; for the error of verbs that want one
	User      string   // the user space's base; its items are in <User>/.ai; "" for none
	ConfigDir string   // keys, trust.yaml, policy.yaml
	StateDir  string   // what registries were seen to say, never delete; and the log of verdicts
	CacheDir  string   // may be deleted at any time
	DataDir   string   // the records of spaces; "" works without: no history, no dependencies
	Sudo      int      // the user whom a program that runs as root acts for, whose projects are its own; 0 for none

	Key        string                 // name or path of the signing key, agent[:SHA256:...] or kms:<address>; "" is "default"
	Agent      string                 // the ssh-agent's socket; "" for none
	Passphrase func() ([]byte, error) // asks for the key's passphrase; nil when nobody can be asked
	// KeyService signs a message with a key service; without a message it only says which
	// key it is. nil when there is none.
	KeyService   func(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error)
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

	// Page turns a page of the web into what it says; nil where nobody does, and tools
	// that want it are refused.
	Page func(context.Context, rye.WebPage) ([]byte, error)

	// Serve does what a tool of the library asks of rye itself, such as the state of an agent
	// thread, on behalf of a caller whom every gate has let pass. It returns one JSON value. nil
	// where nobody does, and such tools are refused.
	Serve func(context.Context, rye.Caller, rye.ServedCall) (json.RawMessage, error)

	// Helper starts a program that hands the arguments which follow to ServeHelper, for
	// instance this one: what outsiders send that may be large is read there, with
	// little memory and time. nil reads it here.
	Helper []string

	// Self returns the program that runs builtins, which is rye, and its build: what
	// answers must be what asks. nil when this program cannot be one.
	Self func() (program, build string, err error)

	Version string // of the program; recorded, never trusted

	// Index finds words in what items say. nil where there is none: then only what needs no
	// words is found.
	Index Index

	// Turns opens the transcripts of threads that a caller may see, for a search among them. nil
	// where no threads are known: then such a search is refused with rye.WordlessError.
	Turns func(context.Context, rye.Caller, TurnsRequest) (*Turns, error)

	// Historian compares versions line by line: blame, and patches in a log. nil where nobody
	// does, and both are refused.
	Historian Historian

	// Wordless is set where Index is nil and another program has one: a tool that may search is
	// then refused with rye.WordlessError, before anything happens, and can be run by that program.
	Wordless bool

	Workers int // executions at once, others wait in line; 0 is four for each processor, at least eight

	Offline  bool
	Now      func() time.Time                                        // nil means time.Now
	Consent  func(ctx context.Context, q rye.Question) (bool, error) // nil refuses everything
	Progress func(text string)                                       // nil is silence
	Notice   func(text string)                                       // told what no report holds, and the user should know; nil is silence
	Verdict  func(rye.Verdict)                                       // gets every decision of the policy; called by one verb at a time, by several verbs at once
}

// Index finds words in what items say: search/fulltext makes one.
type Index = search.Index

// Turns are transcripts of threads as one caller sees them; TurnsRequest asks for them.
type (
	Turns        = finder.Turns
	TurnsRequest = finder.TurnsRequest
)

// Historian compares the versions of files in a repository: store/gogit has one.
type Historian = session.Historian

// Workspace is one project (or none), one user space and the standard library, opened for
// work. It is safe for concurrent use, holds nothing open between verbs, and needs no
// closing.
type Workspace struct{ rooms }

// rooms is what the verbs are made of, each with its own state.
type rooms struct {
	host   *session.Host
	finder *finder.Finder
	keys   *custody.Keys
	runner *run.Runner
}

// Open returns a Workspace. It touches nothing: a missing project shows when a verb needs
// one.
func Open(o Options) *Workspace {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Key == "" {
		o.Key = "default"
	}
	h := &session.Host{Home: o.Home, ProjectDir: o.Project, Over: o.Over, Ended: o.NoProject, UserDir: o.User,
		Dirs:    session.Dirs{ConfigDir: o.ConfigDir, StateDir: o.StateDir, CacheDir: o.CacheDir},
		Records: records.Open(o.DataDir), Sudo: o.Sudo,
		Version: o.Version, Offline: o.Offline, Now: o.Now, Consent: o.Consent, Progress: o.Progress, Notice: o.Notice, OnVerdict: o.Verdict,
		System: sync.OnceValues(space.OpenSystem), Historian: o.Historian}
	keys := custody.New(h, &custody.Options{Key: o.Key, Agent: o.Agent, Passphrase: o.Passphrase, KeyService: o.KeyService,
		Token: o.Token, Netrc: o.Netrc, Git: o.Git, Env: o.Env, Proxy: o.Proxy, Roots: o.Roots, Helper: o.Helper,
		Interpreters: o.Interpreters, Path: o.Path, Workers: o.Workers, Page: o.Page, Self: o.Self, Wordless: o.Wordless})
	w := &Workspace{rooms{host: h, finder: finder.New(o.Index, o.Turns), keys: keys}}
	w.runner = run.New(h, keys, w, w.served(o.Serve))
	return w
}

// ServeHelper does the work of Options.Helper in this process, from standard input to
// standard output, and returns the exit status.
func ServeHelper(args []string) int { return store.ServeImport(args, os.Stdin, os.Stdout) }

// TokenVariable returns the name of the environment variable that holds the token for
// a host, or "" where none can: "git.example.org" gives RYE_TOKEN_GIT_EXAMPLE_ORG.
func TokenVariable(host string) string { return transport.TokenVariable(host) }

// Names of files: of the project's below .ai, and of the user's in ConfigDir.
const (
	ProjectFile = session.ProjectFile // below .ai: names the project, its registries and dependencies
	LockFile    = session.LockFile    // below .ai: what it uses, pinned
	PolicyFile  = session.PolicyFile  // in both: what may run
	ConsentFile = run.ConsentFile     // in ConfigDir: what the user agreed to although it is unsigned
)
