package run

import (
	"context"

	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// demands reads the policy for a run, and makes the request as strict as it demands.
func (j *job) demands(s *custody.Desk) (err error) {
	if j.rules, err = s.Acting(j.q.DryRun); err != nil {
		return err
	}
	d := j.rules.Demands
	if d.NoDrift && s.LockConflict != nil {
		return s.LockConflict
	}
	pinned := false
	if s.Lock != nil {
		_, pinned = s.Lock.Items[j.q.Ref]
	}
	if !j.q.Pinned && !j.q.Frozen && (d.Locked || d.NoDrift && pinned) {
		j.q.Locked = true
	}
	return nil
}

// admitted refuses a plan with an item that does not meet the demands.
func (j *job) admitted(ctx context.Context, s *custody.Desk) error {
	for _, l := range j.plan.Links {
		it := l.Verified.Item()
		u := session.Used{Ref: it.Ref, Path: it.Path, Space: l.Space, Key: l.Verified.Key(), Patched: l.Verified.Patched() != trust.NoPatch}
		if l.Origin != nil {
			u.Registry = s.Lock.Registries[l.Origin.Registry].ID.String()
		}
		if err := s.Admit(ctx, j.rules.Demands, u); err != nil {
			return err
		}
	}
	return nil
}
