package space

import (
	"context"
	"errors"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Judge reads the working file at p once and decides whether those bytes may be used. The
// rules, in order (docs/format/project.md, "Working tree and record"):
//
//   - a file that does not parse, or whose signature does not hold here, is refused;
//   - a file that its signer took back is refused;
//   - the same bytes as recorded are used;
//   - newer bytes are used: validly signed, never recorded before, and signed after
//     everything that is recorded;
//   - any other file is an older version that came back. It may be used if Rule allows it.
//     A version that is wider than the newest, or was removed, is refused otherwise.
func (s *Stack) Judge(ctx context.Context, l *Layer, p string, ref objects.Ref) (Finding, error) {
	c, err := l.tip()
	if err != nil {
		return Finding{Ref: ref}, err
	}
	now := &moment{c}
	recorded, err := l.recordedAt(now, p)
	if err != nil {
		return Finding{Ref: ref}, err
	}
	return s.judge(ctx, l, p, ref, recorded, &Covers{asOf: now})
}

// judge is Judge for a caller that already knows the blob recorded at p, and the bundles.
func (s *Stack) judge(ctx context.Context, l *Layer, p string, ref objects.Ref, recorded store.OID, seen *Covers) (Finding, error) {
	raw, err := l.Read(p)
	return s.judgeRead(ctx, l, p, ref, raw, err, recorded, seen)
}

// judgeRead is judge for a caller that has already read the file, or tried to.
func (s *Stack) judgeRead(ctx context.Context, l *Layer, p string, ref objects.Ref, raw []byte, err error, recorded store.OID, seen *Covers) (Finding, error) {
	if err == nil {
		return s.judgeBytes(ctx, l, p, ref, raw, recorded, seen)
	}
	f := Finding{Ref: ref}
	f.Space, f.Path = l.Space, p
	if fault.CodeOf(err) == fault.Failed {
		return f, err
	}
	f.Err, f.State = err, stateOf(err)
	return f, nil
}

// JudgeBytes decides about bytes of a present or future working file at p. recorded is the
// blob in the record, zero for none.
func (s *Stack) JudgeBytes(ctx context.Context, l *Layer, p string, ref objects.Ref, raw []byte, recorded store.OID) (Finding, error) {
	return s.judgeBytes(ctx, l, p, ref, raw, recorded, nil)
}

// JudgeVerified is JudgeBytes for an item that trust.Verify accepted in the layer's scope; seen
// may be nil.
func (s *Stack) JudgeVerified(ctx context.Context, l *Layer, v trust.Verified, recorded store.OID, seen *Covers) (Finding, error) {
	it := v.Item()
	f := Finding{Ref: it.Ref, Item: it}
	f.Path = it.Path
	return s.judgeParsed(ctx, l, f, candidate{it.Raw, recorded, v}, seen)
}

func (s *Stack) judgeBytes(ctx context.Context, l *Layer, p string, ref objects.Ref, raw []byte, recorded store.OID, seen *Covers) (Finding, error) {
	f := Finding{Ref: ref}
	f.Path = p
	f.Item, f.Err = objects.Parse(p, raw)
	return s.judgeParsed(ctx, l, f, candidate{raw: raw, recorded: recorded}, seen)
}

// candidate is the bytes of a file to judge.
type candidate struct {
	raw      []byte
	recorded store.OID      // the blob in the record; zero for none
	verified trust.Verified // the item by its own signature; zero when that is not known yet
}

// judgeParsed completes a finding that has the ref, the path, and the result of objects.Parse.
func (s *Stack) judgeParsed(ctx context.Context, l *Layer, f Finding, c candidate, seen *Covers) (Finding, error) {
	p, ref, raw := f.Path, f.Ref, c.raw
	f.Space, f.State = l.Space, objects.Signed
	f.Blob = l.BlobID(raw)
	f.Recorded = c.recorded == f.Blob
	cover, err := s.Cover(ctx, l, p, seen)
	if err != nil {
		return f, err
	}
	if cover != nil {
		if s.judgeCovered(&f, l, cover, raw, f.Err); f.Err != nil || !f.Verified.IsZero() || !f.held.IsZero() {
			return f, nil
		}
	}
	if f.Err != nil {
		f.State = stateOf(f.Err)
		return f, nil
	}
	if dir, ok := objects.InBundles(p); ok && cover == nil {
		f.State = objects.Unsigned
		f.Err = fault.New(fault.Untrusted, "%s: .ai/%s is not signed yet", ref, dir).Mend("rye sign .ai/%s", dir)
		return f, nil
	}
	if f.Verified = c.verified; f.Verified.IsZero() || f.Verified.Scope() != s.Scope(l) {
		f.Verified, f.Err = trust.Verify(f.Item, s.Scope(l), s.Trust)
	}
	if f.Err != nil {
		f.State = refusedState(f.Item, f.Err, s.Trust)
		return f, nil
	}
	if f.Err = s.Taken.Denies(f.Verified, s.Trust); f.Err != nil {
		f.Verified, f.State = trust.Verified{}, objects.Denied
		return f, nil
	}
	if f.Err = s.OwnedByLock(l, ref); f.Err != nil {
		f.Verified, f.State = trust.Verified{}, stateOf(f.Err)
		return f, nil
	}
	if f.Level() == trust.Legacy { // allowed, but not the same as signed
		f.State = objects.Legacy
	}
	if f.Patched() != trust.NoPatch {
		f.State = objects.Patched
		err := s.fallsWithBase(ctx, l, subject{name: ref.String(), ref: ref, path: p, parse: objects.Parse})
		if fault.Is(err, fault.Revoked) {
			f.Verified, f.State, f.Err = trust.Verified{}, objects.Denied, err
			return f, nil
		}
		if err != nil {
			return f, err
		}
	}
	return f, standing(ctx, s, l, &f, cover)
}

// standing sets how a verified file is behind the record: by itself, or with its bundle.
func standing(ctx context.Context, s *Stack, l *Layer, f *Finding, cover *Cover) (err error) {
	sub := subject{name: f.Ref.String(), ref: f.Ref, path: f.Path, item: f.Item, parse: objects.Parse}
	if !f.Recorded {
		f.Past, err = s.pastOf(ctx, l, sub)
	}
	if err == nil && (f.Past == nil || f.Past.verdict() == nil) {
		var p *Past
		if p, err = pastElsewhere(ctx, s, l, sub, f.Recorded); p != nil {
			f.Past = p
		}
	}
	if f.Past == nil && cover != nil {
		f.Past = cover.Past
	}
	if f.Past == nil || err != nil {
		return err
	}
	f.held, f.State, f.Err = f.Verified, f.Past.state(), f.Past.verdict()
	if f.Err != nil {
		f.Verified = trust.Verified{}
	}
	return nil
}

// Scope returns the scope for which items of the layer are signed and verified.
func (s *Stack) Scope(l *Layer) trust.Scope {
	if l.Space == objects.Project {
		return trust.Scope{Space: objects.Project, Project: s.Genesis, Place: s.Place, Declared: s.Declared}
	}
	return trust.Scope{Space: l.Space, Place: s.Home}
}

// scope returns the scope in which a pinned item is used.
func (p Pin) scope(s *Stack) trust.Scope {
	return trust.Scope{Space: objects.Project, Project: s.Genesis, Place: s.Place, Registry: p.Registry, Pinned: p.Sum}
}

// refusedState distinguishes the states that share the code "untrusted".
func refusedState(it *objects.Item, err error, st *trust.Store) objects.State {
	switch {
	case fault.CodeOf(err) == fault.Revoked && st.DeniedByUser(it):
		return objects.Denied
	case fault.CodeOf(err) != fault.Untrusted:
		return stateOf(err)
	case it.Signature != nil:
		return objects.Untrusted
	case it.Legacy != nil && it.Legacy.Unsigned == "":
		return objects.Legacy
	case it.Merged != nil:
		return objects.Merged
	}
	return objects.Unsigned
}

// OwnedByLock refuses a working file with an id that the lock brings from a registry.
func (s *Stack) OwnedByLock(l *Layer, ref objects.Ref) error {
	if l.Space != objects.Project || s.Locked == nil {
		return nil
	}
	if pin, ok := s.Locked(ref); ok {
		return fault.New(fault.Rollback, "%s: a file of this name hides the item that the lock pins from registry %s", ref, pin.Registry).
			Advise("rye rm %[1]s to use the pinned one; a second one removes that from the lock, and rye restore %[1]s brings the file back", ref)
	}
	if p, err := PackageOf(s, ref); p != nil && err == nil {
		return fault.New(fault.Conflict, "%s: a file of this name hides the item of bundle %s", ref, p.Ref.Published()).
			Advise("rye rm %s to use the bundle's, or rye rm %s", ref, p.Ref)
	}
	return nil
}

// RecordedBlob returns the blob that the record holds at p, or zero.
func (l *Layer) RecordedBlob(p string) (store.OID, error) { return l.recordedAt(nil, p) }

// recordedAt is RecordedBlob for the record at a moment; nil is now.
func (l *Layer) recordedAt(at *moment, p string) (store.OID, error) {
	if at == nil {
		c, err := l.tip()
		if err != nil {
			return store.OID{}, err
		}
		at = &moment{c}
	}
	if at.tip == nil {
		return store.OID{}, nil
	}
	e, err := l.repo.Lookup(at.tip.Tree, p)
	if errors.Is(err, store.ErrNotExist) {
		return store.OID{}, nil
	}
	return e.ID, l.damaged(err)
}

// HistoryOf is store.Reader.History for an item. held are the files under ref in the record
// after the commit, usually one, none if there were none.
func (l *Layer) HistoryOf(ctx context.Context, from store.OID, ref objects.Ref, visit func(c *store.Commit, held []store.Entry) error) error {
	dir := l.FolderOf(ref)
	return l.repo.Histories(ctx, from, dir, holds(dir, ref), visit)
}
