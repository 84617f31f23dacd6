// Package locks works out what would run and pins it: plans, the project's lock, and the
// items as a lock has them.
package locks

import (
	"context"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Plan works out a tool's run, with the items that are in use here.
func Plan(ctx context.Context, s *session.Session, ref objects.Ref) (*chain.Plan, error) {
	return chain.Resolve(ctx, inUse{s}, ref)
}

// inUse is the chain.Library of the items in use: each from the highest space that has it.
type inUse struct{ s *session.Session }

// FindFrom returns the verified item that ref means in the space at or below it.
func (u inUse) FindFrom(ctx context.Context, at objects.Space, ref objects.Ref) (chain.Link, error) {
	found, err := u.s.Stack.FindFrom(ctx, at, ref)
	if err != nil {
		return chain.Link{}, err
	}
	return link(u.s, found), nil
}

// Around returns the files that a tool can load beside its own; see chain.Around.
func (u inUse) Around(ctx context.Context, tool chain.Link, d chain.Deps) ([]chain.Source, error) {
	if tool.Origin != nil {
		return u.aroundLocked(ctx, tool, d)
	}
	tree, err := treeOf(u.s.Stack, tool.Space)
	if err != nil {
		return nil, err
	}
	return chain.Around(ctx, tree, tool.Verified, d)
}

// aroundLocked is Around for a published tool: one file, or a member of a bundle.
func (u inUse) aroundLocked(ctx context.Context, tool chain.Link, d chain.Deps) ([]chain.Source, error) {
	p := u.s.Stack.LockedPackage(tool.Origin.Package)
	if p == nil {
		return nil, nil
	}
	return chain.Around(ctx, p.Tree(u.s.Stack), tool.Verified, d)
}

// treeOf returns the files of a space as they are now.
func treeOf(s *space.Stack, sp objects.Space) (chain.Tree, error) {
	if sp == objects.System {
		return space.Released(s)
	}
	l, err := s.Layer(sp)
	if err != nil {
		return nil, err
	}
	return space.Working(s, l), nil
}

// link describes a found item to the planner. The origin of a registry's item comes from the
// lock.
func link(s *session.Session, f space.Found) chain.Link {
	l := chain.Link{Verified: f.Verified, Space: f.Space}
	if !f.Blob.IsZero() {
		l.Blob = f.Blob.String()
	}
	l.State = StateOf(f)
	if f.Registry != "" {
		l.Origin = originOf(s, f.Item().Ref)
	}
	return l
}

// originOf returns the lock's entry for an item that a registry published, by itself or in a
// bundle.
func originOf(s *session.Session, ref objects.Ref) *chain.Origin {
	it, ok := s.Lock.Items[ref]
	o := &chain.Origin{}
	p, _ := space.PackageOf(s.Stack, ref)
	if !ok && p != nil {
		it, o.Package, o.Manifest = s.Lock.Items[p.Ref], p.Ref, p.Digest()
	}
	o.Registry, o.Version, o.Commit, o.Author, o.Publisher = it.From, it.Version, it.Commit, it.Author, it.Publisher
	if !ok && p != nil {
		o.Version = p.Version() // from its manifest
	}
	return o
}

// StateOf returns objects.Older or objects.Returned for an item behind its record, and "" for
// every other usable item.
func StateOf(f space.Found) objects.State {
	switch {
	case f.Past == nil:
		return ""
	case !f.Past.Removed.IsZero():
		return objects.Returned
	}
	return objects.Older
}
