package app

import (
	"slices"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Served are the projects of one server: the one that it was started for, and those that
// its user listed. Nothing else is opened, whatever a caller names: a directory that
// somebody prepared would bring a policy of its own choosing. It is safe for concurrent use.
type Served struct {
	a    *App
	mu   sync.Mutex
	list []served // its own first
}

// served is a directory that a server was started with, and the project there: a project
// once found stays the one, and one that is made later is found then.
type served struct{ dir, project string }

// Serve returns the projects of a server that was started in the directory of this run, with
// these more. A directory that does not exist is fault.Usage, as it is for -C: who mistyped it
// learns it now, not from a call that is refused later.
func (a *App) Serve(more []string) (*Served, error) {
	s := &Served{a: a, list: []served{{dir: a.Dir, project: a.Project}}}
	for _, given := range more {
		dir, err := workingDir(a.Path(given))
		if err != nil {
			return nil, err
		}
		s.list = append(s.list, served{dir: dir})
	}
	s.look()
	return s, nil
}

// look finds the projects that were not there before.
func (s *Served) look() {
	for i := range s.list {
		if p := &s.list[i]; p.project == "" {
			p.project, _ = FindProject(p.dir, s.a.User, s.a.home)
		}
	}
}

// At returns the project that a call means by a path, "" being the server's own, and the
// projects whose policies hold besides: those that it lies in, and the server's. The project
// is "" where the server's own was not made yet. A path that leads to another project, or to
// none, is fault.Denied.
func (s *Served) At(path string) (project string, over []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	own := s.list[0].project
	project = own
	if path != "" {
		if project, err = s.find(s.a.Path(path)); err != nil {
			return "", nil, err
		}
	}
	over = enclosing(project, s.a.User, s.a.home)
	for _, dir := range append([]string{own}, enclosing(own, s.a.User, s.a.home)...) {
		if dir != "" && !sameFile(dir, project) && !slices.Contains(over, dir) {
			over = append(over, dir)
		}
	}
	return project, over, nil
}

// find returns the listed project that a directory belongs to.
func (s *Served) find(dir string) (string, error) {
	found, _ := FindProject(dir, s.a.User, s.a.home)
	for _, p := range s.list {
		if found != "" && sameFile(found, p.project) {
			return p.project, nil
		}
	}
	return "", fault.New(fault.Denied, "project_path %q: it is in none of the projects that this server was started for", words.Brief(dir)).
		Advise("leave project_path out; a person can list more projects where the server is started: rye mcp --project <directory>")
}
