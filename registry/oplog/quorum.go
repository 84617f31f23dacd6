package oplog

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Governs reports whether State.Threshold keys must agree to an operation: to changes of owners and
// to irreversible operations. Publishing, deprecating and yanking stay one member's daily work.
func Governs(kind OpKind) bool {
	switch kind {
	case OpKeyAdd, OpKeyRetire, OpKeyRevoke, OpTransfer, OpThreshold, OpRevoke, OpRedact, OpVoid:
		return true
	}
	return false
}

// rootsWord reports whether an operation rests on a grant by the root instead of the keys of the
// namespace. grant is the result of authority.
func (s *State) rootsWord(op Op, grant uint64) bool {
	return grant != s.Grant || s.fromOutside(&op)
}

// Active returns the keys that may sign.
func (s *State) Active() (list []trust.PublicKey) {
	for _, k := range s.keys {
		if k.State == KeyActive {
			list = append(list, k.Public)
		}
	}
	return list
}

// ApprovalMessage returns the bytes that another key signs to approve the operation. They bind the
// registry, namespace, position, previous operation, next state and the changes. They leave out the
// commit that keeps the state, because it has the time of the operation.
func (op *Op) ApprovalMessage() []byte {
	plain := *op
	plain.Approvals, plain.Kept = nil, store.OID{}
	return objects.PAE("application/vnd.rye.namespace-approval.v1", []byte(plain.Message()))
}

// checkAgreement counts the active keys that signed or approved. An operation that rests on the
// root's grant needs no other keys.
func (s *State) checkAgreement(op Op, word bool) error {
	switch alone := op.Terms == (Terms{}); {
	case !Governs(op.Kind) || alone && (word || s.Threshold <= 1):
		return nil
	case word || s.Threshold <= 1:
		return fault.New(fault.Malformed, "has terms, but needs no other approval")
	case alone:
		return fault.New(fault.Untrusted, "1 of %d keys of %s agreed, %d must", len(s.Active()), s.Namespace, s.Threshold)
	}
	if err := op.Terms.hold(s.Roles, op.Time); err != nil {
		return err
	}
	agreed, err := s.agreedTo(&op)
	if err != nil {
		return err
	}
	if n := len(agreed) + 1; n < s.Threshold { // authority checked that the signer is active
		return fault.New(fault.Untrusted, "%d of %d keys of %s agreed, %d must", n, len(s.Active()), s.Namespace, s.Threshold)
	}
	return nil
}

// agreedTo returns the keys with valid approvals of op, without the signer's.
func (s *State) agreedTo(op *Op) ([]trust.PublicKey, error) {
	return approved(op.Approvals, s.Active(), op.Signer, op.ApprovalMessage(), func(fp objects.Fingerprint) error {
		if i := findKey(s.keys, fp); i >= 0 {
			return fault.New(fault.Revoked, "approved by %s, which was %s at operation %d", fp, s.keys[i].State, s.keys[i].Since)
		}
		return fault.New(fault.Untrusted, "approved by %s, which is not a key of %s", fp, s.Namespace)
	})
}

// setThreshold sets how many keys must agree from the next operation on.
func (s *State) setThreshold(op Op) error {
	switch n := len(s.Active()); {
	case op.Threshold < 1 || op.Threshold > n:
		return fault.New(fault.Conflict, "threshold %d of %d active keys of %s", op.Threshold, n, s.Namespace)
	case op.Threshold == s.Threshold:
		return fault.New(fault.Conflict, "%d keys of %s must agree already", op.Threshold, s.Namespace)
	}
	s.Threshold = op.Threshold
	return nil
}

// settleRoles records the operation that last changed the keys or the threshold.
func (s *State) settleRoles(op Op) {
	switch op.Kind {
	case OpClaim, OpTransfer:
		s.Threshold = max(op.Threshold, 1) // the new owners decide
	case OpKeyAdd, OpKeyRetire, OpKeyRevoke, OpThreshold:
	default:
		return
	}
	if s.Roles = op.Seq; s.Threshold <= 1 {
		s.Roles = 0
	}
}

// Without returns the operation without a key's approval. The key that signs the commit approves by
// signing, and counts once.
func (op Op) Without(key objects.Fingerprint) Op {
	op.Approvals = without(op.Approvals, key)
	return op
}

// Approve adds a key's approval to a proposed operation.
func (op *Op) Approve(ctx context.Context, signer trust.Signer) error {
	list, err := approve(ctx, op.Approvals, signer, op.ApprovalMessage())
	if err == nil {
		op.Approvals = list
	}
	return err
}
