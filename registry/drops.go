package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// mayGo reports whether a line that this machine saw may change or disappear: operations were
// dropped, and no remaining operation published it.
func (r *Registry) mayGo(ctx context.Context, s oplog.State, was *oplog.Entry) (bool, error) {
	switch {
	case !s.AnyDropped():
		return false, nil
	case s.Dropped(was.Publisher, was.Seq) || was.Seq > s.Seq:
		return true, nil
	}
	err := r.publishedBy(ctx, s, was)
	if fault.Is(err, fault.Integrity) || fault.Is(err, fault.Malformed) {
		return true, nil
	}
	return false, err
}

// noteDrops records which of ops drop other operations.
func (r *Registry) noteDrops(ops []oplog.Op) {
	for i := range ops {
		op := &ops[i]
		for _, k := range op.Revocations() {
			if k.DropFrom > 0 {
				r.drops = append(r.drops, fmt.Sprintf("%s/: operation %d, signed by %s, revoked %s and dropped its changes to the catalogue from operation %d on; rye registry log %s shows it",
					op.Namespace, op.Seq, op.Signer.Fingerprint(), k.Key, k.DropFrom, op.Namespace))
			}
		}
	}
}

// Drops describes, for people, the operations read since Open that drop others.
func (r *Registry) Drops() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.drops)
}

// Beyond returns a namespace after a sync, as far as its log alone determines it. It also works
// when the state cannot be read; then it records nothing.
func (r *Registry) Beyond(ctx context.Context, namespace string) (oplog.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.beyond(ctx, toRead, namespace)
}

// DropsOf fills in the positions from which a key-revoke drops operations, after a sync. For each
// named key that is the first operation, by the key or one that falls with it, at which the
// catalogue cannot be derived. It returns the dropped operations, none if the catalogue can be
// derived. If an operation by another key blocks, it returns a BlockedError: the keys must be
// revoked together.
func (r *Registry) DropsOf(ctx context.Context, namespace string, op oplog.Op) (oplog.Op, []oplog.Drop, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.beyond(ctx, toTry, namespace)
	if err != nil {
		return op, nil, err
	}
	asked := op.Revocations()
	list := slices.Clone(asked)
	for i := range list {
		list[i].BadFrom = cmp.Or(list[i].BadFrom, s.Seq+1)
	}
	for {
		op = op.Naming(list)
		planned := s.Planned(op)
		x, err := r.examineAs(ctx, s, r.mem.Had(s).At, planned.Keys())
		if err == nil {
			drops := slices.DeleteFunc(x.Dropped, func(d oplog.Drop) bool { return s.Dropped(d.By, d.Seq) }) // drops from before
			for i := range drops {
				d := &drops[i]
				d.Readable = r.bringBlobs(ctx, namespace, "change list", []store.OID{d.Kept}, []oplog.Address{d.List}) == nil
			}
			return op, drops, context.Cause(ctx)
		}
		var at *oplog.BlockedError
		if !errors.As(err, &at) {
			return op, nil, err
		}
		i := descent(s.Keys(), list, at.By)
		if i < 0 || planned.Dropped(at.By, at.Seq) {
			return op, nil, beside(at, list, err)
		}
		k := &list[i]
		k.DropFrom, k.BadFrom = at.Seq, min(k.BadFrom, at.Seq)
		if !s.Planned(op.Naming(list)).Dropped(at.By, at.Seq) {
			return op, nil, beside(at, list, err)
		}
		if asked[i].BadFrom > k.BadFrom {
			return op, nil, fault.New(fault.Usage, "revoke key %s from operation %d on: its operation %d does not follow", k.Key, asked[i].BadFrom, at.Seq).
				Advise("--from %d", at.Seq)
		}
	}
}

// descent returns the index of key in named, or of its nearest named ancestor along the keys that
// added each other; -1 for none.
func descent(keys []oplog.Key, named []oplog.KeyRevocation, key objects.Fingerprint) int {
	for range keys { // at most so many steps
		if i := slices.IndexFunc(named, func(k oplog.KeyRevocation) bool { return k.Key == key }); i >= 0 {
			return i
		}
		at := slices.IndexFunc(keys, func(k oplog.Key) bool { return k.Public.Fingerprint() == key })
		if at < 0 {
			break
		}
		key = keys[at].By
	}
	return -1
}

// beside returns err with the hint to revoke the blocking key together with the named keys, unless
// it is one of them.
func beside(e *oplog.BlockedError, named []oplog.KeyRevocation, err error) error {
	var all []string
	for _, k := range named {
		if k.Key == e.By {
			return err
		}
		all = append(all, k.Key.String())
	}
	return fault.New(fault.CodeOf(err), "%w", err).
		Advise("if that key was stolen too: rye registry revoke-key %s %s %s --reason '...'", e.Namespace, strings.Join(all, " "), e.By)
}
