package space

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Past is how a validly signed file that the record does not hold now is behind the record: a
// branch, a bisection or a checkout brought it back. It holds only facts; Stack.Rule decides
// who may use the file.
type Past struct {
	Name    string    // of the item or the bundle, for people
	Path    string    // below .ai: of the file itself, or of the manifest that covers it
	Raw     []byte    // the bytes of that file
	Newest  time.Time // time of the signature of the newest recorded version
	Removed time.Time // time of its removal; zero unless it came back afterwards
	Wider   []string  // permissions that it has and the newest recorded version lacks, in words
	Where   string    // the other directory of the project with this record; "" for this one

	tree  store.OID   // of the record, when it first held the newest version
	repo  *store.Repo // that has it
	space objects.Space
}

// Refusal returns the error for a caller that may not use the file.
func (p *Past) Refusal(why string, args ...any) *fault.Error {
	e := fault.New(fault.Rollback, "%s: "+why, append([]any{p.Name}, args...)...)
	if dir := path.Dir(p.Path); path.Base(p.Path) == objects.ManifestName {
		return e.Mend("rye sign .ai/%s", dir)
	}
	if p.space == objects.User {
		return e.Mend("rye sign --space user %s", p.Name)
	}
	return e.Mend("rye sign %s", p.Name)
}

// verdict returns the error for a file that only a person can allow; nil if it is just older.
func (p *Past) verdict() error {
	switch {
	case !p.Removed.IsZero() && p.Where != "":
		return p.Refusal("removed on %s in %s, which is the same project", p.Removed.UTC().Format(time.DateOnly), words.Quote(p.Where))
	case !p.Removed.IsZero():
		return p.Refusal("removed on %s, and back", p.Removed.UTC().Format(time.DateOnly))
	case len(p.Wider) > 0 && p.Where != "":
		return p.Refusal("older than the version signed %s in %s, which is the same project, and wider: it %s", p.Newest.UTC().Format(time.RFC3339), words.Quote(p.Where), p.Says())
	case len(p.Wider) > 0:
		return p.Refusal("older than the version signed %s, and wider: it %s", p.Newest.UTC().Format(time.RFC3339), p.Says())
	}
	return nil
}

// After returns now, or the first second after everything that p is behind: a signature with
// that time is the newest.
func (p *Past) After(now time.Time) time.Time {
	if first := p.since().Truncate(time.Second).Add(time.Second); first.After(now) && first.Sub(now) < maxAhead {
		return first
	}
	return now
}

// maxAhead is how far in the future a recorded removal or signature may be.
const maxAhead = 24 * time.Hour

// since returns the time of the newest signature or removal that p is behind.
func (p *Past) since() time.Time {
	if p.Removed.After(p.Newest) {
		return p.Removed
	}
	return p.Newest
}

// Says lists the entries of Wider.
func (p *Past) Says() string { return strings.Join(p.Wider, ", ") }

// state returns the state for lists.
func (p *Past) state() objects.State {
	if !p.Removed.IsZero() {
		return objects.Returned
	}
	return objects.Older
}

// Admit decides, by the rule of the stack, about a finding that is behind the record. It
// returns others unchanged. Call it before using a finding of In.
func Admit(ctx context.Context, s *Stack, f Finding) Finding { return admit(ctx, s, f, false) }

func admit(ctx context.Context, s *Stack, f Finding, beside bool) Finding {
	if f.Past == nil || f.held.IsZero() {
		return f
	}
	f.Err = decide(ctx, s, f, beside)
	if f.Verified = f.held; f.Err != nil {
		f.Verified = trust.Verified{}
	}
	return f
}

// decide calls the rule. Without a rule it refuses, because the caller is unknown.
func decide(ctx context.Context, s *Stack, f Finding, beside bool) error {
	if s.Rule == nil {
		return f.Past.Refusal("older than the record, and rye cannot ask here")
	}
	return s.Rule(ctx, f, beside)
}

// subject is a signed file to look up in the record, with the parser for its kind of file.
type subject struct {
	name, path string
	ref        objects.Ref // zero for a manifest, which is named by its path
	item       *objects.Item
	parse      func(path string, raw []byte) (*objects.Item, error)
}

// signedAfter reports whether it was signed after a time. A RYE OS line proves no time.
func (s subject) signedAfter(t time.Time) bool {
	return s.item.Signature != nil && s.item.Signature.SignedAt.After(t)
}

// pastOf returns how a validly signed file is behind the record. It returns nil for a file
// that was never recorded and was signed after everything recorded. Only signed_at decides the
// order; version numbers do not.
func (s *Stack) pastOf(ctx context.Context, l *Layer, sub subject) (*Past, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return nil, err
	}
	h, err := s.annals[l.Space].of(ctx, l, c, sub)
	if err != nil || len(h.versions) == 0 && h.removed.IsZero() {
		return nil, l.damaged(err)
	}
	seen := h.holds(l.BlobID(sub.item.Raw))
	if err := h.readAll(l); err != nil {
		return nil, err
	}
	removed := h.removedAfter(sub, seen)
	if !seen && !removed && h.before(sub) {
		return nil, nil // newer than anything that claims to be signed, so no claim has to be verified
	}
	newest, err := h.newest(s, l, s.Scope(l), sub)
	if err != nil {
		return nil, err
	}
	p := &Past{Name: sub.name, Path: sub.path, Raw: sub.item.Raw, space: l.Space, repo: l.repo}
	if newest != nil {
		p.Newest, p.tree = newest.signedAt, newest.tree
		p.Wider = widerThan(sub.item, newest.item)
	}
	switch {
	case removed:
		p.Removed = h.removed
		return p, nil
	case seen || newest != nil && newest.aheadOf(sub.item):
		return p, nil
	}
	return nil, nil
}

// widerThan is policy.Wider, and adds that a RYE OS line does not cover the whole file.
func widerThan(now, was *objects.Item) []string {
	wider := policy.Wider(now, was)
	if now.Signature == nil && was.Signature != nil {
		wider = append(wider, "carries a line of RYE OS, but the recorded one covers the whole file")
	}
	return wider
}

// version is one content that the record held under a name.
type version struct {
	path     string
	blob     store.OID
	tree     store.OID // of the commit that added it
	signedAt time.Time // as its line claims; zero without a native line
	raw      []byte
	item     *objects.Item // set for the result of newest
}

// aheadOf reports whether the version was signed after an item. A RYE OS line proves no time:
// it never replaces a line that covers the whole file, and has no order among other RYE OS
// lines.
func (v *version) aheadOf(it *objects.Item) bool {
	if it.Signature == nil {
		return v.item.Signature != nil
	}
	return it.Signature.SignedAt.Before(v.signedAt)
}

// versions is everything that the record ever held under a name, the newest first.
type versions struct {
	versions []version
	removed  time.Time // time of its removal; zero while it is recorded
	changed  time.Time // time when the record last added or removed it
}

// copy returns a copy whose versions can be filled with bytes; nil for nil.
func (h *versions) copy() *versions {
	if h == nil {
		return nil
	}
	n := *h
	n.versions = slices.Clone(h.versions)
	return &n
}

func (h *versions) holds(blob store.OID) bool {
	return slices.ContainsFunc(h.versions, func(v version) bool { return v.blob == blob })
}

// versionsOf reads all versions that the record held under the name of sub.
func versionsOf(ctx context.Context, l *Layer, from store.OID, sub subject) (*versions, error) {
	h, first := &versions{}, true
	err := l.heldAs(ctx, from, sub, func(c *store.Commit, held []store.Entry) error {
		if first {
			h.changed = c.Committer.Time()
		}
		if first && len(held) == 0 {
			h.removed = c.Committer.Time()
		}
		first = false
		for _, e := range held {
			if v := (version{path: path.Dir(sub.path) + "/" + e.Name, blob: e.ID, tree: c.Tree}); !h.holds(e.ID) {
				h.versions = append(h.versions, v)
			}
		}
		return nil
	})
	return h, err
}

// heldAs calls visit for each commit, newest first, that changed the files under the name of
// sub, with the files after the commit: the files of an item, whatever their extensions, or
// the one manifest.
func (l *Layer) heldAs(ctx context.Context, from store.OID, sub subject, visit func(*store.Commit, []store.Entry) error) error {
	if sub.ref.Kind != "" {
		return l.HistoryOf(ctx, from, sub.ref, visit)
	}
	return l.repo.History(ctx, from, sub.path, func(c *store.Commit, e store.Entry) error {
		if e.ID.IsZero() {
			return visit(c, nil)
		}
		return visit(c, []store.Entry{e})
	})
}

// removedAfter reports whether the name was removed after sub was signed. Times are whole seconds.
// Within one, bytes that the record held came before the removal, and others after it.
func (h *versions) removedAfter(sub subject, held bool) bool {
	if h.removed.IsZero() || sub.signedAfter(h.removed) {
		return false
	}
	return held || sub.item.Signature == nil || !sub.item.Signature.SignedAt.Equal(h.removed)
}

// before reports whether sub was signed, and not before the time that any version claims.
func (h *versions) before(sub subject) bool {
	if sub.item.Signature == nil {
		return false
	}
	return !slices.ContainsFunc(h.versions, func(v version) bool { return v.signedAt.After(sub.item.Signature.SignedAt) })
}

// readAll reads the bytes of all versions from the record of a layer, once.
func (h *versions) readAll(l *Layer) error {
	for i := range h.versions {
		v := &h.versions[i]
		if v.raw != nil {
			continue
		}
		raw, err := l.repo.Blob(v.blob, MaxItem)
		if err != nil {
			return l.damaged(err)
		}
		v.raw = raw
		if _, sig, _, err := objects.Split(v.path, raw); err == nil && sig != nil {
			v.signedAt = sig.SignedAt
		}
	}
	return nil
}

// newest returns the last signed version in the record of a layer whose signature holds in a
// scope: the record also keeps replaced versions, signed or not. It returns nil if there is
// none.
func (h *versions) newest(s *Stack, l *Layer, in trust.Scope, sub subject) (*version, error) {
	if err := h.readAll(l); err != nil {
		return nil, err
	}
	byTime := slices.Clone(h.versions)
	slices.SortStableFunc(byTime, func(a, b version) int { return cmp.Compare(b.signedAt.Unix(), a.signedAt.Unix()) })
	for i := range byTime {
		v := &byTime[i]
		var err error
		if v.item, err = sub.parse(v.path, v.raw); err == nil {
			if verified, err := trust.Verify(v.item, in, s.Trust); err == nil && s.Taken.Denies(verified, s.Trust) == nil {
				return v, nil
			}
		}
	}
	return nil, nil
}

// EverHeld reports whether the record holds, or ever held, a file of ref with these bytes.
func (l *Layer) EverHeld(ctx context.Context, ref objects.Ref, raw []byte) (bool, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return false, err
	}
	found, blob := false, l.BlobID(raw)
	err = l.HistoryOf(ctx, c.ID, ref, func(_ *store.Commit, held []store.Entry) error {
		if found = slices.ContainsFunc(held, func(e store.Entry) bool { return e.ID == blob }); found {
			return fs.SkipAll
		}
		return nil
	})
	return found, l.damaged(err)
}
