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

// Host is the machine and the user whose clients rye configures.
type Host struct {
	clients.Machine
	Project string // the directory for clients.Project; "" for none
	State   string // the directory for the lock and the originals of files

	Rye    string                                            // the path by which a client of this user starts rye
	Dir    func(dir string) (project bool)                   // whether a directory is in a project
	Lookup func(name string) string                          // the path where a shell finds a program; "" for none
	Ask    func(context.Context, rye.Question) (bool, error) // asks the user; nil: no one can answer
}

// The states of an entry.
const (
	Absent  = "absent"  // the client has no entry for rye
	Known   = "known"   // the entry is for this rye
	Stale   = "stale"   // the entry is for another rye, or for a directory that is no longer a project
	Other   = "other"   // the entry with the name rye is for something else
	Unknown = "unknown" // the file cannot be read
)

// State is the state of a client's entry in one scope.
type State struct {
	Client string        `json:"client"`
	Title  string        `json:"title"`
	Scope  clients.Scope `json:"scope"`
	Path   string        `json:"path"`
	State  string        `json:"state"`
	Text   string        `json:"text,omitempty"` // the reason for the state, or the content of the entry
	Found  bool          `json:"found"`          // the client is on this machine
}

// permit refuses a caller that is not the person at the terminal: other programs start the
// command in an entry by themselves, outside every sandbox.
func permit(c rye.Caller) error {
	if err := c.May("mcp.install", time.Now()); err != nil || !c.IsPerson() {
		return fault.New(fault.Denied, "only a person may register programs in MCP clients, and %s is not a person", c.Who()).
			Advise("a tool started this rye; a person must run it at a terminal of their own")
	}
	return nil
}

// States returns the state of every client in every scope, including clients that are not on
// this machine. It leaves out a scope without a file path.
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
		s.State, s.Text = Other, "starts "+server.Command+server.URL+", with "+strings.Join(server.Besides, ", ")
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

// stale returns why an entry is out of date: it starts another rye, or it serves a directory
// that is no longer a project. It returns "" for a current entry.
func stale(h *Host, scope clients.Scope, s clients.Server) string {
	switch {
	case !filepath.IsAbs(s.Command) && s.Command != "rye" && s.Command != "rye.exe":
		return "starts " + s.Command + ", found through PATH"
	case filepath.IsAbs(s.Command) && !sameFile(s.Command, h.Rye):
		if _, err := os.Stat(s.Command); err != nil {
			return "starts " + s.Command + ", which is missing"
		}
		return "starts " + s.Command + ", this is " + h.Rye
	}
	for _, dir := range s.Dirs() {
		if !filepath.IsAbs(dir) && scope == clients.Project {
			dir = filepath.Join(h.Project, dir)
		}
		if !h.Dir(dir) {
			return "serves " + dir + ", which is no longer a project"
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	ai, errA := os.Stat(a)
	bi, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ai, bi)
}

// found reports whether the client seems to be on this machine: its program, its file or the
// directory of its file exists. The home directory and the root are no such directory.
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
