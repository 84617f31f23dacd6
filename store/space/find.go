package space

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Pin is where a lock says that an item from a registry lies.
type Pin struct {
	Registry string // identity
	Commit   store.OID
	Path     string // below .ai
	Sum      objects.Digest
}

// Stack is the spaces of one project, highest first, with what decides belief.
// It is safe for concurrent use; it sees changes on disk at once, and changes of
// the lock or of the trust store only when a new Stack is made.
type Stack struct {
	Project *Layer                  // nil outside a project
	User    *Layer                  // nil when there is no user space
	System  func() (*System, error) // nil when there is none
	Genesis string                  // the project's id
	Place   string                  // key of the project's place: what is granted belongs to both
	Home    string                  // key of the user space's place
	Trust   *trust.Store
	// Declared names the others whose signatures may count in the project; nil is nobody.
	Declared *trust.Declared
	Locked   func(objects.Ref) (Pin, bool) // nil when there is no lock
	Taken    *trust.Taken                  // what signers took back; nil for nothing

	// Others returns the records of other directories of this project, whose restrictions
	// hold here as well; nil is none. It is called more than once.
	Others func() ([]*Other, error)

	// Rule says whether an item that stands behind its record (Finding.Past) may be used
	// by whom the stack works for, and asks where that is for a person to say. beside
	// is true for a file that the item asked for brings with it. nil refuses each.
	Rule func(ctx context.Context, f Finding, beside bool) error

	// Lacks reports whether the user's own git, at HEAD, has nothing at a path below the
	// project's .ai. nil, and an error, mean that nobody knows.
	Lacks func(p string) (bool, error)

	// What Look needs besides. Without Cache it reads every file.
	Cache   string         // directory of caches; may be deleted at any time
	LockSum objects.Digest // of the lock that Locked speaks for; zero when there is none
	Program string         // whose rules the verdicts follow

	annals   [objects.Project + 1]annals // of the records of the spaces
	packages packages                    // that the lock pins

	extractors struct {
		sync.Mutex
		found   map[objects.Space]extractors
		shipped map[objects.Kind]Finding // of the standard library, once it was listed
	}
}

// Found is an item that may be used, and where it came from.
type Found struct {
	trust.Verified
	Space    objects.Space
	Path     string    // below .ai
	Blob     store.OID // of the file; zero in the system space
	Recorded bool      // the space's ref holds these very bytes
	Registry string    // identity, when it came through the lock
	Past     *Past     // how it stands behind the record; nil for what does not
}

// Finding is one candidate for a ref in one space, believed or not. Err says why
// it may not be used; then Verified is zero and Item may be nil.
type Finding struct {
	Found
	Ref   objects.Ref
	Item  *objects.Item
	State objects.State
	Err   error

	Bundle   objects.ID // of the bundle that it lies in, or is; "" for none
	Asset    bool       // a file of the bundle that is no item; then Err says why not
	Manifest bool       // the bundle itself: Ref is zero, Path its manifest
	Cover    *Cover     // of a bundle itself

	held trust.Verified // what Admit may let through
}

// Layers returns the spaces on disk, highest first.
func (s *Stack) Layers() []*Layer {
	var all []*Layer
	for _, l := range []*Layer{s.Project, s.User} {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// Layer returns a space on disk. The system space, which is none, is fault.Denied, and
// one that is not here fault.NotFound.
func (s *Stack) Layer(sp objects.Space) (*Layer, error) {
	for _, l := range s.Layers() {
		if l.Space == sp {
			return l, nil
		}
	}
	if sp == objects.System {
		return nil, fault.New(fault.Denied, "the system space is compiled in and cannot be changed").
			Advise("copy the item to the project first, with rye copy")
	}
	return nil, fault.New(fault.NotFound, "no %s space here", sp).Mend("rye init")
}

// Find returns the item that ref means here.
func (s *Stack) Find(ctx context.Context, ref objects.Ref) (Found, error) {
	return s.FindFrom(ctx, objects.Project, ref)
}

// FindFrom is Find, seeing only the space at and those below it: what a lower
// space refers to can never be replaced from above.
func (s *Stack) FindFrom(ctx context.Context, at objects.Space, ref objects.Ref) (Found, error) {
	for sp := at; sp >= objects.System; sp-- {
		f, ok, err := s.In(ctx, sp, ref)
		if ok && err == nil {
			f, ok, err = s.Settle(ctx, f)
		}
		if err != nil {
			return Found{}, err
		}
		if ok {
			f = admit(ctx, s, f, false)
			return f.Found, f.Err
		}
	}
	return Found{}, Missing(ctx, s, ref, "not in the "+at.String()+" space or below")
}

// In returns what one space holds under ref. ok is false when it holds nothing
// at all; err is a failure to look, not a verdict on the item.
func (s *Stack) In(ctx context.Context, sp objects.Space, ref objects.Ref) (f Finding, ok bool, err error) {
	if err := ref.Check(); err != nil {
		return Finding{}, false, err
	}
	if err := ctx.Err(); err != nil {
		return Finding{}, false, err
	}
	switch {
	case sp == objects.System:
		return s.inSystem(ref)
	case ref.Kind == objects.Bundle && sp != objects.Project:
		return Finding{}, false, nil
	case sp == objects.Project && s.Project != nil && ref.Kind == objects.Bundle:
		return s.inLock(ref) // what lies in the working tree is named by its directory
	case sp == objects.Project && s.Project != nil:
		if f, ok, err = s.inLayer(ctx, s.Project, ref); ok || err != nil {
			return f, ok, err
		}
		return s.inLock(ref)
	case sp == objects.User && s.User != nil:
		return s.inLayer(ctx, s.User, ref)
	}
	return Finding{}, false, nil
}

// At is In for one file: two files of one stem are two files to a tool that loads
// them, although only one of them could be asked for by the ref they share.
func (s *Stack) At(ctx context.Context, sp objects.Space, ref objects.Ref, p string) (f Finding, ok bool, err error) {
	if sp == objects.System {
		return s.inSystem(ref)
	}
	l, err := s.Layer(sp)
	if err != nil {
		return Finding{}, false, err
	}
	f, err = s.Judge(ctx, l, p, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return Finding{}, false, nil
	}
	return f, err == nil, err
}

func (s *Stack) inSystem(ref objects.Ref) (Finding, bool, error) {
	if s.System == nil {
		return Finding{}, false, nil
	}
	system, err := s.System()
	if err != nil {
		return Finding{}, false, err
	}
	p, ok := system.Locate(ref)
	if !ok {
		return Finding{}, false, nil
	}
	f := Finding{Ref: ref, State: objects.Signed}
	f.Space, f.Path, f.Recorded = objects.System, p, true
	f.Verified, f.Err = system.Item(p)
	if f.Err != nil {
		f.State = stateOf(f.Err)
	} else if f.Err = s.Trust.Denied(f.Verified); f.Err != nil { // what the user took back stays so, compiled in or not
		f.State = objects.Denied
	}
	if f.Err != nil {
		f.Verified = trust.Verified{}
		return f, true, nil
	}
	f.Item = f.Verified.Item()
	return f, true, nil
}

// FromLock returns the item that a registry published and the lock pins, even when
// a working file stands in front of it.
func (s *Stack) FromLock(ref objects.Ref) (Found, error) {
	f, ok, err := s.inLock(ref)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "%s: the lock brings no such item from a registry", ref)
	}
	return f.Found, errors.Join(err, f.Err)
}

// inLock reads an item that a registry published and the lock pinned. The bytes
// must be the pinned ones, and their author is asked about again.
func (s *Stack) inLock(ref objects.Ref) (Finding, bool, error) {
	if s.Locked == nil {
		return Finding{}, false, nil
	}
	pin, ok := s.Locked(ref)
	if !ok {
		return inPackage(s, ref)
	}
	if p := s.LockedPackage(ref); p != nil {
		return p.Finding(), true, nil
	}
	f := Finding{Ref: ref, State: objects.Signed}
	f.Space, f.Path, f.Registry, f.Recorded = objects.Project, pin.Path, pin.Registry, true
	if p, err := PackageOf(s, ref); p != nil || err != nil {
		f.State, f.Err = objects.Malformed, pinnedTwice(ref, p, err)
		return f, true, nil
	}
	raw, blob, err := s.Project.pinned(pin)
	if err != nil {
		f.Err, f.State = err, stateOf(err)
		return f, true, nil
	}
	f.Blob = blob
	f.Item, f.Err = objects.Parse(pin.Path, raw)
	if f.Err == nil {
		f.Verified, f.Err = trust.Verify(f.Item, pin.scope(s), s.Trust)
	}
	if f.Err != nil {
		f.State = stateOf(f.Err)
		if f.Item != nil && f.State == objects.Revoked && s.Trust.DeniedByUser(f.Item) {
			f.State = objects.Denied
		}
	} else if f.Err = s.Taken.Denies(f.Verified, s.Trust); f.Err != nil {
		f.Verified, f.State = trust.Verified{}, objects.Denied
	}
	return f, true, nil
}

// inPackage is inLock for what comes with a package.
func inPackage(s *Stack, ref objects.Ref) (Finding, bool, error) {
	p, err := PackageOf(s, ref)
	if p == nil || err != nil {
		return Finding{}, false, err
	}
	f, ok := p.member(s, ref)
	return f, ok, nil
}

// pinned reads the file of a pin out of the project's store.
func (l *Layer) pinned(pin Pin) ([]byte, store.OID, error) {
	missing := func(err error) error {
		if !errors.Is(err, store.ErrNotExist) {
			return err // it is there, and not what it should be
		}
		return fault.New(fault.Offline, "%s: locked, but its content %s is not in this project's store: %w", pin.Path, pin.Commit, err).
			Mend("rye pull")
	}
	if err := l.load(); err != nil {
		return nil, store.OID{}, err
	}
	if l.repo == nil {
		return nil, store.OID{}, missing(store.ErrNotExist)
	}
	c, err := l.repo.Commit(pin.Commit)
	if err != nil {
		return nil, store.OID{}, missing(err)
	}
	e, err := l.repo.Lookup(c.Tree, pin.Path)
	if err != nil {
		return nil, store.OID{}, missing(err)
	}
	raw, err := l.repo.Blob(e.ID, MaxItem)
	if err != nil {
		return nil, store.OID{}, missing(err)
	}
	if got := objects.DigestOf(raw); got != pin.Sum {
		return nil, store.OID{}, fault.New(fault.Drift, "%s: the lock pins %s, the store holds %s", pin.Path, pin.Sum, got).
			Mend("rye pull")
	}
	return raw, e.ID, nil
}

// fewRefs is up to how many items are asked for one by one: for more it pays to read
// the whole record.
const fewRefs = 64

// OwnAll judges what the working tree of a space on disk holds under each of refs, on all
// processors: what In would, without what a lock brings. Many are judged by one state of
// the record, and each bundle is read once. It calls use with each finding and the position
// of its ref, several at a time and in no order, and keeps none, so that what use does not
// keep takes no memory. The finding of a ref under which there is nothing has no State.
func (s *Stack) OwnAll(ctx context.Context, l *Layer, refs []objects.Ref, use func(i int, f Finding)) error {
	judge := func(p string, ref objects.Ref) (Finding, error) { return s.Judge(ctx, l, p, ref) }
	if len(refs) > fewRefs {
		recorded, err := l.recordedAll(ctx)
		if err != nil {
			return err
		}
		seen := &Covers{}
		judge = func(p string, ref objects.Ref) (Finding, error) {
			f, err := s.judge(ctx, l, p, ref, recorded[p], seen)
			if err == nil && f.Err != nil { // perhaps only because somebody recorded meanwhile
				return s.Judge(ctx, l, p, ref)
			}
			return f, err
		}
	}
	locate := l.Locations(refs)
	return parallel.Chunks(ctx, len(refs), 4, func(i int) error {
		f, ok, err := s.working(l, refs[i], locate, judge)
		switch {
		case err != nil:
			return err
		case !ok:
			f = Finding{}
		}
		use(i, f)
		return nil
	})
}

// inLayer judges the working file for ref, or says that a recorded one is missing.
func (s *Stack) inLayer(ctx context.Context, l *Layer, ref objects.Ref) (Finding, bool, error) {
	return s.working(l, ref, l.Locate, func(p string, ref objects.Ref) (Finding, error) { return s.Judge(ctx, l, p, ref) })
}

// working is inLayer with what finds the working file, the first time, and what judges it.
func (s *Stack) working(l *Layer, ref objects.Ref, locate func(objects.Ref) (string, error), judge func(string, objects.Ref) (Finding, error)) (Finding, bool, error) {
	for range 3 {
		p, err := locate(ref)
		if err != nil {
			return Finding{}, false, err
		}
		if p == "" {
			break
		}
		f, err := judge(p, ref)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err == nil, err
		} // removed or renamed between the look and the read: look again
		locate = l.Locate
	}
	gone, err := l.recordedPath(ref)
	if err != nil || gone == "" {
		return Finding{}, false, err
	}
	return absent(l, ref, gone), true, nil
}

// stateOf names the state that a verdict leaves an item in.
func stateOf(err error) objects.State {
	switch fault.CodeOf(err) {
	case fault.Integrity, fault.Drift:
		return objects.Modified
	case fault.Revoked:
		return objects.Revoked
	case fault.Rollback:
		return objects.Older
	case fault.Malformed, fault.Limit:
		return objects.Malformed
	}
	return objects.Untrusted
}
