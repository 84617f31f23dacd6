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
var Marks = []OpKind{OpDeprecate, OpYank, OpUnyank, OpRevoke}

// Mark changes what the registry says of versions: OpDeprecate warns of them and they keep
// working; OpYank takes them out of new selections, and locks that have them keep working;
// OpUnyank takes both back; OpRevoke forbids them for good, even where they are locked.
func (r *Registry) Mark(ctx context.Context, kind OpKind, c StatusChange) error {
	if !slices.Contains(Marks, kind) {
		return fault.New(fault.Usage, "mark %q: want one of %s", kind, Marks)
	}
	items, err := c.items()
	if err != nil {
		return err
	}
	op := Op{Kind: kind, Items: items}
	if kind != OpUnyank {
		if op.Reason = Plain(c.Reason, MaxReason); op.Reason == "" {
			return fault.New(fault.Usage, "%s %s: say why", kind, c.Names[0])
		}
	}
	return r.one(ctx, items[0].Ref.ID.Namespace(), c.By, op)
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

// one appends a single operation to a namespace that is claimed.
func (r *Registry) one(ctx context.Context, namespace string, by By, op Op) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var mine State // what the last try would have made
	_, err := r.advance(ctx, change{namespace: namespace, by: by, plan: func(s State) ([]Op, error) {
		if s.Seq == 0 {
			return nil, fault.New(fault.NotFound, "namespace %s: nobody has claimed it", namespace)
		}
		if mine.Seq > 0 && s.Digest() == mine.Digest() {
			return nil, nil // the answer was lost, the push was not
		}
		var err error
		mine, err = s.step(r.pen(by, namespace).place(s, op))
		return []Op{op}, err
	}})
	return err
}

// AddKey adds a key to a namespace. proof is the key's own signature over
// ProofMessage; nil when by signs with that very key.
func (r *Registry) AddKey(ctx context.Context, namespace string, by By, key trust.PublicKey, proof []byte) error {
	return r.one(ctx, namespace, by, Op{Kind: OpKeyAdd, Keys: []KeyGrant{{Public: key, Proof: proof}}})
}

// RetireKey ends what a key may sign; what it signed stays good.
func (r *Registry) RetireKey(ctx context.Context, namespace string, by By, key objects.Fingerprint) error {
	return r.one(ctx, namespace, by, Op{Kind: OpKeyRetire, Key: key})
}

// RevokeKey marks a key bad from an operation on. What it published, wrote or
// added there or later is revoked with it; what lies before stays.
func (r *Registry) RevokeKey(ctx context.Context, namespace string, by By, key objects.Fingerprint, badFrom uint64, reason string) error {
	reason = Plain(reason, MaxReason)
	if reason == "" {
		return fault.New(fault.Usage, "revoke key %s: say why", key)
	}
	return r.one(ctx, namespace, by, Op{Kind: OpKeyRevoke, Key: key, BadFrom: badFrom, Reason: reason})
}

// Prove returns the proof that the owner of a key agrees to its being added.
func Prove(ctx context.Context, key trust.Signer, registry objects.Digest, namespace string, genesis objects.Digest) ([]byte, error) {
	return key.Sign(ctx, ProofMessage(registry, namespace, genesis, key.Public().Fingerprint()))
}
