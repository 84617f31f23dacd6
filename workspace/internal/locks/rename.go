package locks

import (
	"context"
	"slices"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Renamed is an item that the user moved and signed again.
type Renamed struct {
	From, To objects.Ref
	Was      objects.Digest // of its version before; zero when it was not signed again
}

// Rename gives the pins of moved items their new names. A pin of any version but the one that moved
// stays: what drifted before is for rye lock. So does a pin that cannot be made anew. With dry it
// only returns the new names. No lock, or one with merge conflicts, is left alone.
func Rename(ctx context.Context, s *session.Session, moved []Renamed, dry bool) (renewed []string, err error) {
	if s.Lock == nil || s.LockConflict != nil {
		return nil, nil
	}
	moved = slices.DeleteFunc(slices.Clone(moved), func(r Renamed) bool {
		return r.Was.IsZero() || !ownPin(s.Lock, r.From) || s.Lock.Items[r.From].SHA256 != r.Was
	})
	if dry || len(moved) == 0 {
		for _, r := range moved {
			renewed = append(renewed, r.To.String())
		}
		return renewed, nil
	}
	s, release, err := s.Alone(ctx)
	if err != nil || s.Lock == nil {
		return nil, err
	}
	defer release()
	lock := s.Lock.Clone()
	for _, r := range moved {
		delete(lock.Items, r.From)
	}
	for _, r := range moved {
		pin, ok := s.Lock.Items[r.From]
		if !ok || pin.SHA256 != r.Was {
			continue
		}
		if err := pinAgain(ctx, s, lock, r.To, len(pin.Chain) > 0); err != nil {
			lock.Items[r.From] = pin
			continue
		}
		renewed = append(renewed, r.To.String())
	}
	if len(renewed) == 0 {
		return nil, ctx.Err()
	}
	return renewed, s.WriteLock(ctx, lock)
}

// pinAgain pins an item under its new name. The lock stays unchanged when that fails.
func pinAgain(ctx context.Context, s *session.Session, lock *chain.Lock, to objects.Ref, runs bool) error {
	now := lock.Clone()
	if runs {
		plan, err := Plan(ctx, s.WithLock(now, objects.Digest{}), to)
		if err == nil {
			err = now.Set(plan)
		}
		if err != nil {
			return err
		}
	} else {
		found, err := s.Stack.Find(ctx, to)
		if err == nil {
			err = now.SetItem(link(s, found))
		}
		if err != nil {
			return err
		}
	}
	*lock = *now
	return nil
}
