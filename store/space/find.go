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

// Pin is the place of a registry item, according to a lock.
type Pin struct {
	Registry string // identity
	Commit   store.OID
	Path     string // below .ai
	Sum      objects.Digest
}

// Stack is the spaces of one project, highest first, with everything that decides whether
// items may be used. It is safe for concurrent use. It sees changes on disk at once, but
// changes of the lock or of the trust store only after a new Stack is made.
type Stack struct {
	Project *Layer                  // nil outside a project
	User    *Layer                  // nil when there is no user space
	System  func() (*System, error) // nil when there is none
	Genesis string                  // the project's id
	Place   string                  // key of the project's place: grants belong to both Genesis and Place
	Home    string                  // key of the user space's place
	Trust   *trust.Store
	// Declared names the other signers that may be trusted in the project; nil for none.
	Declared *trust.Declared
	Locked   func(objects.Ref) (Pin, bool) // nil when there is no lock
	Unread   error                         // why the lock says nothing, though there is one; it may pin any item that no file of the project is
	Taken    *trust.Taken                  // items that signers took back; nil for none

	// Others returns the records of other directories of this project, whose restrictions also
	// apply here; nil for none. It is called more than once.
	Others func() ([]*Other, error)

	// Rule returns nil if the caller may use an item that is behind its record (Finding.Past).
	// It may ask a person. beside is true for a file that comes along with the requested item.
	// A nil Rule refuses every such item.
	Rule func(ctx context.Context, f Finding, beside bool) error

	// Lacks reports whether the user's own git, at HEAD, has nothing at a path below the
	// project's .ai. A nil Lacks, or an error, means unknown.
	Lacks func(p string) (bool, error)

	// Additional inputs for Look. Without Cache it reads every file.
	Cache   string         // directory of caches; may be deleted at any time
	LockSum objects.Digest // of the lock behind Locked; zero for none
	Program string         // the program version whose rules apply

	annals   [objects.Project + 1]annals // of the records of the spaces
	packages packages                    // that the lock pins

	extractors struct {
		sync.Mutex
		found   map[objects.Space]extractors
		shipped map[objects.Kind]Finding // of the standard library, once it was listed
	}
}

// Found is an item that may be used, and its origin.
type Found struct {
	trust.Verified
	Space    objects.Space
	Path     string    // below .ai
	Blob     store.OID // of the file; zero in the system space
	Recorded bool      // the space's ref holds exactly these bytes
	Registry string    // identity, if it came through the lock
	Past     *Past     // how it is behind the record; nil if it is not
}

// Finding is one candidate for a ref in one space, usable or not. Err is the reason why it may
// not be used; then Verified is zero and Item may be nil.
type Finding struct {
	Found
	Ref   objects.Ref
	Item  *objects.Item
	State objects.State
	Err   error

	Bundle   objects.ID // of the bundle that it is in, or is; "" for none
	Asset    bool       // a file of the bundle that is no item; Err is the reason
	Manifest bool       // the bundle itself: Ref is zero, Path its manifest
	Cover    *Cover     // of a bundle itself

	held trust.Verified // the verified item that admit may allow
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

// Layer returns a space on disk. The system space is not on disk: fault.Denied. A missing
// space is fault.NotFound.
func (s *Stack) Layer(sp objects.Space) (*Layer, error) {
	for _, l := range s.Layers() {
		if l.Space == sp {
			return l, nil
		}
	}
	if sp == objects.System {
		return nil, fault.New(fault.Denied, "the system space is compiled in and cannot be changed").
			Advise("copy the item to the project first, with rye add --space project")
	}
	return nil, fault.New(fault.NotFound, "no %s space here", sp).Mend("rye init")
}

// Find returns the item for ref in this stack.
func (s *Stack) Find(ctx context.Context, ref objects.Ref) (Found, error) {
	return s.FindFrom(ctx, objects.Project, ref)
}

// FindFrom is Find with only the space at and the spaces below it. So an item that a lower
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
	if at == objects.Project && s.Project == nil {
		return Found{}, fault.New(fault.NotFound, "%s: no project here, and neither your user space nor the library has it", ref).
			Advise("go to your project; rye init makes one here, or brings a lost .ai back")
	}
	return Found{}, Missing(ctx, s, ref, "not in the "+at.String()+" space or below")
}

// In returns the finding for ref in one space. ok is false if the space has nothing under that
// name. err is a failure to read, and no verdict on the item.
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
		return s.inLock(ref) // bundles in the working tree are named by their directory
	case sp == objects.Project && s.Project != nil:
		if f, ok, err = s.inLayer(ctx, s.Project, ref); ok || err != nil {
			return f, ok, err
		}
		if f, ok, err = s.programIn(ctx, s.Project, ref); ok || err != nil {
			return f, ok, err
		}
		return s.inLock(ref)
	case sp == objects.User && s.User != nil:
		if f, ok, err = s.inLayer(ctx, s.User, ref); ok || err != nil {
			return f, ok, err
		}
		return s.programIn(ctx, s.User, ref)
	}
	return Finding{}, false, nil
}

// At is In for one file. A tool may load two files with one stem, although their common ref
// stands for only one of them.
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
	} else if f.Err = s.Trust.Denied(f.Verified); f.Err != nil { // the user's denial also applies to compiled-in items
		f.State = objects.Denied
	}
	if f.Err != nil {
		f.Verified = trust.Verified{}
		return f, true, nil
	}
	f.Item = f.Verified.Item()
	return f, true, nil
}

// FromLock returns the item that a registry published and the lock pins, even if a working
// file takes precedence.
func (s *Stack) FromLock(ref objects.Ref) (Found, error) {
	f, ok, err := s.inLock(ref)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "%s: the lock brings no such item from a registry", ref)
	}
	return f.Found, errors.Join(err, f.Err)
}

// inLock reads an item that a registry published and the lock pinned. It must have the pinned
// bytes, and its author is verified again.
func (s *Stack) inLock(ref objects.Ref) (Finding, bool, error) {
	if ns := ref.ID.Namespace(); s.Unread != nil && !trust.Reserved(ns) && ns != objects.LocalNamespace {
		return Finding{}, false, fault.Wrap(s.Unread, "%s", ref)
	}
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

// inPackage is inLock for an item that comes with a bundle.
func inPackage(s *Stack, ref objects.Ref) (Finding, bool, error) {
	p, err := PackageOf(s, ref)
	if p == nil || err != nil {
		return Finding{}, false, err
	}
	f, ok := p.member(s, ref)
	return f, ok, nil
}

// pinned reads the file of a pin out of the project's store, or the vendored one where the store
// has not got it.
func (l *Layer) pinned(pin Pin) ([]byte, store.OID, error) {
	raw, id, err := l.stored(pin)
	if !errors.Is(err, store.ErrNotExist) {
		return raw, id, err // it exists, even if not as it should be
	}
	raw, verr := l.vendoredPin(pin)
	switch {
	case verr == nil:
		return raw, store.SHA1.Hash(store.TypeBlob, raw), nil // as registries name objects
	case !errors.Is(verr, fs.ErrNotExist):
		return nil, store.OID{}, verr
	}
	return nil, store.OID{}, fault.New(fault.Offline, "%s: locked, but its content %s is not in this project's store: %w", pin.Path, pin.Commit, err).
		Mend("rye pull")
}

// stored reads the file of a pin out of the project's store. The error wraps store.ErrNotExist
// where any part of it is missing.
func (l *Layer) stored(pin Pin) ([]byte, store.OID, error) {
	if err := l.load(); err != nil {
		return nil, store.OID{}, err
	}
	if l.repo == nil {
		return nil, store.OID{}, store.ErrNotExist
	}
	c, err := l.repo.Commit(pin.Commit)
	if err != nil {
		return nil, store.OID{}, err
	}
	e, err := l.repo.Lookup(c.Tree, pin.Path)
	if err != nil {
		return nil, store.OID{}, err
	}
	raw, err := l.repo.Blob(e.ID, MaxItem)
	if err != nil {
		return nil, store.OID{}, err
	}
	if got := objects.DigestOf(raw); got != pin.Sum {
		return nil, store.OID{}, fault.New(fault.Drift, "%s: the lock pins %s, the store holds %s", pin.Path, pin.Sum, got).
			Mend("rye pull")
	}
	return raw, e.ID, nil
}

// fewRefs is the largest number of items that are looked up one by one. For more it pays to
// read the whole record.
const fewRefs = 64

// OwnAll judges the working tree of a space on disk for each of refs, on all processors. The
// findings are as from In, without items from a lock. Many refs are judged by one state of the
// record, and each bundle is read once. It calls use with each finding and the position of its
// ref, concurrently and in no order. It keeps no finding, so memory holds only what use keeps.
// A ref without a file or record gets a finding without a State.
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
			if err == nil && f.Err != nil { // perhaps only because of a concurrent commit to the record
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

// inLayer judges the working file for ref, or returns the finding for a missing recorded file.
func (s *Stack) inLayer(ctx context.Context, l *Layer, ref objects.Ref) (Finding, bool, error) {
	return s.working(l, ref, l.Locate, func(p string, ref objects.Ref) (Finding, error) { return s.Judge(ctx, l, p, ref) })
}

// working is inLayer with other functions: locate finds the working file at first, and judge
// judges it.
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
		} // removed or renamed between locate and judge: locate again
		locate = l.Locate
	}
	gone, err := l.recordedPath(ref)
	if err != nil || gone == "" {
		return Finding{}, false, err
	}
	return absent(l, ref, gone), true, nil
}

// stateOf returns the state of an item with this error.
func stateOf(err error) objects.State {
	if between := (*objects.ConflictError)(nil); errors.As(err, &between) {
		return objects.Conflict
	}
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
