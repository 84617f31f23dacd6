package oplog

import (
	"slices"

	"github.com/rye-os/rye/objects"
)

// TestOnlyDraft is a catalogue that a test changes as a thief would.
type TestOnlyDraft struct{ d draft }

// Get returns the line of a version, nil if it was never published.
func (d TestOnlyDraft) Get(ref objects.Ref, version string) (*Entry, error) {
	return d.d.get(ref, version)
}

// Put inserts or replaces a line.
func (d TestOnlyDraft) Put(e *Entry) error { return d.d.put(e) }

// Replace puts a line in the place of another version.
func (d TestOnlyDraft) Replace(ref objects.Ref, version string, by *Entry) error {
	i := ShardOf(ref)
	rows, err := d.d.rows(i)
	if err != nil {
		return err
	}
	if at, found := find(rows, ref, version); found {
		d.d.open[i] = slices.Delete(slices.Clone(rows), at, at+1)
	}
	return d.d.put(by)
}

// TestOnlyForge fills in op after s and returns the unsigned operation with its objects, for a
// signer who lies about the state: change receives the state and its lines. With a nil change, it
// also writes operations that readers refuse.
func (p Pen) TestOnlyForge(s State, op Op, change func(s *State, d TestOnlyDraft)) (Op, written, error) {
	op = p.Place(s, op)
	next, wrote, err := s.step(op)
	d := newDraft(next.cat)
	switch {
	case err != nil && change != nil:
		return op, written{}, err
	case err != nil:
		next, d = s, newDraft(s.cat)
		for i := range op.Items {
			e := op.Items[i]
			e.Publisher, e.Seq, e.Time, e.Status = op.Signer.Fingerprint(), op.Seq, op.Time, StatusOK
			if e.check() != nil {
				continue
			}
			if err := d.put(&e); err != nil {
				return op, written{}, err
			}
		}
		wrote = d.changes()
	case change != nil:
		change(&next, TestOnlyDraft{d})
	}
	if err != nil || change != nil {
		if next.cat, err = next.cat.with(AddressOf(next.EncodeNamespace()), d.shards()); err != nil {
			return op, written{}, err
		}
	}
	w := written{Changes: JoinRows(wrote), After: next}
	if len(wrote) > 0 {
		op.Changes = Changes{len(wrote), wrote[0].Name(), AddressOf(w.Changes)}
	}
	op.State = next.cat.at
	op.Kept, err = next.Keep(op.Changes.Address, nil, nil)
	return op, w, err
}

// TestOnlyChange returns the root after an operation, without checking who agreed to it.
func (r Root) TestOnlyChange(op RootOp) (Root, error) {
	err := r.change(op)
	return r, err
}

// TestOnlyGrants returns the root with these grants, sorted by namespace.
func (r Root) TestOnlyGrants(grants []*Grant) Root {
	for _, g := range grants {
		g.Seal()
	}
	r.grants = grants
	return r
}
