package files

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients"
)

// Host is the machine and the person for whom clients are told of rye.
type Host struct {
	clients.Machine
	Project string // whose files are meant by clients.Project; "" for none
	State   string // where the lock lies, and what files were before

	Rye    string                                            // the path by which a client of this user starts rye
	Dir    func(dir string) (project bool)                   // whether a project is found from a directory
	Lookup func(name string) string                          // where a shell finds a program; "" for nowhere
	Ask    func(context.Context, rye.Question) (bool, error) // nil: nobody can be asked
}

// The states of an entry.
const (
	Absent  = "absent"  // the client does not know rye
	Known   = "known"   // it knows this rye
	Stale   = "stale"   // it knows a rye that is another one, or a directory that is no project any more
	Other   = "other"   // what it knows as rye is something else
	Unknown = "unknown" // its file cannot be read
)

// State is what a client has in one scope.
type State struct {
	Client string        `json:"client"`
	Title  string        `json:"title"`
	Scope  clients.Scope `json:"scope"`
	Path   string        `json:"path"`
	State  string        `json:"state"`
	Text   string        `json:"text,omitempty"` // why it is stale, or what is there
	Found  bool          `json:"found"`          // the client is on this machine
}

// permit refuses a caller that is not the person at the terminal: what is written is started
// by other programs, on their own, outside of every sandbox.
func permit(c rye.Caller) error {
	if err := c.May("mcp.install", time.Now()); err != nil || !c.IsPerson() {
		return fault.New(fault.Denied, "only a person tells MCP clients what to start, and %s is none", c.Who()).
			Advise("this rye was started by something that rye runs; a person does it at a terminal of their own")
	}
	return nil
}

// States says what every client has in every scope, those that are not on this machine too.
// A scope that has no place here is left out.
func States(c rye.Caller, h *Host) (all []State, err error) {
	if err := permit(c); err != nil {
		return nil, err
	}
	for _, client := range clients.All() {
		for _, scope := range clients.Scopes {
			if f, err := h.file(client, scope); err == nil {
				all = append(all, state(h, f))
			}
		}
	}
	return all, nil
}

func state(h *Host, f file) State {
	s := State{Client: f.client.Name, Title: f.client.Title, Scope: f.scope, Path: f.path, State: Unknown, Found: f.found(h)}
	raw, err := f.read()
	if err != nil {
		s.Text = err.Error()
		return s
	}
	server, found, err := f.client.Entry(raw)
	switch {
	case err != nil:
		s.Text = err.Error()
	case !found:
		s.State = Absent
	case laden(f.scope, server):
		s.State, s.Text = Other, "starts "+server.Command+server.URL+", and says "+strings.Join(server.Besides, ", ")
	case server.URL != "":
		s.State, s.Text = Known, "calls "+server.URL
	case !server.IsRye():
		s.State, s.Text = Other, "starts "+server.Command
	default:
		s.State = Known
		if s.Text = stale(h, f.scope, server); s.Text != "" {
			s.State = Stale
		}
	}
	return s
}

// stale says why a server is not the rye that is running, for a directory that it serves.
func stale(h *Host, scope clients.Scope, s clients.Server) string {
	switch {
	case !filepath.IsAbs(s.Command) && s.Command != "rye" && s.Command != "rye.exe":
		return "starts " + s.Command + ", wherever it is started"
	case filepath.IsAbs(s.Command) && !sameFile(s.Command, h.Rye):
		if _, err := os.Stat(s.Command); err != nil {
			return "starts " + s.Command + ", which is not there"
		}
		return "starts " + s.Command + ", this is " + h.Rye
	}
	for _, dir := range s.Dirs() {
		if !filepath.IsAbs(dir) && scope == clients.Project {
			dir = filepath.Join(h.Project, dir)
		}
		if !h.Dir(dir) {
			return "serves " + dir + ", which is no project any more"
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	ai, errA := os.Stat(a)
	bi, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ai, bi)
}

// found reports whether there is anything of the client on this machine: its file, the
// directory that holds it, unless that is the home directory or a shared one, or its program.
func (f file) found(h *Host) bool {
	if f.client.Program != "" && h.Lookup(f.client.Program) != "" {
		return true
	}
	return slices.ContainsFunc(f.client.Paths(clients.User, h.Machine), func(path string) bool {
		_, err := os.Stat(path)
		dir := filepath.Dir(path)
		if err != nil && dir != filepath.Clean(h.Home) && filepath.Dir(dir) != dir {
			_, err = os.Stat(dir)
		}
		return err == nil
	})
}
