package app

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/clients/files"
	"github.com/rye-os/rye/internal/place"
)

// Clients returns the machine and the user for the configuration of MCP clients.
func (a *App) Clients() *files.Host {
	h := &files.Host{
		Machine: clients.Machine{OS: runtime.GOOS, Home: a.home, Getenv: a.getenv},
		Project: a.Project,
		State:   a.State,
		Rye:     a.startedAs(),
		Lookup:  a.lookup,
		Ask:     a.consent,
		Dir: func(dir string) bool {
			project, _ := FindProject(dir, a.User, a.home)
			return project != ""
		},
	}
	if a.Caller.IsInside() {
		h.Ask = nil
	}
	return h
}

// startedAs returns the path by which other programs of this user start this one. That is the
// path where a shell finds it, which stays the same after an update. The path must lead to this
// program, and only the user may be able to change it. It must not be in the project, where a
// tool could replace the program. Otherwise startedAs returns the path of the executable.
func (a *App) startedAs() string {
	self, err := os.Executable()
	if err != nil {
		return frontName
	}
	found := a.lookup(frontName)
	inProject := a.Project != "" && strings.HasPrefix(found, a.Project+string(filepath.Separator))
	if found != "" && !inProject && sameFile(found, self) && place.Owned(filepath.Dir(found)) == nil {
		return found
	}
	return self
}

// clientChecks reports which MCP clients have an entry for rye, and which for another rye.
func clientChecks(a *App) (all []rye.DoctorCheck) {
	states, err := files.States(a.Caller, a.Clients())
	if err != nil {
		return nil // within a run there are no clients to check
	}
	var know []string
	for _, s := range states {
		switch s.State {
		case files.Known:
			know = append(know, s.Title+" ("+string(s.Scope)+")")
		case files.Stale:
			c := rye.DoctorCheck{Name: "MCP client", Text: s.Title + ": " + s.Path + " " + s.Text, Mend: fault.Command("rye mcp install %s", s.Client)}
			if s.Scope == clients.Project {
				c.Mend = fault.Command("rye mcp install %s --scope project", s.Client)
			}
			all = append(all, c)
		}
	}
	c := rye.DoctorCheck{Name: "MCP clients", OK: true, Text: "no client on this machine starts rye"}
	if len(know) > 0 {
		c.Text = "rye is registered in " + strings.Join(know, ", ")
	}
	return append(all, c)
}
