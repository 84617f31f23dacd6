package oplog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// atOnce is the number of operations or lists per worker: waking it costs as much as one.
const atOnce = 16

// Bounds of a log that is read in one go.
const (
	maxLine      = 2_000_000
	maxLineBytes = 1 << 30
	clockSlack   = 5 * time.Minute // a publisher's clock may be this far ahead
)

// ReadLine returns the raw commits of the line that ends at tip, oldest first. It stops at a root
// commit, or before the commit stop; met reports that it found stop.
func ReadLine(ctx context.Context, rd Reader, tip, stop store.OID) (raws [][]byte, met bool, err error) {
	total := 0
	for id := tip; !id.IsZero(); {
		if id == stop {
			met = true
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		raw, parent, err := ReadCommit(rd, id)
		if err != nil {
			return nil, false, err
		}
		raws = append(raws, raw)
		if total += len(raw); total > maxLineBytes || len(raws) > maxLine {
			return nil, false, fault.New(fault.Limit, "log that ends at %s: more than %d operations or %d bytes", tip, maxLine, maxLineBytes)
		}
		id = parent
	}
	slices.Reverse(raws)
	return raws, met, nil
}

var errCutOff = errors.New("log is cut off")

func CutOff(err error) bool { return errors.Is(err, errCutOff) }

// ReadCommit returns the raw bytes of a commit and its first parent.
func ReadCommit(rd Reader, id store.OID) ([]byte, store.OID, error) {
	if !rd.Has(id) { // reading a missing object waits, because git may be packing it
		return nil, store.OID{}, fault.New(fault.Malformed, "%w: commit %s is not there", errCutOff, id)
	}
	t, raw, err := rd.Object(id, store.MaxCommitSize)
	if err != nil {
		return nil, store.OID{}, err
	}
	if t != store.TypeCommit {
		return nil, store.OID{}, fault.New(fault.Malformed, "object %s is a %s, not an operation", id, t)
	}
	c, err := store.ParseCommit(raw)
	if err != nil {
		return nil, store.OID{}, fmt.Errorf("commit %s: %w", id, err)
	}
	return raw, c.Parent(), nil
}

// ReplayRoot applies the operations in raws to base in order, and checks that the last tree holds
// the last state.
func ReplayRoot(base Root, raws [][]byte, now time.Time, f store.Format) (Root, []RootOp, error) {
	ops := make([]RootOp, 0, len(raws))
	root := base
	for _, raw := range raws {
		op, err := ParseRoot(raw)
		if err != nil {
			return Root{}, nil, err
		}
		if root, err = root.Apply(op); err != nil {
			return Root{}, nil, err
		}
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return root, nil, nil
	}
	last := ops[len(ops)-1]
	if err := CheckFuture("root", last.Seq, last.Time, now); err != nil {
		return Root{}, nil, err
	}
	want, err := root.Tree(f, nil)
	if err != nil {
		return Root{}, nil, err
	}
	return root, ops, checkTree("root of the registry", last.Tree, want)
}

// Replayed is the content of a part of a log.
type Replayed struct {
	Ops     []Op      // operations with effect
	Skipped []Skipped // operations without effect
}

// Replay applies the operations in raws to base, as far as the log alone determines the state.
func Replay(ctx context.Context, base State, raws [][]byte, now time.Time) (s State, done Replayed, err error) {
	s = base
	ops, bad, err := parseOps(ctx, raws)
	if err != nil {
		return s, done, err
	}
	for i, op := range ops {
		var k *Skipped
		if s, k, err = s.follows(raws[i], op, bad[i]); err != nil {
			return s, Replayed{}, err
		}
		if k != nil {
			done.Skipped = append(done.Skipped, *k)
		} else {
			done.Ops = append(done.Ops, op)
		}
	}
	if len(done.Ops) == 0 {
		return s, done, nil
	}
	return s, done, CheckFuture(s.Namespace, s.last.Seq, s.Time, now)
}

// parseOps parses operations and checks their signatures on all processors: signatures are most of
// the work. bad holds the error for each refused operation.
func parseOps(ctx context.Context, raws [][]byte) (ops []Op, bad []error, err error) {
	ops, bad = make([]Op, len(raws)), make([]error, len(raws))
	err = parallel.Chunks(ctx, len(raws), atOnce, func(i int) error {
		ops[i], bad[i] = Parse(raws[i])
		return nil
	})
	return ops, bad, err
}

// CheckFuture checks the time of the last operation; earlier times are never later than it.
func CheckFuture(what string, seq uint64, t, now time.Time) error {
	if t.After(now.Add(clockSlack)) {
		return fault.New(fault.Malformed, "operation %d of %s: dated %s, which is in the future", seq, what, t.Format(TimeLayout)).
			Advise("check this machine's clock")
	}
	return nil
}

// TrustedRoot rebuilds the root at a point that was verified before. The chain of digests below the
// point proves that the operations are the same, so signatures and authority are not checked again.
func TrustedRoot(ctx context.Context, rd Reader, p Point, id objects.Digest) (Root, error) {
	raws, _, err := ReadLine(ctx, rd, p.Tip, store.OID{})
	if err != nil {
		return Root{}, err
	}
	ops := make([]RootOp, len(raws))
	want := p.Sum
	for i := len(raws) - 1; i >= 0; i-- {
		if objects.DigestOf(raws[i]) != want {
			return Root{}, fault.New(fault.Integrity, "cache of the registry: operation %d of the root differs from the verified one", i+1)
		}
		if ops[i], err = parseRoot(raws[i], false); err != nil {
			return Root{}, err
		}
		want = ops[i].Prev
	}
	var root Root
	for _, op := range ops {
		if err := root.change(op); err != nil {
			return Root{}, err
		}
	}
	if root.ID != id || root.Seq != p.Seq || root.Digest() != ops[len(ops)-1].State {
		return Root{}, fault.New(fault.Integrity, "cache of the registry: its root differs from the verified one")
	}
	return root, nil
}

// RawAt returns the raw operation at position seq of the log through p, whose commits are in rd.
// The digests prove that it belongs to that log.
func RawAt(ctx context.Context, rd Reader, p Point, seq uint64) ([]byte, error) {
	id, want := p.Tip, p.Sum
	for at := p.Seq; at >= seq && at > 0; at-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		raw, parent, err := ReadCommit(rd, id)
		if err != nil {
			return nil, err
		}
		if objects.DigestOf(raw) != want {
			return nil, fault.New(fault.Integrity, "cache of the registry: operation %d differs from the verified one", at)
		}
		if at == seq {
			return raw, nil
		}
		c, err := store.ParseCommit(raw)
		if err != nil {
			return nil, err
		}
		if want, err = PrevOf(c); err != nil {
			return nil, err
		}
		id = parent
	}
	return nil, fault.New(fault.NotFound, "the log has no operation %d", seq)
}

// FirstAtHand returns the lowest position from which rd has all commits of the log up to base.
func FirstAtHand(rd Reader, base Point) uint64 {
	seq := base.Seq + 1
	for id := base.Tip; !id.IsZero() && seq > 1; seq-- {
		_, parent, err := ReadCommit(rd, id)
		if err != nil {
			break
		}
		id = parent
	}
	return seq
}

// CheckedRoot returns the root after operations that were verified before.
func CheckedRoot(raws [][]byte) (root Root, err error) {
	for _, raw := range raws {
		op, err := parseRoot(raw, false)
		if err == nil {
			err = root.change(op)
		}
		if err != nil {
			return root, err
		}
	}
	return root, nil
}
