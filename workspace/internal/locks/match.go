package locks

import (
	"context"
	"errors"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Matched is the result of comparing a plan with the lock.
type Matched struct {
	Locked bool   // the lock pins exactly this
	Drift  string // the difference, if this request does not insist on the lock; "" for none
}

// Match compares a plan with the lock. An item without a pin, and one of the project's own
// that changed since, runs unless the request demands the lock. A registry's item runs as
// pinned or not at all.
func Match(ctx context.Context, s *session.Session, plan *chain.Plan, q rye.ExecuteRequest) (m Matched, err error) {
	demanded := q.Locked || q.Frozen || q.Pinned
	tool := plan.Entry()
	if s.Lock == nil {
		if demanded {
			err = noLock(s, tool)
		} else if s.LockConflict != nil {
			m.Drift = s.LockConflict.Error()
		}
		return m, err
	}
	if _, known := s.Lock.Items[tool]; !known && !demanded {
		return m, nil
	}
	if err = s.Lock.Match(plan); err == nil {
		err = library(s)
	}
	if err == nil {
		return Matched{Locked: true}, nil
	}
	var d *chain.DriftError
	if demanded || !errors.As(err, &d) || s.Lock.Items[tool].From != "" || s.Lock.Items[d.Pin].From != "" {
		return m, named(ctx, s, plan, err)
	}
	return Matched{Drift: d.Error()}, nil
}

// library refuses a lock whose standard library is no release known to this program: a claim
// that cannot be checked pins nothing.
func library(s *session.Session) error {
	if s.Lock.Stdlib == nil {
		return nil
	}
	_, err := s.Stack.Kept(s.Lock.Stdlib.Manifest)
	if !fault.Is(err, fault.Untrusted) {
		return nil // a release without its bytes here: the items' own pins are compared with today's
	}
	d := &chain.DriftError{Field: "stdlib", Cause: err.Error()}
	return fault.New(fault.Drift, "%w", d).Mend("rye lock")
}
