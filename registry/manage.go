package registry

import (
	"context"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// StatusChange names versions whose status is to change.
type StatusChange struct {
	Names  []string // "acme/tool/hello@1.4.0", all of one namespace
	Reason string   // shown to everybody who meets the version; none for OpUnyank
	By     By
}

// Marks are the operations that Mark may do.
var Marks = []OpKind{OpDeprecate, OpYank, OpUnyank, OpRevoke, OpRedact}

// Mark changes what the registry says of versions: OpDeprecate warns of them and they keep
// working; OpYank takes them out of new selections, and locks that have them keep working;
// OpUnyank takes both back; OpRevoke forbids them for good, even where they are locked; OpRedact
// does that and says that their bytes are to go, see Rebuild.
func (r *Registry) Mark(ctx context.Context, kind OpKind, c StatusChange) error {
	op, err := c.Operation(kind)
	if err != nil {
		return err
	}
	_, err = amend(ctx, r, change{namespace: op.Items[0].Ref.ID.Namespace(), by: c.By, refs: refsOf(op.Items)}, op)
	return err
}

// Operation returns what Mark does.
func (c StatusChange) Operation(kind OpKind) (Op, error) {
	if !slices.Contains(Marks, kind) {
		return Op{}, fault.New(fault.Usage, "mark %q: want one of %s", kind, Marks)
	}
	items, err := c.items()
	if err != nil {
		return Op{}, err
	}
	op := Op{Kind: kind, Items: items}
	if kind != OpUnyank {
		if op.Reason = Plain(c.Reason, MaxReason); op.Reason == "" {
			return op, fault.New(fault.Usage, "%s %s: say why", kind, c.Names[0])
		}
	}
	return op, nil
}

func (c *StatusChange) items() ([]Entry, error) {
	if len(c.Names) == 0 || len(c.Names) > MaxItems {
		return nil, fault.New(fault.Usage, "%d versions named: want 1 to %d", len(c.Names), MaxItems)
	}
	var out []Entry
	for _, n := range c.Names {
		ref, version, err := ParseName(n)
		if err != nil {
			return nil, fault.New(fault.Usage, "%w", err)
		}
		if len(out) > 0 && out[0].Ref.ID.Namespace() != ref.ID.Namespace() {
			return nil, fault.New(fault.Usage, "%s and %s are of different namespaces", c.Names[0], n)
		}
		out = append(out, Entry{Ref: ref, Version: version})
	}
	slices.SortFunc(out, func(a, b Entry) int { return compareKey(&a, b.Ref.Published(), b.Version) })
	return out, nil
}

// ChangeKeys appends operations on the keys of a namespace that is claimed (OpKeyAdd,
// OpKeyRetire, OpKeyRevoke, OpTransfer, OpThreshold), or voids an operation (OpVoid), all of
// them or none: one ref update. It returns the state after them; dry checks everything and changes nothing.
func ChangeKeys(ctx context.Context, r *Registry, namespace string, by By, dry bool, ops ...Op) (State, error) {
	c := change{namespace: namespace, by: by, dry: dry, refs: []objects.Ref{}, wants: ops}
	for i, op := range ops {
		switch op.Kind {
		case OpKeyAdd, OpKeyRetire, OpThreshold, OpVoid:
		case OpTransfer:
			c.refs = nil // what is handed over is examined first
		case OpKeyRevoke:
			c.refs = nil
			if ops[i].Reason = Plain(op.Reason, MaxReason); ops[i].Reason == "" {
				return State{}, fault.New(fault.Usage, "revoke key %s: say why", op.Key)
			}
		default:
			return State{}, fault.New(fault.Usage, "change the keys of %s: %q changes no key", namespace, op.Kind)
		}
	}
	if len(ops) == 0 {
		return State{}, fault.New(fault.Usage, "change the keys of %s: nothing to change", namespace)
	}
	return amend(ctx, r, c, ops...)
}

// amend appends operations, as they are, to a namespace that is claimed.
func amend(ctx context.Context, r *Registry, c change, ops ...Op) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var mine State // what the last try would have made
	c.plan = func(s State) ([]Op, error) {
		if s.Seq == 0 {
			return nil, fault.New(fault.NotFound, "namespace %s: nobody has claimed it", c.namespace)
		}
		done, err := alreadyDone(r, s, mine, ops)
		if done || err != nil {
			return nil, err
		}
		mine, err = r.pen(c.by, c.namespace).rehearse(s, ops)
		return ops, err
	}
	done, err := r.advance(ctx, c)
	return done.state, err
}

// alreadyDone reports whether an earlier try, which would have led to the state mine, was
// pushed although its answer was lost.
func alreadyDone(r *Registry, s, mine State, ops []Op) (bool, error) {
	if ops[0].Kind != OpVoid { // which changes no state
		return mine.Seq > 0 && s.Digest() == mine.Digest(), nil
	}
	err := mayVoid(r, s.Namespace, ops[0].Void)
	if fault.Is(err, fault.Conflict) && mine.Seq > 0 {
		return true, nil
	}
	return false, err
}

// Prove returns the proof that the owner of a key agrees to its being added.
func Prove(ctx context.Context, key trust.Signer, registry objects.Digest, namespace string, genesis objects.Digest) ([]byte, error) {
	return key.Sign(ctx, ProofMessage(registry, namespace, genesis, key.Public().Fingerprint()))
}
