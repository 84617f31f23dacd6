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

// mayGo reports whether a line that this machine saw may be gone or another: where operations
// were dropped, and none that was not published it.
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

// noteDrops notes which operations that were read drop others.
func (r *Registry) noteDrops(ops []oplog.Op) {
	for i := range ops {
		op := &ops[i]
		for _, k := range op.Revocations() {
			if k.DropFrom > 0 {
				r.drops = append(r.drops, fmt.Sprintf("%s/: operation %d, signed by %s, revoked %s and dropped from the catalogue what it wrote from operation %d on; rye registry log %s shows it",
					op.Namespace, op.Seq, op.Signer.Fingerprint(), k.Key, k.DropFrom, op.Namespace))
			}
		}
	}
}

// Drops returns which operations that were read since Open drop others, for people.
func (r *Registry) Drops() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.drops)
}

// Beyond returns a namespace after a sync as far as its log tells, where its state cannot be
// read too. Then nothing of it is remembered.
func (r *Registry) Beyond(ctx context.Context, namespace string) (oplog.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.beyond(ctx, toRead, namespace)
}

// DropsOf fills in from where on a key-revoke drops operations, after a sync: of each key that it
// names, from the first on by that key, or by one that falls with it, at which the catalogue
// cannot be derived. It returns what is dropped; nothing where all follows. Where an operation by
// another key does not follow, the error is a BlockedError: neither key is revoked without the
// other.
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
			drops := slices.DeleteFunc(x.Dropped, func(d oplog.Drop) bool { return s.Dropped(d.By, d.Seq) }) // before
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

// descent returns which of the named keys a key is, else which is the nearest of those that it
// came from by way of who added whom; -1 for none.
func descent(keys []oplog.Key, named []oplog.KeyRevocation, key objects.Fingerprint) int {
	for range keys { // so often at most
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

// beside returns err with the hint to revoke the blocking key together with the named ones, unless
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
		Advise("where that key was stolen, too: rye registry revoke-key %s %s %s --reason '...'", e.Namespace, strings.Join(all, " "), e.By)
}
