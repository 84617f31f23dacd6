package app

import (
	"slices"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Served are the projects of one server: its own project and the ones that its user listed. The
// server opens no other directory for a caller, because its author could have put any policy
// there. Served is safe for concurrent use.
type Served struct {
	a    *App
	mu   sync.Mutex
	list []served // its own first
}

// served is a directory from the start of a server, and the project there. A found project
// never changes; a project that is made later is found later.
type served struct{ dir, project string }

// Serve returns the projects of a server: the one in the directory of this run, and more. A
// missing directory is fault.Usage, as for -C, so that a typo is reported now and not by a later
// call.
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

// look finds projects that were made since the last look.
func (s *Served) look() {
	for i := range s.list {
		if p := &s.list[i]; p.project == "" {
			p.project, _ = FindProject(p.dir, s.a.User, s.a.home)
		}
	}
}

// At returns the project that a call means by a path; path "" is the server's own. over are
// further projects whose policies apply: the server's own, and the ones around both. The project
// is "" if the server's own is not made yet. A path to any other project, or to none, is
// fault.Denied.
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
	return "", fault.New(fault.Denied, "project_path %q: this server does not serve that project", words.Brief(dir)).
		Advise("leave project_path out; a person can add projects when they start the server: rye mcp --project <directory>")
}
