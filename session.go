package rye

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// Rye is one project (or none), one user space and the standard library, opened
// for work. Nothing is read from disk before a verb needs it.
type Rye struct {
	o      Options
	system func() (*space.System, error)
	ring   *keyring
	turns  chan struct{} // holds an entry for each execution that goes on
}

// Open returns a Rye. It touches nothing; a missing project shows when a verb needs one.
func Open(o Options) *Rye {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Key == "" {
		o.Key = "default"
	}
	return &Rye{o: o, system: sync.OnceValues(space.OpenSystem), ring: &keyring{}, turns: make(chan struct{}, workers(o))}
}

// session is what one verb sees: one reading of the project, the trust store and
// the lock, so that a verb never decides by two different states of them.
type session struct {
	r       *Rye
	project *projectConfig // nil outside a project
	trust   *trust.Store
	lock    *chain.Lock // nil when there is none
	stack   *space.Stack
	policy  *policy.Rules // read when first asked for
	decided *Verdict      // what the policy said last
	outside unsigned      // what the run of this session takes from unsigned files
}

// open makes a session, with or without a project.
func (r *Rye) open() (*session, error) {
	return r.openOver(&space.Layer{Space: objects.Project, Dir: r.aiDir()})
}

// openOver is open with the layer of the project, if there is one.
func (r *Rye) openOver(project *space.Layer) (*session, error) {
	s := &session{r: r}
	var err error
	if s.trust, err = trust.LoadStore(r.trustPath()); err != nil {
		return nil, err
	}
	s.stack = &space.Stack{Trust: s.trust, System: r.system, Cache: r.o.CacheDir, Program: r.o.Version}
	if r.o.User != "" && r.o.User != r.o.Project {
		s.stack.User = &space.Layer{Space: objects.User, Dir: filepath.Join(r.o.User, ".ai")}
	}
	if r.o.Project == "" {
		s.allowLegacy(s.trust)
		return s, nil
	}
	if s.project, err = readProject(r.o.Project); err != nil {
		return nil, err
	}
	var sum objects.Digest
	if s.lock, sum, err = readLock(r.lockPath()); err != nil {
		return nil, err
	}
	s.stack.LockSum = sum
	s.stack.Project = project
	s.stack.Genesis = s.project.Project
	if s.lock != nil {
		s.stack.Locked = s.pin
	}
	s.allowLegacy(s.trust)
	return s, nil
}

// alone makes this the one process that changes the project's lock and rye.yaml, until
// release, and reads both anew: another may have changed them since this one began,
// and what it did must not be undone.
func (s *session) alone(ctx context.Context) (release func(), err error) {
	dir := filepath.Join(s.r.aiDir(), ".rye")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if release, err = place.Lock(ctx, filepath.Join(dir, "project.lock")); err != nil {
		return nil, err
	}
	if s.project, err = readProject(s.r.o.Project); err == nil {
		s.lock, s.stack.LockSum, err = readLock(s.r.lockPath())
	}
	if err != nil {
		release()
		return nil, err
	}
	if s.lock != nil {
		s.stack.Locked = s.pin
	}
	return release, nil
}

// openProject is open for verbs that make no sense outside a project.
func (r *Rye) openProject() (*session, error) {
	if r.o.Project == "" {
		return nil, noProject()
	}
	return r.open()
}

// openFor is open for verbs about one item, whose name it reads as well.
func (r *Rye) openFor(item string) (*session, objects.Ref, error) {
	s, err := r.open()
	if err != nil {
		return nil, objects.Ref{}, err
	}
	ref, err := s.ref(item)
	if err != nil {
		s.Close()
		return nil, objects.Ref{}, err
	}
	return s, ref, nil
}

// openLook is openProject for verbs that look at every file: those are listed while
// trust, settings and lock are read.
func (r *Rye) openLook(ctx context.Context) (*session, error) {
	if r.o.Project == "" {
		return nil, noProject()
	}
	project := &space.Layer{Space: objects.Project, Dir: r.aiDir()}
	project.Begin(ctx)
	s, err := r.openOver(project)
	if err != nil {
		project.Close()
	}
	return s, err
}

// openPlan is openFor for verbs about what running an item would do.
func (r *Rye) openPlan(ctx context.Context, item string) (*session, *chain.Plan, error) {
	s, ref, err := r.openFor(item)
	if err != nil {
		return nil, nil, err
	}
	plan, err := chain.Resolve(ctx, finder{s}, ref)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, plan, nil
}

func (s *session) Close() {
	for _, l := range s.stack.Layers() {
		l.Close() // read-only handles: nothing to lose
	}
}

func (r *Rye) aiDir() string     { return filepath.Join(r.o.Project, ".ai") }
func (r *Rye) lockPath() string  { return filepath.Join(r.aiDir(), LockFile) }
func (r *Rye) trustPath() string { return filepath.Join(r.o.ConfigDir, "trust.yaml") }
func (r *Rye) keyDir() string    { return filepath.Join(r.o.ConfigDir, "keys") }

// pin tells the stack where the lock says that a registry's item lies.
func (s *session) pin(ref objects.Ref) (space.Pin, bool) {
	it, ok := s.lock.Items[ref]
	if !ok || it.From == "" {
		return space.Pin{}, false
	}
	id, err := store.ParseOID(it.Commit)
	if err != nil {
		return space.Pin{}, false
	}
	return space.Pin{Registry: s.lock.Registries[it.From].ID.String(), Commit: id, Path: it.Path, Sum: it.SHA256}, true
}

// readLock returns the lock and the digest of its bytes; nil when there is none.
func readLock(path string) (*chain.Lock, objects.Digest, error) {
	raw, err := place.Read(path, chain.MaxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, objects.Digest{}, nil
	}
	if err != nil {
		return nil, objects.Digest{}, err
	}
	if chain.Conflicted(raw) {
		return nil, objects.Digest{}, fault.New(fault.Malformed, "read %s: it holds a merge that nobody finished", path).Mend("rye lock merge")
	}
	l, err := chain.ParseLock(raw)
	if err != nil {
		return nil, objects.Digest{}, fault.Wrap(err, "read %s", path)
	}
	return l, objects.DigestOf(raw), nil
}

func noProject() error {
	return fault.New(fault.NotFound, "no project here: no .ai/%s in this directory or above", ProjectFile).Mend("rye init")
}

// ask puts a question to the person. Without anybody to answer, the answer is no,
// and the error says which flag would have said yes.
func (r *Rye) ask(ctx context.Context, q Question) error {
	if r.o.Consent == nil {
		return fault.New(fault.Denied, "%s: needs a person's consent, and nobody can be asked here", q.Topic).With(q.Mend)
	}
	ok, err := aside(ctx, func() (bool, error) { return r.o.Consent(ctx, q) })
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.Denied, "%s: not agreed to", q.Topic).With(q.Mend)
	}
	return nil
}

func (r *Rye) progress(text string) {
	if r.o.Progress != nil {
		r.o.Progress(text)
	}
}
