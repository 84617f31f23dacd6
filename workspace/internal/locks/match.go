package locks

import (
	"context"
	"errors"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Matched says how what would run compares with the lock.
type Matched struct {
	Locked bool   // the lock pins exactly this
	Drift  string // the lock pins something else, which this request does not insist on; "" for none
}

// Match compares what would run with the lock. An item that the lock does not know, and one
// of the project's own that changed since it was locked, runs unless the request demands the
// lock. What comes from a registry runs as it is pinned or not at all.
func Match(ctx context.Context, s *session.Session, plan *chain.Plan, q rye.ExecuteRequest) (m Matched, err error) {
	demanded := q.Locked || q.Frozen || q.Pinned
	tool := plan.Entry()
	if s.Lock == nil {
		if demanded {
			err = noLock(tool)
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

// library refuses a lock that names a standard library which is no release that this
// program knows: a claim that nobody can check pins nothing.
func library(s *session.Session) error {
	if s.Lock.Stdlib == nil {
		return nil
	}
	_, err := s.Stack.Kept(s.Lock.Stdlib.Manifest)
	if !fault.Is(err, fault.Untrusted) {
		return nil // a release whose bytes are not at hand: the items say whether today's are the same
	}
	d := &chain.DriftError{Field: "stdlib", Cause: err.Error()}
	return fault.New(fault.Drift, "%w", d).Mend("rye lock")
}
