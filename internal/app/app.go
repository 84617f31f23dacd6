// Package app wires the programs together: it reads the environment once, finds the
// project and the directories, and turns them into the Options of a workspace. Nothing
// below it reads the environment, and it decides nothing about items. It links no face, so
// that the front stays light; cmd/rye-engine ties in the faces of the engine.
package app

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/agents"
	"github.com/rye-os/rye/internal/bearer"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace"
)

// Flags are the options of a command line for a run as a whole.
type Flags struct {
	Dir     string // -C: act as if started there; "" is the working directory
	JSON    bool
	Quiet   bool
	Yes     bool // answers every question without its own flag
	Offline bool
	NoColor bool

	Argv []string // the words after the name of the program, for hints; nil where nobody typed any

	AcceptOwner []string // namespaces that a registry may give to other owners

	Projects []string // further projects that a server serves
	Reach    Reach    // how clients reach a server over HTTP
}

// Reach is how clients reach a server over HTTP, and which ones. The zero value means no HTTP.
type Reach struct {
	Addr      string
	Cert, Key string // files for TLS; "" for plain HTTP
	Proxied   bool   // a proxy in front does TLS
	Hosts     []string
	Origins   []string
}

// TokenFile returns the file with the tokens of clients.
func TokenFile(a *App) (bearer.File, error) {
	if a.Config == "" {
		return "", fault.New(fault.NotFound, "no configuration directory, so tokens cannot be stored").Advise("set HOME or XDG_CONFIG_HOME")
	}
	return bearer.File(filepath.Join(a.Config, "mcp-tokens.json")), nil
}

// TurnsOf opens the transcripts of threads that a caller may see.
type TurnsOf func(context.Context, rye.Caller, workspace.TurnsRequest) (*workspace.Turns, error)

// App is one run of a rye program. New makes it; afterwards it is read-only, except
// its Screen.
type App struct {
	Flags
	Places
	Dir    string     // absolute; relative arguments are relative to it
	Caller rye.Caller // the person at the terminal, or a tool within a run
	Screen *Screen
	Back   rye.Verbs       // the verbs of the outer rye, within a run that may call it; else nil
	Words  workspace.Index // the word index, set by rye-engine; nil in the front
	Turns  TurnsOf         // opens transcripts, set by rye-engine; nil in the front

	Historian workspace.Historian // compares versions, set by rye-engine; nil in the front

	ctx    context.Context // of the run; for questions without a context
	home   string
	getenv func(string) string

	mark func() (agents.Mark, error) // of an agent in the environment; the zero value for none

	uses sync.Once // sets up this process to run other programs
}

// New reads the environment for one run. A directory that does not exist is a
// usage error; a missing project is not an error here.
func New(ctx context.Context, f Flags, s *Screen) (*App, error) {
	a := &App{Flags: f, Screen: s, Caller: caller(), ctx: ctx, getenv: os.Getenv}
	if a.Caller.IsInside() {
		a.Back = back(a.getenv)
	}
	a.mark = sync.OnceValues(a.findMark)
	var err error
	if a.Dir, err = workingDir(f.Dir); err != nil {
		return nil, err
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		a.home = home // "" when unknown: then only the directories in variables exist
	}
	a.Places = findPlaces(a.Dir, a.home, a.getenv)
	if uid := sudoUser(a.getenv("SUDO_UID")); uid != 0 {
		place.ActFor(uid)
	}
	return a, nil
}

// caller returns the caller for whom this program acts. Within a run that is never a person,
// because a tool can make itself a terminal. A tool can also remove the variable, so the mark
// on the process decides, too.
func caller() rye.Caller {
	if _, named := os.LookupEnv(primitive.RunVar); named || primitive.Marked() {
		return rye.Inside()
	}
	return rye.Terminal()
}

func workingDir(given string) (string, error) {
	if given == "" {
		dir, err := os.Getwd()
		if err != nil {
			return "", fault.New(fault.Usage, "find the working directory: %w", err)
		}
		return dir, nil
	}
	dir, err := filepath.Abs(given)
	if err != nil {
		return "", fault.New(fault.Usage, "directory %q: %w", given, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fault.New(fault.Usage, "directory %q: %w", given, pathCause(err))
	}
	if !info.IsDir() {
		return "", fault.New(fault.Usage, "directory %q: it is a file", given)
	}
	return dir, nil
}

// pathCause drops the operation and path that a caller's message already has.
func pathCause(err error) error {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err
	}
	return err
}

// Path makes a path argument absolute, relative to -C.
func (a *App) Path(arg string) string {
	if filepath.IsAbs(arg) {
		return filepath.Clean(arg)
	}
	return filepath.Join(a.Dir, arg)
}

// Options returns the options of the workspace. Consent is asked on the terminal.
func (a *App) Options() workspace.Options {
	a.uses.Do(func() {
		// If the system allows it, processes that a tool leaves behind become children of this
		// program and end with the run. Otherwise results report it.
		_ = primitive.AdoptOrphans()
		primitive.UseCage(a.cage)
	})
	o := a.options()
	if a.Caller.IsInside() {
		o.Consent, o.NoPerson, o.Passphrase, o.KeyService = nil, true, nil, nil // no person to ask, and no key to open
	}
	return o
}

func (a *App) options() workspace.Options {
	return workspace.Options{
		Serve: func(ctx context.Context, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
			return serve(ctx, a, c, q)
		},
		Project:      a.Project,
		NoProject:    a.Ended,
		Over:         a.Over,
		User:         a.User,
		ConfigDir:    a.Config,
		DataDir:      a.Data,
		StateDir:     a.State,
		CacheDir:     a.Cache,
		Sudo:         sudoUser(a.getenv("SUDO_UID")),
		Key:          a.getenv("RYE_KEY"),
		Agent:        a.agent(),
		KeyService:   a.keyService,
		Passphrase:   sync.OnceValues(a.passphrase), // a verb may need the key twice
		Interpreters: interpreters(os.Environ()),
		Path:         a.getenv("PATH"),
		Home:         a.home,
		Token:        a.token,
		Netrc:        a.netrc(),
		Git:          func() string { return a.lookup("git") },
		Env:          os.Environ(),
		Proxy:        http.ProxyFromEnvironment,
		Helper:       helper,
		Page:         readPage,
		Index:        a.Words,
		Wordless:     a.Words == nil,
		Turns:        a.Turns,
		Historian:    a.Historian,
		Self:         self,
		Version:      build.Version(),
		Program:      a.startedAs,
		Offline:      a.Offline,
		Consent:      a.consent,
		NoPerson:     !a.Attended(),
		Progress:     a.Screen.progressFunc(a.Quiet || a.JSON),
		Notice:       a.notice(),
	}
}

// notice returns the function that shows a line which is neither a result nor an error. It is
// nil with --quiet and --json.
func (a *App) notice() func(text string) {
	if a.Quiet || a.JSON {
		return nil
	}
	return func(text string) { a.Screen.Say("rye: %s\n", text) }
}

// Open returns the workspace of this run. It touches nothing on disk.
func (a *App) Open() *workspace.Workspace {
	if f := a.notice(); f != nil {
		place.OnWait(f)
	}
	return workspace.Open(a.Options())
}

// agent returns the address of the ssh-agent. Windows' own has a fixed name.
func (a *App) agent() string {
	if v := a.getenv("SSH_AUTH_SOCK"); v != "" || runtime.GOOS != "windows" {
		return v
	}
	return `\\.\pipe\openssh-ssh-agent`
}

func (a *App) passphrase() ([]byte, error) { return a.ReadSecret(a.ctx, "passphrase of the key") }

// token returns the secret for a host.
func (a *App) token(host string) string {
	if name := workspace.TokenVariable(host); name != "" {
		return a.getenv(name)
	}
	return ""
}

// netrc returns the file with logins that curl and git also read.
func (a *App) netrc() string {
	if v := a.getenv("NETRC"); v != "" {
		return v
	}
	if a.home == "" {
		return ""
	}
	name := ".netrc"
	if runtime.GOOS == "windows" {
		name = "_netrc"
	}
	return filepath.Join(a.home, name)
}

// sudoUser returns the user for whom sudo runs this program; 0 for none.
func sudoUser(uid string) int {
	n, err := strconv.ParseUint(uid, 10, 31)
	if err != nil || os.Geteuid() != 0 {
		return 0
	}
	return int(n)
}

// interpreterNames are the variables with which a person chooses an interpreter.
var interpreterNames = [...]string{"RYE_PYTHON", "RYE_NODE", "RYE_BASH", "RYE_SH"}

func interpreters(environ []string) map[string]string {
	m := map[string]string{}
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); value != "" && slices.Contains(interpreterNames[:], name) {
			m[name] = value
		}
	}
	return m
}
