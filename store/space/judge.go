package space

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Judge reads the working file at p once and decides whether those bytes may be
// used. The rules, in order (docs/format/project.md, "Working tree and record"):
//
//   - what does not parse, or whose signature does not hold here, is refused;
//   - the same bytes as recorded are used;
//   - newer bytes are used: validly signed, never recorded before, and neither
//     the version nor the time of signing going back;
//   - anything else is an older item played back, refused.
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

// judge is Judge for a caller that already knows the blob recorded at p, and
// which bundles there are.
func (s *Stack) judge(ctx context.Context, l *Layer, p string, ref objects.Ref, recorded store.OID, seen *Covers) (Finding, error) {
	raw, err := l.Read(p)
	return s.judgeRead(ctx, l, p, ref, raw, err, recorded, seen)
}

// judgeRead is judge for a caller that has read the file already, or tried to.
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

// JudgeBytes decides about bytes that are, or are to be, the working file at p,
// where the record holds the blob recorded (zero for none).
func (s *Stack) JudgeBytes(ctx context.Context, l *Layer, p string, ref objects.Ref, raw []byte, recorded store.OID) (Finding, error) {
	return s.judgeBytes(ctx, l, p, ref, raw, recorded, nil)
}

func (s *Stack) judgeBytes(ctx context.Context, l *Layer, p string, ref objects.Ref, raw []byte, recorded store.OID, seen *Covers) (f Finding, err error) {
	f = Finding{Ref: ref, State: objects.Signed}
	f.Space, f.Path = l.Space, p
	f.Blob = l.BlobID(raw)
	f.Recorded = recorded == f.Blob
	cover, err := s.Cover(ctx, l, p, seen)
	if err != nil {
		return f, err
	}
	f.Item, f.Err = objects.Parse(p, raw)
	if cover != nil {
		if s.judgeCovered(&f, l, cover, raw, f.Err); f.Err != nil || !f.Verified.IsZero() {
			return f, nil
		}
	}
	if f.Err != nil {
		f.State = stateOf(f.Err)
		return f, nil
	}
	if f.Verified, f.Err = trust.Verify(f.Item, s.Scope(l), s.Trust); f.Err != nil {
		f.State = refusedState(f.Item, f.Err)
		return f, nil
	}
	if f.Err = s.OwnedByLock(l, ref); f.Err == nil && !f.Recorded {
		f.Err, err = l.newer(ctx, subject{
			name: ref.String(), ref: ref, path: p, item: f.Item, mend: "rye restore " + ref.String(), parse: objects.Parse,
		}, recorded)
	}
	if err != nil {
		return f, err
	}
	if f.Err != nil {
		f.Verified, f.State = trust.Verified{}, stateOf(f.Err)
	}
	return f, nil
}

// Scope returns where items of the layer are used: what they are signed and verified for.
func (s *Stack) Scope(l *Layer) trust.Scope {
	if l.Space == objects.Project {
		return trust.Scope{Space: objects.Project, Project: s.Genesis, Place: s.Place, Declared: s.Declared}
	}
	return trust.Scope{Space: l.Space, Place: s.Home}
}

// scope returns where what a lock pins is used.
func (p Pin) scope(s *Stack) trust.Scope {
	return trust.Scope{Space: objects.Project, Project: s.Genesis, Place: s.Place, Registry: p.Registry, Pinned: p.Sum}
}

// refusedState tells the states apart that share the code "untrusted".
func refusedState(it *objects.Item, err error) objects.State {
	switch {
	case fault.CodeOf(err) != fault.Untrusted:
		return stateOf(err)
	case it.Signature != nil:
		return objects.Untrusted
	case it.Legacy != nil && it.Legacy.Unsigned == "":
		return objects.Legacy
	}
	return objects.Unsigned
}

// OwnedByLock refuses a working file for an id that the lock brings from a registry.
func (s *Stack) OwnedByLock(l *Layer, ref objects.Ref) error {
	if l.Space != objects.Project || s.Locked == nil {
		return nil
	}
	if pin, ok := s.Locked(ref); ok {
		return fault.New(fault.Rollback, "%s: a file of this name stands before the item that the lock pins from registry %s", ref, pin.Registry).
			Advise("rye rm %[1]s to use the pinned one; once more takes that out of the lock, and rye restore %[1]s brings the file back", ref)
	}
	return nil
}

// RecordedBlob returns the blob that the record holds at p, or zero.
func (l *Layer) RecordedBlob(p string) (store.OID, error) { return l.recordedAt(nil, p) }

// recordedAt is RecordedBlob for the record as it was at a moment, now if that is nil.
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
	return e.ID, damaged(l, err)
}

// subject is what newer asks about: a file with a signature, and how its kind of
// file is read.
type subject struct {
	name, path, mend string
	ref              objects.Ref // zero for a manifest, whose name is its path
	item             *objects.Item
	parse            func(path string, raw []byte) (*objects.Item, error)
}

// newer returns nil for bytes that move forward from what the record holds, a
// fault.Rollback verdict for bytes that do not, and err when it cannot tell.
func (l *Layer) newer(ctx context.Context, s subject, recorded store.OID) (verdict, err error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return nil, err
	}
	blob, at := l.BlobID(s.item.Raw), s.path
	if recorded.IsZero() && s.ref.Kind != "" {
		// Another language, or another spelling of its extension, is the same item still.
		if at, err = l.pathIn(c.Tree, s.ref); err == nil && at != "" {
			recorded, err = l.RecordedBlob(at)
		}
		if err != nil || recorded == blob {
			return nil, damaged(l, err)
		}
	}
	err = l.heldAs(ctx, c.ID, s, func(c *store.Commit, held []store.Entry) error {
		if slices.ContainsFunc(held, func(e store.Entry) bool { return e.ID == blob }) {
			verdict = s.refuse("these bytes were replaced after %s and are back", c.Committer.Time().UTC().Format(time.DateOnly))
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || verdict != nil || recorded.IsZero() {
		return verdict, damaged(l, err)
	}
	raw, err := l.repo.Blob(recorded, MaxItem)
	if err != nil {
		return nil, damaged(l, err)
	}
	old, err := s.parse(at, raw)
	if err != nil || old.Signature == nil && old.Legacy == nil {
		return nil, nil // what is recorded was never usable: nothing to fall behind
	}
	return s.behind(old), nil
}

// heldAs calls visit for each commit, newest first, after which the record held
// something else under the name of s than it did before, with what it then held:
// the files of an item, whatever their extensions, or the one manifest.
func (l *Layer) heldAs(ctx context.Context, from store.OID, s subject, visit func(*store.Commit, []store.Entry) error) error {
	if s.ref.Kind == "" {
		return l.repo.History(ctx, from, s.path, func(c *store.Commit, e store.Entry) error {
			return visit(c, []store.Entry{e})
		})
	}
	return l.HistoryOf(ctx, from, s.ref, visit)
}

// HistoryOf is store.Reader.History for an item: entries are the files that the
// record held under ref after the commit, usually one, none where it held none.
func (l *Layer) HistoryOf(ctx context.Context, from store.OID, ref objects.Ref, visit func(c *store.Commit, held []store.Entry) error) error {
	return l.repo.Histories(ctx, from, path.Dir(ref.Path("")), holds(ref), visit)
}

func (s subject) refuse(why string, args ...any) error {
	return fault.New(fault.Rollback, "%s: "+why, append([]any{s.name}, args...)...).Advise("%s, if you mean it", s.mend)
}

// behind compares what two signatures say. A line of RYE OS binds no time,
// so it has none to compare, and it never replaces one that covers the whole file.
func (s subject) behind(old *objects.Item) error {
	is, was := s.item.Signature, old.Signature
	switch {
	case was != nil && is == nil:
		return s.refuse("a line of RYE OS, where one that covers the whole file is recorded")
	case was != nil && is.SignedAt.Before(was.SignedAt):
		return s.refuse("signed %s, before the recorded %s", is.SignedAt.Format(time.RFC3339), was.SignedAt.Format(time.RFC3339))
	}
	then, err1 := objects.ParseVersion(old.Meta.Version)
	now, err2 := objects.ParseVersion(s.item.Meta.Version)
	if err1 == nil && err2 == nil && now.Compare(then) < 0 {
		return s.refuse("version %s, below the recorded %s", s.item.Meta.Version, old.Meta.Version)
	}
	return nil
}
