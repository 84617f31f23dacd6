package oplog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// A proposal is an operation of a namespace that several keys must approve before it is committed.
// It travels as a file: the message of the operation, without the commit that keeps its state, and
// with the approvals so far. A revoke or redact adds an empty line and one line with the name of
// each version; the change list proves these names.

// NeedsOthers reports whether an operation after s needs more keys than its signer's, judged by
// root.
func (s State) NeedsOthers(root Root, op Op, signer trust.PublicKey) bool {
	if !Governs(op.Kind) || s.Threshold <= 1 {
		return false
	}
	op.Root, op.Signer = root.Seq, signer
	grant, err := s.WithRoot(root).authority(op)
	return err == nil && !s.rootsWord(op, grant)
}

// Reads returns the items whose lines an operation reads; nil means all.
func (op *Op) Reads() []objects.Ref {
	if op.Kind == OpKeyRevoke || op.Kind == OpTransfer {
		return nil
	}
	return RefsOf(op.Items)
}

// Foresee fills in the results of an operation before any other key has agreed to it.
func (s State) Foresee(op Op, signer trust.PublicKey, now time.Time) (Op, State, error) {
	terms, root := op.Terms, op.Root
	op = Pen{Signer: publicOnly{signer}, Now: now, Format: store.SHA1}.Place(s, op)
	op.Terms, op.Root = terms, root
	if err := s.checkLink(op); err != nil {
		return op, s, err
	}
	grant, err := s.authority(op)
	if err != nil {
		return op, s, err
	}
	next, err := s.follow(op, grant)
	if err != nil {
		return op, s, err
	}
	next, wrote, err := s.write(next, op)
	if err != nil {
		return op, s, err
	}
	op.Changes = Changes{}
	if len(wrote) > 0 {
		op.Changes = Changes{len(wrote), wrote[0].Name(), AddressOf(JoinRows(wrote))}
	}
	op.State = next.cat.at
	return op, next, nil
}

// publicOnly is a signer that only knows the public key.
type publicOnly struct{ key trust.PublicKey }

func (p publicOnly) Public() trust.PublicKey { return p.key }

func (p publicOnly) Sign(context.Context, []byte) ([]byte, error) {
	return nil, fault.New(fault.Untrusted, "key %s: is not available", p.key.Fingerprint())
}

// Agreement checks a proposal of a namespace, as Root.Agreement does for the root. It needs the
// catalogue.
func (s State) Agreement(op Op, signer trust.PublicKey, now time.Time) (Agreement, error) {
	if op.Registry != s.Registry || op.Namespace != s.Namespace || op.Genesis != s.Genesis {
		return Agreement{}, fault.New(fault.Integrity, "proposal: belongs to another registry or namespace than %s", s.Namespace)
	}
	if op.Seq != s.Seq+1 || op.Prev != s.Tip {
		return Agreement{}, fault.New(fault.Conflict, "proposal: it follows operation %d of %s, which is at %d now", op.Seq-1, s.Namespace, s.Seq).
			Advise("propose it again")
	}
	if !slices.Contains(s.Active(), signer) {
		code := fault.Untrusted
		if findKey(s.keys, signer.Fingerprint()) >= 0 {
			code = fault.Revoked
		}
		return Agreement{}, fault.New(code, "proposal: %s is not an active key of %s, so it cannot approve", signer.Fingerprint(), s.Namespace).
			Advise("rye registry members %s shows them; run it again with RYE_KEY=<name of one>", s.Namespace)
	}
	filled, _, err := s.Foresee(op, signer, now)
	if err != nil {
		return Agreement{}, err
	}
	if filled.State != op.State || filled.Changes != op.Changes {
		return Agreement{}, fault.New(fault.Integrity, "proposal: states %s, but applying it gives %s", op.State.Sum, filled.State.Sum)
	}
	if err := op.Terms.hold(s.Roles, filled.Time); err != nil {
		return Agreement{}, err
	}
	agreed, err := s.agreedTo(&op)
	if err != nil {
		return Agreement{}, err
	}
	return agreementOf(s.Threshold, s.Active(), nil, agreed, signer), nil
}

// Proposal returns the canonical text of a proposed operation.
func (op *Op) Proposal() string {
	text := op.Message()
	if op.Kind != OpRevoke && op.Kind != OpRedact {
		return text
	}
	var b strings.Builder
	b.WriteString(text + "\n")
	for i := range op.Items {
		b.WriteString(op.Items[i].Name() + "\n")
	}
	return b.String()
}

// OfNamespace reports whether the text of a proposal belongs to a namespace rather than the root.
func OfNamespace(text string) bool {
	_, rest, _ := strings.Cut(text, "\n\nRye-Format: 1\nRye-Op: ")
	kind, _, _ := strings.Cut(rest, "\n")
	return Governs(OpKind(kind))
}

// ParseOpProposal reads the text of a proposed operation of a namespace.
func ParseOpProposal(text string) (op Op, err error) {
	if len(text) > MaxProposal {
		return op, fault.New(fault.Limit, "proposal of %d bytes: at most %d", len(text), MaxProposal)
	}
	message, names := splitProposal(text)
	if err := decodeMessage(message, &op); err != nil {
		return Op{}, err
	}
	if names != "" {
		if op.Items, err = NamedEntries(strings.Split(strings.TrimSuffix(names, "\n"), "\n")); err != nil {
			return Op{}, fault.New(fault.Malformed, "proposal: %w", err)
		}
	}
	if !Governs(op.Kind) || !op.Kept.IsZero() || op.Terms == (Terms{}) || op.Proposal() != text || len(op.Items) > 0 && len(op.Items) != op.Changes.Count {
		return Op{}, fault.New(fault.Malformed, "%s: is not a proposal in its one spelling", op.Label())
	}
	return op, nil
}

// splitProposal separates the message from the names that follow it.
func splitProposal(text string) (message, names string) {
	subject, rest, ok := strings.Cut(text, "\n\n")
	trailers, names, more := strings.Cut(rest, "\n\n")
	if !ok || !more {
		return text, ""
	}
	return subject + "\n\n" + trailers + "\n", names
}

// Describe lists the changes that an operation would make, in a few lines, for the people who are
// asked to approve it.
func (s State) Describe(op Op) []string {
	lines := []string{fmt.Sprintf("operation %d of %s: %s", op.Seq, s.Namespace, op.Subject())}
	if op.Reason != "" {
		lines = append(lines, "because "+words.Brief(op.Reason))
	}
	for _, k := range op.Keys {
		lines = append(lines, "add    "+k.Public.Fingerprint().String())
	}
	switch op.Kind {
	case OpKeyRetire:
		lines = append(lines, "retire "+op.Key.String()+"; its earlier signatures stay valid")
	case OpKeyRevoke:
		for _, k := range op.Revocations() {
			lines = append(lines, fmt.Sprintf("revoke %s from operation %d on", k.Key, k.BadFrom),
				"its publications from there on, and the keys that it added, are revoked with it, for good")
			if k.DropFrom > 0 {
				lines = append(lines, fmt.Sprintf("drop these keys' changes to the catalogue from operation %d on", k.DropFrom))
			}
		}
	case OpTransfer:
		for _, k := range s.Active() {
			lines = append(lines, "retire "+k.Fingerprint().String()+"; its earlier signatures stay valid")
		}
		lines = append(lines, fmt.Sprintf("then %d of %d keys must agree, now %d of %d", max(op.Threshold, 1), len(op.Keys), s.Threshold, len(s.Active())),
			"every reader is asked before that counts")
	case OpThreshold:
		lines = append(lines, fmt.Sprintf("then %d of %d keys must agree, now %d", op.Threshold, len(s.Active()), s.Threshold))
	case OpVoid:
		lines = append(lines, fmt.Sprintf("void   operation %d, which has no effect, and stop reporting it", op.Void.Seq))
	case OpRevoke, OpRedact:
		for i := range op.Items {
			lines = append(lines, string(op.Kind)+" "+op.Items[i].Name())
		}
		lines = append(lines, "for good, everywhere")
	}
	return lines
}
