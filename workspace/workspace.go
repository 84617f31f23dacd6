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

// Options say where a Workspace finds its directories and how it speaks to a person. The zero
// value has no project, no keys and no one to ask; a verb that needs one of these fails.
// Nothing in rye's packages reads the environment: internal/app fills this for the programs.
type Options struct {
	Project   string   // directory that holds .ai/rye.yaml; "" outside a project
	Over      []string // directories of projects whose policies also apply: around Project, and of a server that opens it
	NoProject string   // where and why the search for a project ended early; for the error of verbs that want one
	User      string   // the user space's base; its items are in <User>/.ai; "" for none
	ConfigDir string   // keys, trust.yaml, policy.yaml
	StateDir  string   // remembered states of registries, never delete; and the log of verdicts
	CacheDir  string   // may be deleted at any time
	DataDir   string   // the records of spaces; "" works without: no history, no dependencies
	Sudo      int      // for a program that runs as root: the user that it acts for, whose projects count as its own; 0 for none

	Key        string                 // name or path of the signing key, agent[:SHA256:...] or kms:<address>; "" is "default"
	Agent      string                 // the ssh-agent's socket; "" for none
	Passphrase func() ([]byte, error) // asks for the key's passphrase; nil when no one can be asked
	// KeyService signs a message with a key service; without a message it only names its
	// key. nil when there is none.
	KeyService   func(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error)
	Interpreters map[string]string // RYE_PYTHON, RYE_NODE, ...: chosen by the user
	Path         string            // PATH for finding interpreters
	Home         string            // the base of the version managers' directories

	// Access to other machines; see store/transport.
	Token func(host string) string
	Netrc string        // the user's netrc file; "" for none
	Git   func() string // finds git, for its credential helpers; nil, or "" for none
	Env   []string      // for ssh and git, cleaned before use; tools get the variables that they declare
	Proxy func(*http.Request) (*url.URL, error)
	Roots *x509.CertPool // of tools' requests; nil is the system's

	// Page extracts the text of a web page. With nil, tools that need it are refused.
	Page func(context.Context, rye.WebPage) ([]byte, error)

	// Serve does the work of a library tool that asks rye itself, such as for the state of an
	// agent thread. The caller has passed every gate. It returns one JSON value. With nil such
	// tools are refused.
	Serve func(context.Context, rye.Caller, rye.ServedCall) (json.RawMessage, error)

	// Helper starts a program, such as this one, that passes the arguments after it to
	// ServeHelper. It reads data from outside that may be large, with little memory and time.
	// nil reads the data in this process.
	Helper []string

	// Self returns the program that runs builtins, which is rye, and its build. The build
	// that asks must also answer. nil when this program cannot run builtins.
	Self func() (program, build string, err error)

	Version string // of the program; recorded, never trusted
	// Program returns the program's path, by which the user's git starts it to merge items. nil
	// and "" set nothing up.
	Program func() string

	// Index finds words in items. With nil, only searches without words work.
	Index Index

	// Turns opens the transcripts of threads that a caller may see, for a search in them. With
	// nil such a search is refused with rye.WordlessError.
	Turns func(context.Context, rye.Caller, TurnsRequest) (*Turns, error)

	// Historian compares versions line by line: blame, and patches in a log. With nil both are
	// refused.
	Historian Historian

	// Wordless is set where Index is nil and another program has one. A tool that may search
	// is then refused at once with rye.WordlessError, and that other program can run it.
	Wordless bool

	Workers int // executions at once, others wait in line; 0 is four for each processor, at least eight

	Offline  bool
	Now      func() time.Time                                        // nil means time.Now
	Consent  func(ctx context.Context, q rye.Question) (bool, error) // nil refuses everything
	NoPerson bool                                                    // Consent cannot reach a person: what only prepares a question for one is left out
	Progress func(text string)                                       // nil is silence
	Notice   func(text string)                                       // gets facts that no report holds and the user should know; nil is silence
	Verdict  func(rye.Verdict)                                       // gets every decision of the policy; one verb calls it once at a time, several verbs at once
}

// Index finds words in items: search/fulltext makes one.
type Index = search.Index

// Turns are the transcripts of threads that one caller may see; TurnsRequest asks for them.
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

// rooms are the parts behind the verbs, each with its own state.
type rooms struct {
	host   *session.Host
	finder *finder.Finder
	keys   *custody.Keys
	runner *run.Runner
}

// Open returns a Workspace. It opens nothing: a missing project is reported by the first verb
// that needs one.
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
		Version: o.Version, Program: o.Program, Offline: o.Offline, Now: o.Now, Consent: o.Consent, NoPerson: o.NoPerson, Progress: o.Progress, Notice: o.Notice, OnVerdict: o.Verdict,
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

// Names of files, below the project's .ai and in the user's ConfigDir.
const (
	ProjectFile = session.ProjectFile // below .ai: names the project, its registries and dependencies
	LockFile    = session.LockFile    // below .ai: pins the project's items
	PolicyFile  = session.PolicyFile  // in both: permissions to run
	ConsentFile = run.ConsentFile     // in ConfigDir: the user's consent to unsigned things
)
