package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// An examined namespace is its state as it follows from the operations alone, and what
// these did since the point that was known.
type examined struct {
	State
	since    uint64    // the position that was known
	before   store.OID // where the state then is kept
	states   []kept
	versions []version // that were published
	redacted int       // versions
	skipped  []Skipped // operations without effect
	passed   int       // of these
	keys     []Key     // as they are at the end, or are to be: which operations are dropped
	dropped  []Drop
}

// kept is where the state after an operation is kept.
type kept struct {
	seq uint64
	at  store.OID
}

type version struct {
	ref  objects.Ref
	name string
}

// examine replays a namespace with every change list, so that no state and no line of the
// catalogue is believed. It begins with the claim, or after a point up to which this machine
// has examined it. s was synced.
func examine(ctx context.Context, r *Registry, s State, known Point) (examined, error) {
	return examineAs(ctx, r, s, known, s.keys)
}

// examineAs is examine where the keys are to be other ones, by operations that are planned: what
// these drop is not derived any more.
func examineAs(ctx context.Context, r *Registry, s State, known Point, keys []Key) (examined, error) {
	if s.Seq == 0 {
		return examined{State: s}, nil
	}
	if unsettled(keys, known.last().Seq) { // what was derived there was dropped since
		known = Point{}
	}
	x, err := examineFrom(ctx, r, s, known, keys)
	if fault.Is(err, fault.Offline) && x.since > 0 { // a cache may be deleted at any time, in parts too
		return examineFrom(ctx, r, s, Point{}, keys)
	}
	return x, err
}

func examineFrom(ctx context.Context, r *Registry, s State, known Point, keys []Key) (examined, error) {
	base, raws, err := logSince(ctx, r, s, known)
	if err != nil {
		return examined{}, err
	}
	x := examined{State: base, since: base.Seq, before: base.Kept, keys: keys}
	from := cached(r)
	_, done, err := replay(ctx, base, raws, r.o.Now())
	if err != nil {
		return x, err
	}
	if err := bringChanges(ctx, r, s, slices.DeleteFunc(slices.Clone(done.ops), x.needsNone)); err != nil {
		return x, err
	}
	x.skipped = done.skipped
	if err := x.replay(ctx, from, done.ops); err != nil {
		return x, err
	}
	x.pass(s.Seq)
	if x.Tip != s.Tip {
		return x, fault.New(fault.Integrity, "namespace %s: its log ends in %s, what was verified is %s", s.Namespace, x.Tip, s.Tip)
	}
	if err := saveCatalogue(ctx, r, x.State); err != nil {
		return x, err
	}
	x.from = from
	judged := x.State
	judged.keys = keys // what these drop may be gone
	return x, noteShards(ctx, r, judged, everyShard())
}

// needsNone reports whether an operation is applied without its change list.
func (x *examined) needsNone(op Op) bool {
	return op.Changes.Count == 0 || dropped(x.keys, op.Signer.Fingerprint(), op.Seq) || op.Kind == OpKeyRevoke && unsettled(x.keys, op.Seq)
}

// replay applies operations, whose change lists are in from.
func (x *examined) replay(ctx context.Context, from source, ops []Op) error {
	load := func(op *Op) ([]byte, error) {
		if x.needsNone(*op) {
			return nil, nil
		}
		raw, err := loadChanges(from, op)
		if err != nil && !fault.Is(err, fault.Offline) {
			err = blockedAt(op, err)
		}
		return raw, err
	}
	return withChanges(ctx, load, ops, x.apply)
}

// pass takes the state over operations without effect, up to a position.
func (x *examined) pass(seq uint64) {
	for ; x.passed < len(x.skipped) && x.skipped[x.passed].Seq <= seq; x.passed++ {
		x.State = past(x.State, x.skipped[x.passed].Position)
	}
}

// apply applies an operation whose change list was read.
func (x *examined) apply(op Op, changes []byte) error {
	x.pass(op.Seq - 1)
	if x.State.fromOutside(&op) { // the state that it names is ignored
		next, err := x.State.judge(op)
		if err != nil {
			return inOperation(x.State, op, err)
		}
		x.State = next
		return nil
	}
	if unsettled(x.keys, op.Seq) {
		return x.applyWithin(op, changes)
	}
	next, err := applyRead(x.State, op, changes)
	if err != nil {
		return blockedAt(&op, err)
	}
	x.State = next
	x.states = append(x.states, kept{op.Seq, op.Kept})
	switch op.Kind {
	case OpPublish:
		for i := range op.Items {
			x.versions = append(x.versions, version{op.Items[i].Ref, op.Items[i].Version})
		}
	case OpRedact:
		x.redacted += len(op.Items)
	}
	return nil
}

// applyWithin applies an operation between those that are dropped. The state that it names is
// not compared.
func (x *examined) applyWithin(op Op, changes []byte) error {
	next, err := x.State.judge(op)
	if err != nil {
		return inOperation(x.State, op, err)
	}
	var rows []*row
	if changes != nil {
		if rows, err = parseShard(changes); err != nil {
			return blockedAt(&op, err)
		}
	}
	drop := dropped(x.keys, op.Signer.Fingerprint(), op.Seq)
	if drop && op.Changes.Count > 0 && op.Kind != OpKeyRevoke {
		x.dropped = append(x.dropped, Drop{Seq: op.Seq, By: op.Signer.Fingerprint(), Subject: op.Subject(), Kind: op.Kind,
			list: op.Changes.Address, kept: op.Kept})
	}
	next, wrote, err := writeWithin(x.State, next, op, rows, drop)
	if err != nil {
		return inOperation(x.State, op, err)
	}
	x.State = next
	for _, r := range wrote {
		switch op.Kind {
		case OpPublish:
			x.versions = append(x.versions, version{r.Ref, r.Version})
		case OpRedact:
			x.redacted++
		}
	}
	return nil
}

// logSince returns the state at a point that this machine examined, and the operations
// after it up to s; everything from the claim on where the cache does not tell.
func logSince(ctx context.Context, r *Registry, s State, known Point) (State, [][]byte, error) {
	repo, err := r.writing()
	if err != nil {
		return State{}, nil, err
	}
	if known.Seq > 0 && known.Seq <= s.Seq {
		base, err := loadState(repo, cached(r), r.o.ID, s.Namespace, known)
		if err == nil {
			if raws, met, err := readLine(ctx, &repo.Reader, s.At, known.Tip); err == nil && met {
				return base.WithRoot(s.root), raws, nil
			}
		}
	}
	raws, err := wholeLog(ctx, r, s)
	return NewState(s.root, s.Namespace), raws, err
}

// bringChanges brings the change lists of operations up to s. Where one does not come, halves
// are asked for until it is known which is the first.
func bringChanges(ctx context.Context, r *Registry, s State, ops []Op) error {
	var lists []Address
	var kept []store.OID
	for i := range ops {
		lists, kept = append(lists, ops[i].Changes.Address), append(kept, ops[i].Kept)
	}
	err := bringBlobs(ctx, r, s.Namespace, "change list", kept, lists)
	switch {
	case err == nil || ctx.Err() != nil || r.o.Offline:
		return err
	case len(ops) == 1:
		return blockedAt(&ops[0], err)
	}
	half := len(ops) / 2
	if err := bringChanges(ctx, r, s, ops[:half]); err != nil {
		return err
	}
	return bringChanges(ctx, r, s, ops[half:])
}

// Bounds of the change lists that are read while those before them are applied.
const (
	windowOps   = 512
	windowLines = 1 << 16
)

// withChanges calls apply for every operation in its order, with its change list read into
// its items. Lists are read on all processors, while those before are applied.
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
			w.err = parallel.Chunks(ctx, n, dozen, func(i int) (err error) {
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

// windowOf returns how many operations are read at once, at least one.
func windowOf(ops []Op) (n int) {
	for lines := 0; n < min(len(ops), windowOps); n++ {
		if lines += ops[n].Changes.Count; n > 0 && lines > windowLines {
			break
		}
	}
	return n
}

// loadChanges reads the change list of an operation into its items.
func loadChanges(from source, op *Op) (raw []byte, err error) {
	if raw, err = from.load(op.Changes.Address, "change list"); err != nil {
		return nil, err
	}
	return raw, op.readChanges(raw)
}

// wholeLog returns every operation up to s, from the cache or the registry.
func wholeLog(ctx context.Context, r *Registry, s State) ([][]byte, error) {
	repo, err := r.writing()
	if err != nil {
		return nil, err
	}
	raws, _, err := readLine(ctx, &repo.Reader, s.At, store.OID{})
	if !cutOff(err) || r.o.Offline {
		return raws, err
	}
	q, err := r.fetch(ctx, s.Namespace, repo, []store.OID{s.At}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", s.Namespace, err)
	}
	defer q.Discard()
	if raws, _, err = readLine(ctx, &q.Reader, s.At, store.OID{}); err != nil {
		return nil, err
	}
	if err := q.Accept(ctx, s.At); err != nil {
		return nil, err
	}
	q.Release()
	return raws, nil
}

// saveCatalogue puts the parts of a state that follow from the log into the cache, so that
// nothing of them needs to be fetched.
func saveCatalogue(ctx context.Context, r *Registry, s State) error {
	repo, err := r.writing()
	if err != nil {
		return err
	}
	release, err := saveTree(ctx, repo, func(_ store.Format, put sink) (store.OID, error) {
		return store.OID{}, s.cat.putNew(nil, put)
	})
	if err != nil {
		return err
	}
	release()
	return nil
}

// Examine replays a namespace from its claim and applies every change list, so that nothing
// that an owner wrote is believed for being signed. It was synced.
func Examine(ctx context.Context, r *Registry, namespace string) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.current(ctx, namespace)
	if err != nil {
		return s, err
	}
	x, err := examine(ctx, r, s, Point{})
	return x.State, err
}
