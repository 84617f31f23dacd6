package oplog

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// An Examined namespace holds the state that follows from the operations alone, and their effects
// since the point that was known before.
type Examined struct {
	State
	Since    uint64    // the position known before
	Before   store.OID // the commit that keeps the state at Since
	States   []KeptState
	Versions []version // newly published
	Redacted int       // versions
	Skipped  []Skipped // operations without effect
	passed   int       // how many of Skipped the state is past
	Keys     []Key     // final keys, including planned changes: they decide which operations are dropped
	Dropped  []Drop
}

// KeptState names the commit that keeps the state after an operation.
type KeptState struct {
	Seq uint64
	At  store.OID
}

type version struct {
	Ref  objects.Ref
	Name string
}

// NeedsNone reports whether an operation is applied without its change list.
func (x *Examined) NeedsNone(op Op) bool {
	return op.Changes.Count == 0 || dropped(x.Keys, op.Signer.Fingerprint(), op.Seq) || op.Kind == OpKeyRevoke && unsettled(x.Keys, op.Seq)
}

// Replay applies operations and reads their change lists from a source.
func (x *Examined) Replay(ctx context.Context, from Source, ops []Op) error {
	load := func(op *Op) ([]byte, error) {
		if x.NeedsNone(*op) {
			return nil, nil
		}
		raw, err := loadChanges(from, op)
		if err != nil && !fault.Is(err, fault.Offline) {
			err = op.Blocked(err)
		}
		return raw, err
	}
	return withChanges(ctx, load, ops, x.apply)
}

// Pass moves the state past operations without effect, up to a position.
func (x *Examined) Pass(seq uint64) {
	for ; x.passed < len(x.Skipped) && x.Skipped[x.passed].Seq <= seq; x.passed++ {
		x.State = x.State.Past(x.Skipped[x.passed].Position)
	}
}

// apply applies an operation whose change list is in its items.
func (x *Examined) apply(op Op, changes []byte) error {
	x.Pass(op.Seq - 1)
	if x.State.fromOutside(&op) { // the state that it names is ignored
		next, err := x.State.judge(op)
		if err != nil {
			return x.State.inOperation(op, err)
		}
		x.State = next
		return nil
	}
	if unsettled(x.Keys, op.Seq) {
		return x.applyWithin(op, changes)
	}
	next, err := x.State.applyRead(op, changes)
	if err != nil {
		return op.Blocked(err)
	}
	x.State = next
	x.States = append(x.States, KeptState{op.Seq, op.Kept})
	switch op.Kind {
	case OpPublish:
		for i := range op.Items {
			x.Versions = append(x.Versions, version{op.Items[i].Ref, op.Items[i].Version})
		}
	case OpRedact:
		x.Redacted += len(op.Items)
	}
	return nil
}

// applyWithin applies an operation in the range where others are dropped. It does not compare the
// state that the operation names.
func (x *Examined) applyWithin(op Op, changes []byte) error {
	next, err := x.State.judge(op)
	if err != nil {
		return x.State.inOperation(op, err)
	}
	var rows []*Row
	if changes != nil {
		if rows, err = ParseShard(changes); err != nil {
			return op.Blocked(err)
		}
	}
	drop := dropped(x.Keys, op.Signer.Fingerprint(), op.Seq)
	if drop && op.Changes.Count > 0 && op.Kind != OpKeyRevoke {
		x.Dropped = append(x.Dropped, Drop{Seq: op.Seq, By: op.Signer.Fingerprint(), Subject: op.Subject(), Kind: op.Kind,
			List: op.Changes.Address, Kept: op.Kept})
	}
	next, wrote, err := x.State.writeWithin(next, op, rows, drop)
	if err != nil {
		return x.State.inOperation(op, err)
	}
	x.State = next
	for _, r := range wrote {
		switch op.Kind {
		case OpPublish:
			x.Versions = append(x.Versions, version{r.Ref, r.Version})
		case OpRedact:
			x.Redacted++
		}
	}
	return nil
}

// Bounds of the change lists that are read ahead.
const (
	windowOps   = 512
	windowLines = 1 << 16
)

// withChanges calls apply for every operation in order, with its change list parsed into its items.
// All processors read lists ahead while earlier ones are applied.
func withChanges(ctx context.Context, load func(*Op) ([]byte, error), ops []Op, apply func(Op, []byte) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type window struct {
		ops     []Op
		changes [][]byte
		err     error
	}
	read := make(chan window, 1)
	go func() {
		defer close(read)
		for rest := ops; len(rest) > 0; {
			n := windowOf(rest)
			w := window{ops: rest[:n], changes: make([][]byte, n)}
			rest = rest[n:]
			w.err = parallel.Chunks(ctx, n, atOnce, func(i int) (err error) {
				w.changes[i], err = load(&w.ops[i])
				return err
			})
			select {
			case read <- w:
			case <-ctx.Done():
				return
			}
		}
	}()
	for w := range read {
		if w.err != nil {
			return w.err
		}
		for i := range w.ops {
			if err := apply(w.ops[i], w.changes[i]); err != nil {
				return err
			}
			w.ops[i].Items = nil // a log may be long
		}
	}
	return context.Cause(ctx)
}

// windowOf returns how many operations to read ahead, at least one.
func windowOf(ops []Op) (n int) {
	for lines := 0; n < min(len(ops), windowOps); n++ {
		if lines += ops[n].Changes.Count; n > 0 && lines > windowLines {
			break
		}
	}
	return n
}

// loadChanges reads the change list of an operation and parses it into its items.
func loadChanges(from Source, op *Op) (raw []byte, err error) {
	if raw, err = from.Load(op.Changes.Address, "change list"); err != nil {
		return nil, err
	}
	return raw, op.readChanges(raw)
}
