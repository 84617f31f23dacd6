package run

import (
	"context"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// finder hands the planner verified items, looking from a space downwards, and the
// verified files that lie around a tool.
type finder struct{ s *session.Session }

func (f finder) FindFrom(ctx context.Context, at objects.Space, ref objects.Ref) (chain.Link, error) {
	found, err := f.s.Stack.FindFrom(ctx, at, ref)
	if err != nil {
		return chain.Link{}, err
	}
	return link(f.s, found), nil
}

// link describes a found item to the planner. What a registry published carries
// the words of the lock about it.
func link(s *session.Session, f space.Found) chain.Link {
	l := chain.Link{Verified: f.Verified, Space: f.Space}
	if !f.Blob.IsZero() {
		l.Blob = f.Blob.String()
	}
	if f.Registry != "" {
		it := s.Lock.Items[f.Item().Ref]
		l.Origin = &chain.Origin{Registry: it.From, Version: it.Version, Commit: it.Commit, Author: it.Author, Publisher: it.Publisher}
	}
	return l
}

// Around returns the files that a tool can load beside its own, each verified; see
// chain.Around.
func (f finder) Around(ctx context.Context, tool chain.Link, d chain.Deps) ([]chain.Source, error) {
	if tool.Origin != nil {
		return nil, nil // a registry item is one file
	}
	tree, err := treeOf(f.s.Stack, tool.Space)
	if err != nil {
		return nil, err
	}
	return chain.Around(ctx, tree, tool.Verified.Item().Path, d)
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
