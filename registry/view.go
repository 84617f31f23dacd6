package registry

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// A view is a log as the registry shows it now, valid in itself. Operations up to base were
// verified before; raws hold those after it.
type view struct {
	r         *Registry
	rd        *store.Reader
	namespace string      // "" for the root
	base      oplog.Point // verified before; zero when raws begin with the first operation
	raws      [][]byte
	end       oplog.Point
}

// passes checks that the view continues the verified log: the point that this machine remembers,
// and the root's checkpoints. A point in a lock is a claim and no evidence: see Compare.
func (v view) passes(ctx context.Context, seen oplog.Point, vouched ...oplog.Point) error {
	if seen.Seq > 0 {
		if err := v.through(ctx, seen, "this machine"); err != nil {
			return err
		}
	}
	for _, p := range vouched {
		if err := v.through(ctx, p, "the root"); err != nil {
			return err
		}
	}
	return nil
}

// through checks one point. A view that ends before the point is older, or a fork if it differs
// already. A view with another commit at the point is a fork.
func (v view) through(ctx context.Context, p oplog.Point, who string) error {
	if p.Seq > v.end.Seq {
		return v.shorter(ctx, p, who)
	}
	if p.Seq == v.base.Seq && p.Sum == v.base.Sum {
		return nil
	}
	raw, err := v.at(ctx, p.Seq)
	if err != nil {
		return err
	}
	if objects.DigestOf(raw) == p.Sum {
		return nil
	}
	return v.fork(ctx, p, p.Seq, raw, who)
}

func (v view) at(ctx context.Context, seq uint64) ([]byte, error) {
	if seq > v.base.Seq {
		return v.raws[seq-v.base.Seq-1], nil
	}
	raw, err := oplog.RawAt(ctx, v.rd, v.base, seq)
	repo := v.r.reading()
	if !oplog.CutOff(err) || v.r.o.Offline || repo == nil {
		return raw, err
	}
	// The cache begins at a checkpoint after the operation that is asked for.
	q, err := v.r.fetch(ctx, v.namespace, repo, []store.OID{v.base.Tip}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, err
	}
	defer q.Discard()
	return oplog.RawAt(ctx, &q.Reader, v.base, seq)
}

// shorter distinguishes a rollback from a shorter fork, as far as the cache still has the
// operations before p.
func (v view) shorter(ctx context.Context, p oplog.Point, who string) error {
	if repo := v.r.reading(); repo != nil && !p.Tip.IsZero() {
		ours, err := oplog.RawAt(ctx, &repo.Reader, p, v.end.Seq)
		if err == nil && objects.DigestOf(ours) != v.end.Sum {
			raw, err := v.at(ctx, v.end.Seq)
			if err != nil {
				return err
			}
			return v.fork(ctx, p, v.end.Seq, raw, who)
		}
	}
	return fault.New(fault.Rollback, "%w", &BehindError{Log: oplog.LogName(v.namespace), Shown: v.end.Seq, Known: p.Seq, Who: who}).
		Advise("tell the owners of the registry; rye continues with the log that it verified")
}

// fork keeps the available evidence of a fork and reports it.
func (v view) fork(ctx context.Context, p oplog.Point, seq uint64, theirs []byte, who string) error {
	raws := [][]byte{theirs}
	if repo := v.r.reading(); repo != nil && !p.Tip.IsZero() {
		if ours, err := oplog.RawAt(ctx, &repo.Reader, p, seq); err == nil {
			raws = append(raws, ours)
		}
		if tip, _, err := oplog.ReadCommit(&repo.Reader, p.Tip); err == nil && seq != p.Seq {
			raws = append(raws, tip)
		}
	}
	if tip, err := v.at(ctx, v.end.Seq); err == nil && v.end.Seq != seq {
		raws = append(raws, tip)
	}
	dir, err := v.r.mem.KeepEvidence(v.namespace, seq, raws...)
	if err != nil {
		return err
	}
	return fault.New(fault.Fork, "%s: shows an operation %d that differs from the one that %s verified", oplog.LogName(v.namespace), seq, who).
		Advise("both are kept in %s; show them to the owners of the registry", dir)
}

// fromCheckpoint returns the state at the root's checkpoint, so that a first contact need not
// replay the operations before it. Without one it returns the state before the claim.
func (y *syncing) fromCheckpoint(ctx context.Context, repo *store.Repo, root oplog.Root, ns string) (oplog.State, error) {
	none := y.r.unclaimed(root, ns)
	g := root.Grant(ns)
	if g == nil || g.Checkpoint == nil || y.m[ns].Seq > 0 {
		return none, nil // the remembered point may lie before the checkpoint
	}
	c := g.Checkpoint
	q, err := y.r.fetch(ctx, ns, repo, []store.OID{c.ID}, nil, transport.FetchOptions{Depth: 1, Filter: commitsOnly})
	if fault.Is(err, fault.NotFound) {
		return none, nil // the host serves only objects named by refs: read the whole log
	}
	if err != nil {
		return none, err
	}
	defer q.Discard()
	raw, _, err := oplog.ReadCommit(&q.Reader, c.ID)
	if err != nil {
		return none, err
	}
	if objects.DigestOf(raw) != c.Sum {
		return none, fault.New(fault.Integrity, "checkpoint of %s: commit %s is not %s", ns, c.ID, c.Sum)
	}
	op, err := oplog.Parse(raw)
	if err != nil {
		return none, nil // only the log before it shows whether it is skipped
	}
	if op.Namespace != ns || op.Registry != root.ID || op.Seq != c.Seq || op.State.Sum != c.State {
		return none, fault.New(fault.Integrity, "checkpoint of %s: is operation %d of %s in %s", ns, op.Seq, op.Namespace, op.Registry)
	}
	err = y.r.bringBlobs(ctx, ns, "root list", []store.OID{op.Kept}, []oplog.Address{op.State})
	if fault.Is(err, fault.Network) {
		return none, nil // the whole log gives the keys, too
	}
	if err != nil {
		return none, err
	}
	cat := oplog.OpenCatalogue(op.State, y.r.cached())
	keys, err := cat.Keys()
	if err != nil {
		return none, err
	}
	err = y.r.bringBlobs(ctx, ns, "keys", []store.OID{op.Kept}, []oplog.Address{keys})
	if fault.Is(err, fault.Network) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	s, err := oplog.StateAt(y.r.cached(), op)
	if err != nil {
		return none, err
	}
	if s.AnyDropped() {
		return none, nil // only the whole log shows what else was revoked
	}
	if err := q.Accept(ctx, c.ID); err != nil { // reading the whole log must not stop there
		return none, err
	}
	q.Release()
	return s.WithRoot(root), nil
}
