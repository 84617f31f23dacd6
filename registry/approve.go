package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye/objects/trust"
)

// Approve adds a key's agreement to an operation of the root that was filled in
// by Registry.Propose and is yet to be committed. The order in which keys agree
// does not matter; a key that agrees again replaces its agreement.
func (op *RootOp) Approve(ctx context.Context, signer trust.Signer) error {
	sig, err := signer.Sign(ctx, op.ApprovalMessage())
	if err != nil {
		return err
	}
	op.addApproval(Approval{Key: signer.Public().Fingerprint(), Sig: sig})
	return nil
}

// addApproval keeps the list sorted and without repetition.
func (op *RootOp) addApproval(a Approval) {
	i, found := slices.BinarySearchFunc(op.Approvals, a, func(x, y Approval) int {
		return strings.Compare(x.Key.String(), y.Key.String())
	})
	list := slices.Clone(op.Approvals)
	if found {
		list[i] = a
	} else {
		list = slices.Insert(list, i, a)
	}
	op.Approvals = list
}
