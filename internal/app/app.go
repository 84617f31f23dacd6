// Package app wires the programs together: it reads the environment once, finds
// the project and the places on disk, and turns them into the Options of a workspace.
// Nothing below it reads the environment, and nothing in it decides anything
// about items. It links no face, so that the front stays light; the faces of the
// engine are tied in by internal/app/engine.
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
	"github.com/rye-os/rye/internal/bearer"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace"
)

// Flags is what a command line may say about a run as a whole.
type Flags struct {
	Dir     string // -C: act as if started there; "" is the working directory
	JSON    bool
	Quiet   bool
	Yes     bool // answers every question that has no flag of its own
	Offline bool
	NoColor bool

	AcceptOwner []string // namespaces that a registry may give to other owners

	Projects []string // that a server serves besides its own
	Reach    Reach    // where a server is reached over HTTP
}

// Reach says where a server is reached over HTTP, and by whom. The zero value is nowhere.
type Reach struct {
	Addr      string
	Cert, Key string // files of TLS; "" is plain HTTP
	Proxied   bool   // a proxy in front has the TLS
	Hosts     []string
	Origins   []string
}

// TokenFile is where the tokens of clients are kept.
func TokenFile(a *App) (bearer.File, error) {
	if a.Config == "" {
		return "", fault.New(fault.NotFound, "there is no directory for configuration, and so no place for tokens").Advise("set HOME or XDG_CONFIG_HOME")
	}
	return bearer.File(filepath.Join(a.Config, "mcp-tokens.json")), nil
}

// TurnsOf opens the transcripts of threads that a caller may see.
type TurnsOf func(context.Context, rye.Caller, workspace.TurnsRequest) (*workspace.Turns, error)

// App is one run of a program of rye. It is made by New and then read-only,
// apart from its Screen.
type App struct {
	Flags
	Places
	Dir    string     // absolute; relative arguments are relative to it
	Caller rye.Caller // the person at the terminal, or, within a run, what that may
	Screen *Screen
	Back   rye.Verbs       // within a run that may ask the rye around: its verbs; else nil
	Words  workspace.Index // of rye-engine, which searches words; nil in the front
	Turns  TurnsOf         // of rye-engine, which knows threads; nil in the front

	Historian workspace.Historian // of rye-engine, which compares versions; nil in the front

	ctx    context.Context // of the run; for questions that come without one
	home   string
	getenv func(string) string

	uses sync.Once // of other programs, by this process
}

// New reads the environment for one run. A directory that does not exist is a
// usage error; a missing project is not an error here.
func New(ctx context.Context, f Flags, s *Screen) (*App, error) {
	a := &App{Flags: f, Screen: s, Caller: caller(), ctx: ctx, getenv: os.Getenv}
	if a.Caller.IsInside() {
		a.Back = back(a.getenv)
	}
	var err error
	if a.Dir, err = workingDir(f.Dir); err != nil {
		return nil, err
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		a.home = home // "" when unknown: then only what variables name
	}
	a.Places = findPlaces(a.Dir, a.home, a.getenv)
	if uid := sudoUser(a.getenv("SUDO_UID")); uid != 0 {
		place.ActFor(uid)
	}
	return a, nil
}

// caller is on whose behalf this program acts. A tool can have a terminal made for it, so
// within a run none makes a person. That the variable is absent says nothing: a tool can
// take it away, and then the mark is what counts.
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

// Options returns what a workspace needs, with consent asked on the terminal.
func (a *App) Options() workspace.Options {
	a.uses.Do(func() {
		// Where the system lets it, what a tool leaves behind becomes this program's and
		// ends with the run. Where it does not, results say so.
		_ = primitive.AdoptOrphans()
		primitive.UseCage(a.cage)
	})
	o := a.options()
	if a.Caller.IsInside() {
		o.Consent, o.Passphrase, o.KeyService = nil, nil, nil // nobody to ask, and no key to open
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
		Offline:      a.Offline,
		Consent:      a.consent,
		Progress:     a.Screen.progressFunc(a.Quiet || a.JSON),
		Notice:       a.notice(),
	}
}

// notice returns what shows a line that is no result and no error; nil where nobody reads it.
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

// agent returns where the ssh-agent listens. Windows' own has a fixed name.
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

// netrc returns the file with logins that curl and git would read, too.
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

// sudoUser reads whom sudo runs this for; 0 is nobody.
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
