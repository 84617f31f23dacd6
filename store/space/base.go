package space

import (
	"cmp"
	"context"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// OwnersVersion returns the newest version of an item in the record of a layer that an owner of
// its namespace signed; nil for none. The time in the signature decides which is the newest. Where
// that version was denied, the error is Revoked, and the version is returned with it.
func (s *Stack) OwnersVersion(ctx context.Context, l *Layer, ref objects.Ref, p string) (*objects.Item, error) {
	return s.ownersVersion(ctx, l, subject{name: ref.String(), ref: ref, path: p, parse: objects.Parse})
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
		return fault.New(fault.Revoked, "%s: a patch of the version %s, which was denied: %w", sub.name, words.Brief(base.Sum.String()), err).
			Advise("an owner looks at it: rye review %s --accept-denied", sub.name)
	}
	return err
}
