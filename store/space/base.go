package space

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// OwnersVersion returns the newest version of an item in the record of a layer that an owner of
// its namespace signed, and for a bundle of its manifest; nil for none. The time in the signature decides which is the newest. Where
// that version was denied, the error is Revoked, and the version is returned with it.
func (s *Stack) OwnersVersion(ctx context.Context, l *Layer, ref objects.Ref, p string) (*objects.Item, error) {
	if ref.Kind == objects.Bundle {
		return s.ownersVersion(ctx, l, subject{name: ref.String(), path: p, parse: parseManifestItem})
	}
	return s.ownersVersion(ctx, l, subject{name: ref.String(), ref: ref, path: p, parse: objects.Parse})
}

// Held returns the bytes with a digest that the record holds, or ever held, at p; nil for none.
func (l *Layer) Held(ctx context.Context, p string, sum objects.Digest) (found []byte, err error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return nil, err
	}
	err = l.repo.History(ctx, c.ID, p, func(_ *store.Commit, e store.Entry) error {
		if e.ID.IsZero() {
			return nil
		}
		raw, err := l.repo.Blob(e.ID, MaxItem)
		if err == nil && objects.DigestOf(raw) == sum {
			found, err = raw, fs.SkipAll
		}
		return err
	})
	return found, l.damaged(err)
}

func (s *Stack) ownersVersion(ctx context.Context, l *Layer, sub subject) (*objects.Item, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return nil, err
	}
	h, err := s.annals[l.Space].of(ctx, l, c, sub)
	if err == nil {
		err = h.readAll(l)
	}
	if err != nil {
		return nil, l.damaged(err)
	}
	byTime := slices.Clone(h.versions)
	slices.SortStableFunc(byTime, func(a, b version) int { return cmp.Compare(b.signedAt.Unix(), a.signedAt.Unix()) })
	for _, v := range byTime {
		it, err := sub.parse(v.path, v.raw)
		if err != nil || it.Signature == nil {
			continue
		}
		switch denied, is := s.ByOwner(it, s.Scope(l)); {
		case denied != nil:
			return it, denied
		case is:
			return it, nil
		}
	}
	return nil, nil
}

// ByOwner reports whether an owner of its namespace signed an item, as far as a scope trusts
// that. denied is the error, Revoked, for an item that was denied.
func (s *Stack) ByOwner(it *objects.Item, in trust.Scope) (denied error, is bool) {
	v, err := trust.Verify(it, in, s.Trust)
	switch {
	case fault.Is(err, fault.Revoked):
		return err, false
	case err != nil, v.Patched() != trust.NoPatch:
		return nil, false
	}
	return s.Taken.Denies(v, s.Trust), true
}

// fallsWithBase returns the error for a patch of a version that was denied: the patch falls with
// it.
func (s *Stack) fallsWithBase(ctx context.Context, l *Layer, sub subject) error {
	base, err := s.ownersVersion(ctx, l, sub)
	if base != nil && fault.Is(err, fault.Revoked) {
		ref := sub.ref
		if ref.Kind == "" {
			ref = sub.item.Ref
		}
		return fault.New(fault.Revoked, "%s: a patch of the version %s, which was denied: %w", sub.name, words.Brief(base.Sum.String()), err).
			Advise("an owner looks at it: rye review %s --accept-denied", ref)
	}
	return err
}
