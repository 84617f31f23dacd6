package oplog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Agreement says how far a proposed operation has come.
type Agreement struct {
	Have, Want int                   // approvals by keys that may approve, and how many are required
	Agreed     []objects.Fingerprint // all keys that approved, sorted
	Waiting    []objects.Fingerprint // keys that may still approve; not all of them have to
	Newcomers  []objects.Fingerprint // keys that become root keys and must approve first
}

// Complete reports whether the operation may be committed.
func (a Agreement) Complete() bool { return a.Have >= a.Want && len(a.Newcomers) == 0 }

// Agreement checks a proposal against the root that it follows, and commits nothing. It fails with
// Conflict when the proposal follows another operation, otherwise as Apply would. signer is the key
// that would sign the commit, and counts as an approval; the zero key stands for no signer. Pure.
func (r Root) Agreement(op RootOp, signer trust.PublicKey) (Agreement, error) {
	if op.Kind == OpGenesis || op.Registry != r.ID {
		return Agreement{}, fault.New(fault.Integrity, "proposal: belongs to registry %s, not %s", op.Registry, r.ID)
	}
	if op.Seq != r.Seq+1 || op.Prev != r.Tip {
		return Agreement{}, fault.New(fault.Conflict, "proposal: it follows operation %d of the root, which is at %d now", op.Seq-1, r.Seq).
			Advise("propose it again")
	}
	filled, err := Pen{Format: store.SHA1}.RootOperation(r, op)
	if err != nil {
		return Agreement{}, err
	}
	if filled.State != op.State {
		return Agreement{}, fault.New(fault.Integrity, "proposal: states %s, but applying it gives %s", op.State, filled.State)
	}
	if err := r.checkTerms(op); err != nil {
		return Agreement{}, err
	}
	agreed, err := op.agreed(r.Keys)
	if err != nil {
		return Agreement{}, err
	}
	return agreementOf(r.Threshold, r.Keys, op.newcomers(r.Keys), agreed, signer), nil
}

// agreementOf counts approvals: want of the held keys and all newcomers must approve.
func agreementOf(want int, held, newcomers, agreed []trust.PublicKey, signer trust.PublicKey) Agreement {
	if !signer.IsZero() && !slices.Contains(agreed, signer) {
		agreed = append(agreed, signer)
	}
	a := Agreement{Want: want}
	for _, k := range agreed {
		a.Agreed = append(a.Agreed, k.Fingerprint())
	}
	for _, k := range held {
		if slices.Contains(agreed, k) {
			a.Have++
		} else {
			a.Waiting = append(a.Waiting, k.Fingerprint())
		}
	}
	for _, k := range newcomers {
		if !slices.Contains(agreed, k) {
			a.Newcomers = append(a.Newcomers, k.Fingerprint())
		}
	}
	for _, list := range [][]objects.Fingerprint{a.Agreed, a.Waiting, a.Newcomers} {
		slices.SortFunc(list, func(x, y objects.Fingerprint) int { return slices.Compare(x[:], y[:]) })
	}
	return a
}

// agreed returns the keys with valid approvals of op; held lists the root keys before it. An
// invalid approval is an error, because a tampered proposal must not look like an unfinished one.
// An approval by the signer is an error too, as is a second approval by the same key.
func (op *RootOp) agreed(held []trust.PublicKey) ([]trust.PublicKey, error) {
	return approved(op.Approvals, slices.Concat(held, op.newcomers(held)), op.Signer, op.ApprovalMessage(), func(fp objects.Fingerprint) error {
		return fault.New(fault.Untrusted, "approved by %s, which is not a root key", fp)
	})
}

// approved returns the known keys that approved msg. stranger returns the error for any other key.
// A second approval by a key is an error. So is one by the signer, whose signature counts as one.
func approved(list []Approval, known []trust.PublicKey, signer trust.PublicKey, msg []byte, stranger func(objects.Fingerprint) error) (keys []trust.PublicKey, err error) {
	for _, a := range list {
		i := slices.IndexFunc(known, func(k trust.PublicKey) bool { return k.Fingerprint() == a.Key })
		switch {
		case i < 0:
			return nil, stranger(a.Key)
		case known[i] == signer || slices.Contains(keys, known[i]):
			return nil, fault.New(fault.Untrusted, "key %s signed twice, and counts once", a.Key)
		case !known[i].Verify(msg, a.Sig):
			return nil, fault.New(fault.Integrity, "approval by %s: the signature is invalid", a.Key)
		}
		keys = append(keys, known[i])
	}
	return keys, nil
}

// newcomers returns the keys that op makes root keys and that held lacks.
func (op *RootOp) newcomers(held []trust.PublicKey) []trust.PublicKey {
	if op.Kind != OpGenesis && op.Kind != OpRoots {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(op.Keys), func(k trust.PublicKey) bool { return slices.Contains(held, k) })
}

// Approve adds a key's approval to a root operation that Registry.Propose filled in and that is not
// committed yet. Keys may approve in any order. A second approval by a key replaces the first.
func (op *RootOp) Approve(ctx context.Context, signer trust.Signer) error {
	list, err := approve(ctx, op.Approvals, signer, op.ApprovalMessage())
	if err == nil {
		op.Approvals = list
	}
	return err
}

// approve returns list with one more approval, which replaces an earlier one by the same key.
func approve(ctx context.Context, list []Approval, signer trust.Signer, msg []byte) ([]Approval, error) {
	sig, err := signer.Sign(ctx, msg)
	if err != nil {
		return nil, err
	}
	a := Approval{Key: signer.Public().Fingerprint(), Sig: sig}
	list = append(without(list, a.Key), a)
	slices.SortFunc(list, func(x, y Approval) int { return strings.Compare(x.Key.String(), y.Key.String()) })
	return list, nil
}

// without returns a copy of the approvals without those by key.
func without(list []Approval, key objects.Fingerprint) []Approval {
	return slices.DeleteFunc(slices.Clone(list), func(a Approval) bool { return a.Key == key })
}

// Without returns the operation without a key's approval. The key that signs the commit approves by
// signing, and counts once.
func (op RootOp) Without(key objects.Fingerprint) RootOp {
	op.Approvals = without(op.Approvals, key)
	return op
}

// NewRoots returns the operation that replaces the root keys and the threshold, and keeps name and
// claims. It refuses a key that is given twice (Untrusted), because a key counts once under any
// number of names. Pure.
func (r Root) NewRoots(threshold int, keys ...trust.PublicKey) (RootOp, error) {
	for i, k := range keys {
		if slices.Contains(keys[:i], k) {
			return RootOp{}, fault.New(fault.Untrusted, "root keys: %s is given twice, and one key is one holder under any name", k.Fingerprint())
		}
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return RootOp{}, fault.New(fault.Usage, "root keys: %d, want 1 to %d", len(keys), maxKeys)
	}
	if err := CheckRoots(r.Claims, threshold, len(keys)); err != nil {
		return RootOp{}, fault.New(fault.Usage, "root keys: %w", err)
	}
	if threshold == r.Threshold && slices.Equal(keys, r.Keys) {
		return RootOp{}, fault.New(fault.Usage, "root keys: nothing to change")
	}
	return RootOp{Kind: OpRoots, Name: r.Name, Claims: r.Claims, Threshold: threshold, Tags: r.Tags, Keys: keys}, nil
}

// MaxProposal bounds the text of a proposed operation, in bytes.
const MaxProposal = 64 << 10

// Describe lists the changes that an operation would make to the root, in a few lines, for the
// people who are asked to approve it.
func (r Root) Describe(op RootOp) []string {
	lines := []string{fmt.Sprintf("operation %d of the root of %q: %s", op.Seq, r.Name, op.Subject())}
	switch op.Kind {
	case OpRoots:
		for _, k := range op.newcomers(r.Keys) {
			lines = append(lines, "add    "+k.Fingerprint().String())
		}
		for _, k := range r.Keys {
			if !slices.Contains(op.Keys, k) {
				lines = append(lines, "remove "+k.Fingerprint().String())
			}
		}
		lines = append(lines, fmt.Sprintf("then %d of %d root keys must agree, now %d of %d", op.Threshold, len(op.Keys), r.Threshold, len(r.Keys)))
		if op.Name != r.Name {
			lines = append(lines, fmt.Sprintf("name   %q, now %q", op.Name, r.Name))
		}
		if op.Tags != r.Tags {
			lines = append(lines, fmt.Sprintf("a tag for each version: %t, now %t", op.Tags, r.Tags))
		}
		if op.Claims != r.Claims {
			lines = append(lines, fmt.Sprintf("claims %s, now %s", op.Claims, r.Claims))
		}
	case OpGrant:
		lines = append(lines, r.describeGrant(op)...)
	case OpCheckpoint:
		for _, c := range op.Checkpoints {
			lines = append(lines, fmt.Sprintf("%s at %d", c.Namespace, c.Seq))
		}
		if !op.FreshUntil.IsZero() {
			lines = append(lines, "fresh until "+op.FreshUntil.Format(TimeLayout))
		}
	}
	return lines
}

// describeGrant lists the owners of a namespace before and after a grant, and the consequences for
// its readers.
func (r Root) describeGrant(op RootOp) (lines []string) {
	old := r.Grant(op.Namespace)
	if old == nil {
		lines = append(lines, op.Namespace+"/ had no owner according to the root")
	} else {
		for _, k := range old.Keys {
			lines = append(lines, op.Namespace+"/ was granted to "+k.Fingerprint().String())
		}
	}
	for _, k := range op.Keys {
		lines = append(lines, op.Namespace+"/ to "+k.Fingerprint().String())
	}
	if old != nil && old.Located != "" && old.Located != op.Located {
		lines = append(lines, op.Namespace+"/ lay in "+old.Located)
	}
	if op.Located != "" {
		lines = append(lines, op.Namespace+"/ lies in "+op.Located+": readers that are new to it are asked first")
	} else if old != nil && old.Located != "" {
		lines = append(lines, op.Namespace+"/ lies in the registry's own repository")
	}
	if old != nil && !op.Genesis.IsZero() && !slices.Equal(old.Keys, op.Keys) {
		lines = append(lines, "its members stay members; these may add themselves, and every reader is asked before that counts")
	}
	return lines
}
