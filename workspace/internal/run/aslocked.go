package run

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

// find returns the item that a request is about: the one in use here, or with
// --pinned the one that the lock means.
func find(ctx context.Context, s *Desk, c rye.Caller, q rye.ExecuteRequest) (space.Found, error) {
	if q.Pinned {
		return asLocked{s.Session}.find(ctx, q.Ref)
	}
	found, err := s.Stack.Find(ctx, q.Ref)
	if err != nil {
		return offer(ctx, s, c, q.Ref, err)
	}
	return found, nil
}

// library returns what a plan is made from, and the session that sees it. A locked item runs on the standard
// library that it was locked with, as long as some store here keeps it, so that a
// new rye breaks no lock.
func library(s *session.Session, q rye.ExecuteRequest) (*session.Session, chain.Library, error) {
	if s.Lock == nil || s.Lock.Stdlib == nil {
		if q.Pinned {
			return nil, nil, noLock(q.Ref)
		}
		return s, finder{s}, nil
	}
	if _, ok := s.Lock.Items[q.Ref]; ok {
		system, err := s.Stack.Kept(s.Lock.Stdlib.Manifest)
		if err == nil {
			s = s.With(system)
		} else if q.Pinned {
			return nil, nil, fault.Wrap(err, "execute %s", q.Ref)
		} // else the lock says what is wrong with today's
	}
	if q.Pinned {
		return s, asLocked{s}, nil
	}
	return s, finder{s}, nil
}

func noLock(ref objects.Ref) error {
	return fault.New(fault.Drift, "%s: there is no lock here", ref).Mend("rye lock")
}

// asLocked finds the items that the lock pins, by their bytes and wherever these are:
// edited, replaced or deleted working files do not matter to it.
type asLocked struct{ s *session.Session }

func (p asLocked) FindFrom(ctx context.Context, _ objects.Space, ref objects.Ref) (chain.Link, error) {
	found, err := p.find(ctx, ref)
	if err != nil {
		return chain.Link{}, err
	}
	link := link(p.s, found)
	return link, p.s.Lock.MatchItem(link)
}

func (p asLocked) find(ctx context.Context, ref objects.Ref) (space.Found, error) {
	if p.s.Lock == nil {
		return space.Found{}, noLock(ref)
	}
	pin, ok := p.s.Lock.Items[ref]
	switch {
	case !ok:
		return space.Found{}, fault.New(fault.Drift, "%s: it is not in the lock, so nothing is pinned", ref).Mend("rye lock %s", ref)
	case pin.From != "":
		return p.s.Stack.FromLock(ref)
	case pin.Space == objects.System:
		f, ok, err := p.s.Stack.In(ctx, objects.System, ref)
		if err == nil && !ok {
			err = fault.New(fault.Drift, "%s: not in the standard library that is locked", ref).Mend("rye lock")
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
	return p.s.Stack.Exactly(ctx, pin.Space, pin.Path, blob, pin.SHA256)
}

// Around returns the files that stood beside the tool when it was locked: those in
// the working tree when they are the same, else those of the newest record in
// which they were.
func (p asLocked) Around(ctx context.Context, tool chain.Link, d chain.Deps) ([]chain.Source, error) {
	pin := p.s.Lock.Items[tool.Ref()]
	if pin.Around.IsZero() {
		return nil, nil
	}
	now, why := finder{p.s}.Around(ctx, tool, d)
	if why == nil && chain.AroundDigest(now) == pin.Around {
		return now, nil
	}
	if tool.Space != objects.Project {
		return now, why // and the lock says which file moved
	}
	blob, err := store.ParseOID(tool.Blob)
	if err != nil {
		return nil, err
	}
	var then []chain.Source
	err = p.s.Stack.Snapshots(ctx, p.s.Stack.Project, pin.Path, blob, func(sn *space.Snapshot) error {
		files, err := chain.Around(ctx, sn, pin.Path, d)
		if err != nil || chain.AroundDigest(files) != pin.Around {
			return nil // what does not verify, or is something else, is not what was locked
		}
		then = files
		return fs.SkipAll
	})
	if err == nil && then == nil {
		err = fault.New(fault.Offline, "%s: the files beside it that are pinned are neither in the working tree nor in its record", tool.Ref()).
			Advise("rye lock %s, to pin what is here", tool.Ref())
	}
	return then, err
}
