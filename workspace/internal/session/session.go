// Package session is one reading of everything that a verb decides by: the project, the
// trust store, the lock, the policy and the spaces. It also holds what the program gives
// to every room.
package session

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
)

// Session is one reading of the project, the trust store, the lock and the policy. So a verb
// never decides by two different states of them. It does not change: a verb that needs
// another state gets another session (WithSystem, WithLock, WithTrust, Alone), and changes
// copies (Project.Edit, chain.Lock.Clone).
type Session struct {
	*Host
	Project *Project      // nil outside a project
	Place   records.Place // of the project: the directory and its record; zero outside a project
	Trust   *trust.Store
	Lock    *chain.Lock // nil when there is none

	LockConflict error // Drift, for a lock with merge conflicts: Lock is then nil, and nobody may write one

	Stack *space.Stack
	Rules func() (policy.Rules, error) // reads the policy once, on first use

	head  *checkedOut // of the project, by the user's git
	taken *takenBack
	marks *marks // registries' statements about items

	others  *others // records of other directories of the project
	against against // lines against keys
}

// Open reads a session, with or without a project. The caller closes it.
func (h *Host) Open() (*Session, error) {
	return h.openWith(func(*space.Layer) {})
}

// openWith is Open that hands the project's layer to begin before the rest is read.
func (h *Host) openWith(begin func(project *space.Layer)) (*Session, error) {
	s := &Session{Host: h, marks: &marks{}, others: &others{}, Stack: &space.Stack{System: h.System, Cache: h.CacheDir, Program: h.Version}}
	s.Rules, s.head = sync.OnceValues(s.readRules), &checkedOut{host: h}
	s.Stack.Lacks = s.head.lacks
	if err := s.read(begin); err != nil {
		s.Close()
		return nil, err
	}
	s.AllowLegacy(s.Trust)
	return s, nil
}

// read reads everything into a new session.
func (s *Session) read(begin func(project *space.Layer)) error {
	look := &place.Look{}
	if err := checkConfigOf(look, s.Host); err != nil {
		return err
	}
	foreign, err := s.readSpaces(look, begin)
	if err != nil {
		return err
	}
	if s.Trust, err = loadTrust(s.Host); err != nil {
		return err
	}
	s.Stack.Trust = s.Trust
	return checkOwners(s, foreign)
}

// readSpaces reads the project and its lock, and finds the layers. It returns the other users
// who own the project.
func (s *Session) readSpaces(look *place.Look, begin func(project *space.Layer)) (foreign []int, err error) {
	var ai place.Folder
	if s.ProjectDir != "" {
		if ai, err = openAI(s.ProjectDir); errors.Is(err, fs.ErrNotExist) {
			return nil, NoProject()
		} else if err != nil {
			return nil, err
		}
		defer ai.Close()
	}
	if foreign, err = s.openProject(look, ai, begin); err != nil {
		return foreign, err
	}
	if s.UserDir != "" && s.UserDir != s.ProjectDir {
		var home records.Place
		if s.Stack.User, home, err = s.Layer(look, objects.User, s.UserDir, ""); err != nil {
			return foreign, err
		}
		s.Stack.Home = home.Key
	}
	if s.Project == nil {
		return foreign, nil
	}
	if err := s.readTaken(ai); err != nil {
		return foreign, err
	}
	if err := s.readDeniedKeys(ai); err != nil {
		return foreign, err
	}
	return foreign, s.readLock(ai)
}

// openProject reads rye.yaml, and finds its layer and record. It returns the other users who
// own the project; if there are any, it does not call begin.
func (s *Session) openProject(look *place.Look, ai place.Folder, begin func(*space.Layer)) (foreign []int, err error) {
	if s.ProjectDir == "" {
		return nil, nil
	}
	if foreign, err = foreignOwners(s.Host); err != nil {
		return nil, err
	}
	if s.Project, err = readProject(ai); err != nil {
		return nil, err
	}
	s.Stack.Genesis = s.Project.Project
	if s.Stack.Project, s.Place, err = s.Layer(look, objects.Project, s.ProjectDir, s.Project.Project); err != nil {
		return nil, err
	}
	s.Stack.Place = s.Place.Key
	s.others.place, s.Stack.Others = s.Place, s.others.list
	if s.Stack.Declared, err = s.readDeclared(ai); err == nil && len(foreign) == 0 {
		begin(s.Stack.Project)
	}
	return foreign, err
}

// Alone makes this the one process that changes the project's lock and rye.yaml, until release.
// It returns a session that has read both again. Another process may have changed them since s
// was opened, and its changes must not be undone. s stays as it is. The new session shares the
// layers of s, and is closed with it.
func (s *Session) Alone(ctx context.Context) (fresh *Session, release func(), err error) {
	if release, err = s.lockProject(ctx); err != nil {
		return nil, nil, err
	}
	s.KeepTaken(ctx)
	s.KeepSigners(ctx)
	s.KeepNames(ctx)
	fresh = s.copy()
	ai, err := openAI(s.ProjectDir)
	if err == nil {
		defer ai.Close()
		if fresh.Project, err = readProject(ai); err == nil {
			err = fresh.readLock(ai)
		}
	}
	if err == nil {
		err = fresh.LockConflict
	}
	if err == nil && fresh.Project.Project != s.Project.Project {
		err = fault.New(fault.Conflict, "%s is now another project", s.ProjectDir).Advise("try again")
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return fresh, release, nil
}

// lockProject locks the file beside the project's record; without a record, one among the
// caches.
func (s *Session) lockProject(ctx context.Context) (release func(), err error) {
	s.SweepStale()
	if s.Place.Dir == "" {
		if err := s.NeedCache(); err != nil {
			return nil, err
		}
		dir := filepath.Join(s.CacheDir, "projects")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return place.Lock(ctx, filepath.Join(dir, s.Place.Key+".lock"))
	}
	if err := s.Place.Note(s.Now()); err != nil {
		return nil, err
	}
	return place.Lock(ctx, s.Place.Lock())
}

// readLock reads the project's lock into a new session.
func (s *Session) readLock(ai place.Folder) error {
	lock, sum, err := readLock(ai)
	s.setLock(lock, sum)
	if errors.Is(err, lockConflict{}) {
		s.LockConflict, err = conflictOfLock(), nil
		s.Stack.Unread = s.LockConflict
	}
	return err
}

// setLock gives a new session a lock; nil is none.
func (s *Session) setLock(lock *chain.Lock, sum objects.Digest) {
	s.Lock, s.Stack.LockSum, s.Stack.Locked = lock, sum, nil
	s.LockConflict, s.Stack.Unread = nil, nil
	if lock != nil {
		s.Stack.Locked = s.Pin
	}
}

// copy returns a session over the same layers, with its own stack.
func (s *Session) copy() *Session {
	n := *s
	n.Stack = &space.Stack{Project: s.Stack.Project, User: s.Stack.User, System: s.Stack.System, Genesis: s.Stack.Genesis,
		Place: s.Stack.Place, Home: s.Stack.Home, Declared: s.Stack.Declared, Trust: s.Stack.Trust,
		Taken: s.Stack.Taken, Others: s.Stack.Others, Rule: s.Stack.Rule, Lacks: s.Stack.Lacks, Locked: s.Stack.Locked, Unread: s.Stack.Unread, Cache: s.Stack.Cache, LockSum: s.Stack.LockSum, Program: s.Stack.Program}
	return &n
}

// WithSystem returns a session with another standard library.
func (s *Session) WithSystem(system *space.System) *Session {
	n := s.copy()
	n.Stack.System = func() (*space.System, error) { return system, nil }
	return n
}

// WithLock returns a session with another lock; nil is none.
func (s *Session) WithLock(lock *chain.Lock, sum objects.Digest) *Session {
	n := s.copy()
	n.setLock(lock, sum)
	return n
}

// WithTrust returns a session with the trust store as it is on disk now.
func (s *Session) WithTrust() (*Session, error) {
	t, err := loadTrust(s.Host)
	if err != nil {
		return nil, err
	}
	n := s.copy()
	n.Trust, n.Stack.Trust = t, t
	n.AllowLegacy(t)
	return n, nil
}

// OpenProject is Open for verbs that need a project; without one the error is NoProject.
func (h *Host) OpenProject() (*Session, error) {
	if h.ProjectDir == "" {
		return nil, h.NoProject()
	}
	return h.Open()
}

// OpenLook is OpenProject for verbs that read every file: it begins to list the files while it
// reads trust store and lock.
func (h *Host) OpenLook(ctx context.Context) (*Session, error) {
	if h.ProjectDir == "" {
		return nil, h.NoProject()
	}
	return h.openWith(func(project *space.Layer) { project.Begin(ctx) })
}

// Close closes everything that the session opened.
func (s *Session) Close() {
	for _, l := range s.Stack.Layers() {
		l.Close() // read-only handles: nothing to lose
	}
	s.others.close()
	s.head.close()
}

// NoProject is the error of a verb that needs a project; fault.NotFound. It says where the
// search ended if that was not at the top.
func (h *Host) NoProject() error {
	if h.Ended == "" {
		return NoProject()
	}
	return fault.New(fault.NotFound, "no project here: no .ai/%s in this directory or above; the search ended early: %s", ProjectFile, h.Ended).
		Advise("cd into the project, or rye init <directory>")
}

// NoProject is the error of a verb that needs a project; fault.NotFound.
func NoProject() error {
	return fault.New(fault.NotFound, "no project here: no .ai/%s in this directory or above", ProjectFile).Mend("rye init")
}

// Site is the project's directory in grants; zero outside a project.
func (s *Session) Site() trust.Site {
	return trust.Site{Place: s.Stack.Place, Project: s.Stack.Genesis}
}

// Home is the user space in grants.
func (s *Session) Home() trust.Site { return trust.Site{Place: s.Stack.Home} }

// LayerOf returns the space on disk with a request's name; "" is the project's.
func LayerOf(s *Session, name string) (*space.Layer, error) {
	sp, err := objects.ParseSpace(cmp.Or(name, objects.Project.String()))
	if err != nil {
		return nil, err
	}
	return s.Stack.Layer(sp)
}
