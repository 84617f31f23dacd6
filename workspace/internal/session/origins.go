package session

import (
	"context"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
)

// StatedOrigins returns the origins of the bundles that a lock pins, as their signed manifests state
// them. unknown has the pinned bundles whose manifests may not be used here. The error is a failure
// to read.
func (s *Session) StatedOrigins(ctx context.Context, l *chain.Lock) (stated map[objects.Ref]chain.OriginPin, unknown map[objects.Ref]bool, err error) {
	stated, unknown = map[objects.Ref]chain.OriginPin{}, map[objects.Ref]bool{}
	note := func(ref objects.Ref, m *objects.Manifest, err error) {
		switch {
		case err != nil || m == nil:
			unknown[ref] = true
		case m.Origin != nil:
			stated[ref] = chain.OriginPinOf(m.Origin)
		}
	}
	in := s.WithLock(l, objects.Digest{})
	seen := map[string]bool{}
	for ref, pin := range l.Items {
		switch {
		case pin.From != "" && ref.Kind == objects.Bundle:
			if p := in.Stack.LockedPackage(ref); p != nil {
				note(ref, p.Manifest(), p.Err)
			}
		case pin.From == "" && pin.Space == objects.Project:
			c, err := s.Stack.Cover(ctx, s.Stack.Project, pin.Path, nil)
			if err != nil {
				return nil, nil, err
			}
			if c == nil || seen[c.Dir] {
				continue
			}
			seen[c.Dir] = true
			id, err := objects.BundleID(c.Dir)
			if err != nil {
				continue
			}
			note(objects.BundleRef(id), c.Manifest(), c.Err)
		}
	}
	return stated, unknown, nil
}

// repeatOrigins gives a lock the origins of its bundles, for tools that read locks. An entry whose
// manifest may not be used here stays, like the pins of its members.
func (s *Session) repeatOrigins(ctx context.Context, l *chain.Lock) error {
	stated, unknown, err := s.StatedOrigins(ctx, l)
	if err != nil {
		return err
	}
	for ref := range unknown {
		if o, ok := l.Origins[ref]; ok {
			stated[ref] = o
		}
	}
	l.Origins = stated
	return nil
}
