package locks

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Library returns the source of an execution's plan, and the session for it. A locked item
// runs on the standard library that it was locked with, if a store here still has that. So a
// new rye breaks no lock.
func Library(s *session.Session, q rye.ExecuteRequest) (*session.Session, chain.Library, error) {
	if q.Pinned && (s.Lock == nil || s.Lock.Stdlib == nil) {
		return nil, nil, noLock(s, q.Ref)
	}
	if s.Lock != nil && s.Lock.Stdlib != nil {
		if _, locked := session.LockEntry(s, q.Ref); locked {
			system, err := s.Stack.Kept(s.Lock.Stdlib.Manifest)
			if err == nil {
				s = s.WithSystem(system)
			} else if q.Pinned {
				return nil, nil, fault.Wrap(err, "execute %s", q.Ref)
			} // else the lock's check reports the difference to today's
		}
	}
	if q.Pinned {
		return s, pinned{s}, nil
	}
	return s, inUse{s}, nil
}

// noLock is the refusal of a request that needs a lock.
func noLock(s *session.Session, ref objects.Ref) error {
	if s.LockConflict != nil {
		return fault.Wrap(s.LockConflict, "%s", ref)
	}
	return fault.New(fault.Drift, "%s: no lock here", ref).Mend("rye lock")
}

// Pinned returns the pinned item, by its bytes and from any place that has them: edited,
// replaced or deleted working files do not affect it.
func Pinned(ctx context.Context, s *session.Session, ref objects.Ref) (space.Found, error) {
	if s.Lock == nil {
		return space.Found{}, noLock(s, ref)
	}
	pin, ok := s.Lock.Items[ref]
	if entry, locked := session.LockEntry(s, ref); !ok && locked {
		pin, ok = s.Lock.Items[entry]
	}
	switch {
	case !ok:
		return space.Found{}, fault.New(fault.Drift, "%s: not in the lock, so nothing is pinned", ref).Mend("rye lock %s", ref)
	case pin.From != "":
		return s.Stack.FromLock(ref)
	case pin.Space == objects.System:
		f, ok, err := s.Stack.In(ctx, objects.System, ref)
		if err == nil && !ok {
			err = fault.New(fault.Drift, "%s: not in the locked standard library", ref).Mend("rye lock")
		}
		return f.Found, errors.Join(err, f.Err)
	}
	var blob store.OID
	if pin.Blob != "" {
		var err error
		if blob, err = store.ParseOID(pin.Blob); err != nil {
			return space.Found{}, err
		}
	}
	return s.Stack.Exactly(ctx, pin.Space, pin.Path, blob, pin.SHA256)
}

// pinned is the chain.Library of the pinned items.
type pinned struct{ s *session.Session }

// FindFrom returns the pinned item; the lock determines its space.
func (p pinned) FindFrom(ctx context.Context, _ objects.Space, ref objects.Ref) (chain.Link, error) {
	found, err := Pinned(ctx, p.s, ref)
	if err != nil {
		return chain.Link{}, err
	}
	l := link(p.s, found)
	return l, p.s.Lock.MatchItem(l)
}

// Around returns the files beside the tool when it was locked. They come from the working tree
// if they are the same there, else from the newest matching record.
func (p pinned) Around(ctx context.Context, tool chain.Link, d chain.Deps) ([]chain.Source, error) {
	if tool.Origin != nil {
		return inUse{p.s}.aroundLocked(ctx, tool, d)
	}
	pin := p.s.Lock.Items[tool.Ref()]
	if pin.Around.IsZero() {
		return nil, nil
	}
	now, why := inUse{p.s}.Around(ctx, tool, d)
	if why == nil && chain.AroundDigest(now) == pin.Around {
		return now, nil
	}
	if tool.Space != objects.Project {
		return now, why // and the lock's check names the changed file
	}
	blob, err := store.ParseOID(tool.Blob)
	if err != nil {
		return nil, err
	}
	var then []chain.Source
	err = p.s.Stack.Snapshots(ctx, p.s.Stack.Project, pin.Path, blob, func(sn *space.Snapshot) error {
		files, err := chain.Around(ctx, sn, tool.Verified, d)
		if err != nil || chain.AroundDigest(files) != pin.Around {
			return nil // files that do not verify, or differ, are not the locked ones
		}
		then = files
		return fs.SkipAll
	})
	if err == nil && then == nil {
		err = fault.New(fault.Offline, "%s: its pinned companion files are neither in the working tree nor in its record", tool.Ref()).
			Advise("rye lock %s, to pin the present files", tool.Ref())
	}
	return then, err
}
