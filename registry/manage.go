package registry

import (
	"context"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// StatusChange names versions whose status is to change.
type StatusChange struct {
	Names  []string // "acme/tool/hello@1.4.0", all of one namespace
	Reason string   // shown to all users of the version; none for OpUnyank
	By     By
}

// Marks are the operations that Mark accepts.
var Marks = []oplog.OpKind{oplog.OpDeprecate, oplog.OpYank, oplog.OpUnyank, oplog.OpRevoke, oplog.OpRedact}

// Mark changes the status of versions. OpDeprecate warns about them, and they keep working. OpYank
// takes them out of new selections, and existing locks keep working. OpUnyank undoes both. OpRevoke
// forbids them for good, even in locks. OpRedact does the same and asks for the removal of their
// bytes, see Rebuild.
func (r *Registry) Mark(ctx context.Context, kind oplog.OpKind, c StatusChange) error {
	op, err := c.Operation(kind)
	if err != nil {
		return err
	}
	_, err = r.amend(ctx, change{namespace: op.Items[0].Ref.ID.Namespace(), by: c.By, refs: oplog.RefsOf(op.Items)}, op)
	return err
}

// Operation returns the operation that Mark appends.
func (c StatusChange) Operation(kind oplog.OpKind) (oplog.Op, error) {
	if !slices.Contains(Marks, kind) {
		return oplog.Op{}, fault.New(fault.Usage, "mark %q: want one of %s", kind, Marks)
	}
	items, err := oplog.NamedEntries(c.Names)
	if err != nil {
		return oplog.Op{}, err
	}
	op := oplog.Op{Kind: kind, Items: items}
	if kind != oplog.OpUnyank {
		if op.Reason = oplog.Plain(c.Reason, oplog.MaxReason); op.Reason == "" {
			return op, fault.New(fault.Usage, "%s %s: give a reason", kind, c.Names[0])
		}
	}
	return op, nil
}

// ChangeKeys appends operations on the keys of a claimed namespace (OpKeyAdd, OpKeyRetire,
// OpKeyRevoke, OpTransfer, OpThreshold) or OpVoid, all of them or none, in one ref update. It
// returns the state after them. dry checks everything and changes nothing.
func (r *Registry) ChangeKeys(ctx context.Context, namespace string, by By, dry bool, ops ...oplog.Op) (oplog.State, error) {
	c := change{namespace: namespace, by: by, dry: dry, refs: []objects.Ref{}, wants: ops}
	for i, op := range ops {
		switch op.Kind {
		case oplog.OpKeyAdd, oplog.OpKeyRetire, oplog.OpThreshold, oplog.OpVoid:
		case oplog.OpTransfer:
			c.refs = nil // the namespace is examined before it is handed over
		case oplog.OpKeyRevoke:
			c.refs = nil
			if ops[i].Reason = oplog.Plain(op.Reason, oplog.MaxReason); ops[i].Reason == "" {
				return oplog.State{}, fault.New(fault.Usage, "revoke key %s: give a reason", op.Key)
			}
		default:
			return oplog.State{}, fault.New(fault.Usage, "change the keys of %s: %q is not a change of keys", namespace, op.Kind)
		}
	}
	if len(ops) == 0 {
		return oplog.State{}, fault.New(fault.Usage, "change the keys of %s: nothing to change", namespace)
	}
	return r.amend(ctx, c, ops...)
}

// amend appends the given operations to a claimed namespace.
func (r *Registry) amend(ctx context.Context, c change, ops ...oplog.Op) (oplog.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var mine oplog.State // the state that the last try would have made
	c.plan = func(s oplog.State) ([]oplog.Op, error) {
		if s.Seq == 0 {
			return nil, fault.New(fault.NotFound, "namespace %s: it has no owner", c.namespace)
		}
		done, err := r.alreadyDone(s, mine, ops)
		if done || err != nil {
			return nil, err
		}
		mine, err = r.pen(c.by, c.namespace).Rehearse(s, ops)
		return ops, err
	}
	done, err := r.advance(ctx, c)
	return done.state, err
}

// alreadyDone reports whether an earlier try, which would have led to the state mine, was pushed
// although its answer was lost.
func (r *Registry) alreadyDone(s, mine oplog.State, ops []oplog.Op) (bool, error) {
	if ops[0].Kind != oplog.OpVoid { // a void changes no state
		return mine.Seq > 0 && s.Digest() == mine.Digest(), nil
	}
	err := r.mem.MayVoid(s.Namespace, ops[0].Void)
	if fault.Is(err, fault.Conflict) && mine.Seq > 0 {
		return true, nil
	}
	return false, err
}

// VoidOp returns the operation that voids the malformed one at a position, as last synced.
func (r *Registry) VoidOp(namespace string, seq uint64) (oplog.Op, oplog.Skipped, error) {
	all, err := r.mem.SkippedOf(namespace)
	if err != nil {
		return oplog.Op{}, oplog.Skipped{}, err
	}
	i, found := all.Find(seq)
	if !found {
		return oplog.Op{}, oplog.Skipped{}, fault.New(fault.Conflict, "void operation %d of %s: it is not malformed", seq, namespace).
			Advise("rye registry log %s shows which are skipped", namespace)
	}
	s := all.List[i]
	op := oplog.Op{Kind: oplog.OpVoid, Void: oplog.Voided{Seq: seq, Sum: s.Sum}}
	return op, s, r.mem.MayVoid(namespace, op.Void)
}

// SkippedOf returns the operations of a namespace that have no effect, as last synced.
func (r *Registry) SkippedOf(namespace string) (oplog.Skips, error) {
	return r.mem.SkippedOf(namespace)
}
