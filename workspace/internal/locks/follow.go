package locks

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Follow renews the pins of items that the user signed again. before has the digests of the
// versions that these signatures replaced, by the same user. A pin of any other version stays, and
// so does one that would change with it: what drifted before is for rye lock. The origins of bundles
// follow their manifests. With dry it only returns the refs. No lock, or one with merge conflicts, is left alone.
func Follow(ctx context.Context, s *session.Session, before map[objects.Ref]objects.Digest, dry bool) (renewed []objects.Ref, err error) {
	if s.Lock == nil || len(before) == 0 {
		return nil, nil
	}
	if dry {
		for _, ref := range slices.SortedFunc(maps.Keys(before), byName) {
			if ownPin(s.Lock, ref) && s.Lock.Items[ref].SHA256 == before[ref] {
				renewed = append(renewed, ref)
			}
		}
		return renewed, nil
	}
	s, release, err := s.Alone(ctx)
	if err != nil || s.Lock == nil {
		return nil, err
	}
	defer release()
	f := following{s: s, lock: s.Lock.Clone(), before: before}
	for _, ref := range slices.SortedFunc(maps.Keys(s.Lock.Items), byName) {
		if ownPin(s.Lock, ref) && f.renew(ctx, ref) {
			renewed = append(renewed, ref)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(renewed) == 0 {
		if same, err := originsHold(ctx, s); same || err != nil {
			return nil, err
		}
	}
	return renewed, s.WriteLock(ctx, f.lock)
}

func ownPin(l *chain.Lock, ref objects.Ref) bool {
	pin, ok := l.Items[ref]
	return ok && pin.From == "" && pin.Space == objects.Project
}

type following struct {
	s      *session.Session
	lock   *chain.Lock // with the pins that were renewed
	before map[objects.Ref]objects.Digest
}

// renew renews one pin, and reports whether it changed.
func (f *following) renew(ctx context.Context, ref objects.Ref) bool {
	found, err := f.s.Stack.Find(ctx, ref)
	if err != nil || found.Space != objects.Project || found.Registry != "" {
		return false
	}
	now, plan := f.lock.Clone(), (*chain.Plan)(nil)
	if len(f.lock.Items[ref].Chain) == 0 { // a part of others' chains, or no tool
		err = now.SetItem(link(f.s, found))
	} else if plan, err = Plan(ctx, f.s, ref); err == nil {
		err = now.Set(plan)
	}
	if err != nil || len(now.Items) != len(f.lock.Items) || !f.mine(ctx, now, ref, plan) {
		return false
	}
	changed := whatChanged(f.lock.Items[ref], now.Items[ref]) != ""
	f.lock = now
	return changed
}

// mine reports whether a lock differs from the present one only by what the user signed.
func (f *following) mine(ctx context.Context, now *chain.Lock, ref objects.Ref, plan *chain.Plan) bool {
	for other, pin := range now.Items {
		was, there := f.lock.Items[other]
		switch {
		case !there:
			return false
		case reflect.DeepEqual(was, pin):
		case !ownPin(f.lock, other) || was.SHA256 != pin.SHA256 && was.SHA256 != f.before[other]:
			return false
		}
	}
	if plan == nil || f.lock.Items[ref].Around == now.Items[ref].Around {
		return true
	}
	deps, _ := plan.Deps()
	then, err := pinned{f.s}.Around(ctx, plan.Links[0], deps)
	if err != nil {
		return false
	}
	was, is := sums(then), sums(plan.Around)
	for p := range was {
		if by, _, err := objects.RefOfPath(p); was[p] != is[p] && (err != nil || f.before[by] != was[p]) {
			return false
		}
	}
	return len(was) == len(is)
}
