package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
)

// ProposeOp fills in the position of a namespace operation and its results, after a sync. It is
// valid for the next position of its log only.
func (r *Registry) ProposeOp(ctx context.Context, ns string, by trust.PublicKey, op oplog.Op) (oplog.Op, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !oplog.Governs(op.Kind) {
		return op, fault.New(fault.Usage, "propose a %s: one key is enough", op.Kind)
	}
	op.Reason = oplog.Plain(op.Reason, oplog.MaxReason)
	s, err := r.proposedOn(ctx, ns, op)
	if err != nil {
		return op, err
	}
	now := r.o.Now().UTC().Truncate(time.Second)
	op.Root, op.Terms = s.Under().Seq, oplog.Terms{Roles: s.Roles, Until: now.Add(oplog.TermsFor)}
	if op, _, err = s.Foresee(op, by, now); err != nil {
		return op, fmt.Errorf("propose operation %d of %s: %w", op.Seq, ns, err)
	}
	if n := len(op.Proposal()); n > oplog.MaxProposal/2 { // the other half is for approvals
		return op, fault.New(fault.Limit, "proposal of %d bytes: at most %d", n, oplog.MaxProposal/2).Advise("name fewer versions at once")
	}
	return op, nil
}

// JudgeOp compares a proposal with its namespace after a sync. It fails with Conflict when the
// proposal follows another operation, otherwise as Apply would. signer would approve or commit it.
func (r *Registry) JudgeOp(ctx context.Context, op oplog.Op, signer trust.PublicKey) (oplog.Agreement, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op.Registry != r.o.ID {
		return oplog.Agreement{}, fault.New(fault.Integrity, "proposal: belongs to registry %s, not %s", op.Registry, r.o.ID)
	}
	s, err := r.proposedOn(ctx, op.Namespace, op)
	if err != nil {
		return oplog.Agreement{}, err
	}
	return s.Agreement(op, signer, r.o.Now())
}

// proposedOn returns a namespace after a sync, with the catalogue parts that a proposal reads.
func (r *Registry) proposedOn(ctx context.Context, ns string, op oplog.Op) (oplog.State, error) {
	wants := []oplog.Op{op}
	s, err := r.tipFor(ctx, toRead, ns, wants)
	if err == nil && s.Seq == 0 {
		err = fault.New(fault.NotFound, "namespace %s: it has no owner", ns)
	}
	if err != nil {
		return s, err
	}
	return r.lookAt(ctx, s, op.Reads(), wants)
}

// CommitOp signs a proposed operation with its approvals and pushes it. Another operation of the
// namespace in between makes it invalid (Conflict).
func (r *Registry) CommitOp(ctx context.Context, by By, op oplog.Op) (oplog.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op = op.Without(by.Signer.Public().Fingerprint())
	c := change{namespace: op.Namespace, by: by, refs: op.Reads(), wants: []oplog.Op{op}}
	tried := false
	c.plan = func(s oplog.State) ([]oplog.Op, error) {
		switch {
		case tried && s.Seq == op.Seq && s.Digest() == op.State.Sum:
			return nil, nil // the push arrived, its answer was lost
		case op.Seq != s.Seq+1 || op.Prev != s.Tip:
			return nil, fault.New(fault.Conflict, "change namespace %s: it is at %d now, the proposal follows %d", op.Namespace, s.Seq, op.Seq-1).
				Advise("propose it again")
		}
		tried = true
		return []oplog.Op{op}, nil
	}
	done, err := r.advance(ctx, c)
	return done.state, err
}
