package author

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Baseline records the trusted working items, after the user granted their signers' requests:
// history begins with these items. A user without a key has no history yet. Otherwise the report
// notes why nothing was recorded. Items verify and run without a record.
func Baseline(ctx context.Context, s *custody.Desk, rep *rye.TrustStatement) error {
	if s.Place.Dir == "" {
		rep.Note = "nothing was recorded: no data directory"
		return nil
	}
	now, err := s.WithTrust()
	if err != nil {
		return err
	}
	refs, changes, err := unrecorded(ctx, s.In(now))
	if err != nil || len(changes) == 0 {
		return err
	}
	if _, err := record(ctx, s, s.Stack.Project, "trust", refs, changes); err != nil {
		if fault.Is(err, fault.Interrupt) || ctx.Err() != nil {
			return err
		}
		if !fault.Is(err, fault.NotFound) || len(s.Trust.Own()) > 0 {
			rep.Note = "nothing was recorded: " + err.Error()
		}
		return nil
	}
	rep.Recorded = len(refs)
	return nil
}

// unrecorded returns the trusted parts of the project without a record: items, and bundles
// with all their files.
func unrecorded(ctx context.Context, s *custody.Desk) (refs []objects.Ref, changes []store.Change, err error) {
	l := s.Stack.Project
	found, err := s.Stack.Scan(ctx, l, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range found {
		switch {
		case f.Err != nil || f.Recorded || f.Registry != "" || f.Past != nil: // an older version was recorded before
		case f.Manifest:
			b, err := readBundle(ctx, l, f.Cover.Dir)
			if err != nil {
				continue // changed meanwhile: the next look reports it
			}
			refs, changes = append(refs, b.manifest.Ref()), append(changes, b.changes...)
		case !f.Verified.IsZero() && f.Verified.Level() != trust.Manifest && f.Bundle == "":
			refs, changes = append(refs, f.Ref), append(changes, store.Change{Path: f.Path, Data: f.Item.Raw})
		}
	}
	return refs, changes, nil
}
