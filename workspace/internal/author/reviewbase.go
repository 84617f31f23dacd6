package author

import (
	"context"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Published returns the newest published version of an item, and the scope in which its signature
// counts; nil for an item without one. A version that is known and cannot be had is an error.
type Published func(ctx context.Context, ref objects.Ref) (*objects.Item, trust.Scope, error)

// base is the owner's version that a change is compared with. The contributor has no say in it:
// the newest one that this user's record or the registry's log holds counts, and only without
// either the newest one in git.
type base struct {
	item   *objects.Item
	from   string // record, published or git
	commit string // for git
	denied error  // why it was denied; nil when it was not
}

// before returns the time for a signature of a change now: after the owner's last one.
func (b *base) before(now time.Time) time.Time {
	if b == nil || b.item.Signature.SignedAt.Before(now) {
		return now
	}
	return (&space.Past{Newest: b.item.Signature.SignedAt}).After(now)
}

// history says where the versions of an item, or of a bundle's manifest, are found.
type history struct {
	ref   objects.Ref
	path  string
	parse func(path string, raw []byte) (*objects.Item, error)
}

func itemHistory(ref objects.Ref, path string) history { return history{ref, path, objects.Parse} }

// baseOf returns the owner's newest version of an item or a manifest; nil for none.
func baseOf(ctx context.Context, s *custody.Desk, l *space.Layer, of history, published Published) (*base, error) {
	recorded, err := s.Stack.OwnersVersion(ctx, l, of.ref, of.path)
	if err != nil && !fault.Is(err, fault.Revoked) {
		return nil, err
	}
	var newest *base
	if recorded != nil {
		newest = &base{item: recorded, from: "record", denied: err}
	}
	if published != nil {
		it, in, err := published(ctx, of.ref)
		if err != nil {
			return nil, err
		}
		if it != nil && it.Signature != nil {
			denied, is := s.Stack.ByOwner(it, in)
			if (is || denied != nil) && (newest == nil || it.Signature.SignedAt.After(newest.item.Signature.SignedAt)) {
				newest = &base{item: it, from: "published", denied: denied}
			}
		}
	}
	if newest != nil {
		return newest, nil
	}
	return gitBase(s, l, of)
}

// gitBase returns the version that an owner signed last, among all that the user's own git holds
// on any branch; nil for none, also where git cannot be read with certainty. Every branch counts,
// because one branch can leave a version out.
func gitBase(s *custody.Desk, l *space.Layer, of history) (*base, error) {
	if l.Space != objects.Project {
		return nil, nil
	}
	all, err := s.Versions(of.path)
	if err != nil {
		return nil, nil
	}
	var newest *base
	for _, v := range all {
		it, err := of.parse(of.path, v.Raw)
		if err != nil || it.Ref != of.ref || it.Signature == nil {
			continue
		}
		denied, is := s.Stack.ByOwner(it, s.Stack.Scope(l))
		if (is || denied != nil) && (newest == nil || it.Signature.SignedAt.After(newest.item.Signature.SignedAt)) {
			newest = &base{item: it, from: "git", commit: v.Commit.String(), denied: denied}
		}
	}
	return newest, nil
}

// describe describes a base for a report.
func (b *base) describe(now time.Time) *rye.ReviewBase {
	if b == nil {
		return nil
	}
	sig := b.item.Signature
	r := &rye.ReviewBase{From: b.from, SHA256: b.item.Sum.String(), Signer: sig.Key.String(), SignedAt: sig.SignedAt.UTC().Format(time.RFC3339),
		Version: b.item.Meta.Version, Commit: b.commit, Days: int(now.Sub(sig.SignedAt).Hours() / 24)}
	if b.denied != nil {
		r.Denied = b.denied.Error()
	}
	return r
}
