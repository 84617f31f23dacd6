package govern

import (
	"context"
	"fmt"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/share"
)

// namespaceProposal is an operation on a namespace that several of its keys must agree to.
type namespaceProposal struct {
	*members
	op oplog.Op
}

// needsOthers reports whether one of the operations needs more than this key.
func (m *members) needsOthers(ops []oplog.Op, me trust.PublicKey) bool {
	return slices.ContainsFunc(ops, func(op oplog.Op) bool { return m.state.NeedsOthers(m.root, op, me) })
}

// propose makes a proposal of the one given operation.
func (m *members) propose(ctx context.Context, ops []oplog.Op, me trust.PublicKey, q step) (*rye.RootChange, error) {
	if len(ops) != 1 {
		return nil, fault.New(fault.Usage, "%s: %d keys must agree to each change, so make one change at a time", m.state.Namespace, m.state.Threshold).
			Advise("one --retire, or all of --add, or --threshold")
	}
	op, err := m.reg.ProposeOp(ctx, m.state.Namespace, me, ops[0])
	if err != nil {
		return nil, err
	}
	q.status = "proposed"
	return advance(ctx, m.s, &namespaceProposal{m, op}, q)
}

func (p *namespaceProposal) judge(ctx context.Context, me trust.PublicKey) (oplog.Agreement, error) {
	if p.s.Offline {
		return oplog.Agreement{}, fault.New(fault.Offline, "namespace %s: a change needs its newest log", p.state.Namespace).Advise("leave out --offline")
	}
	return p.reg.JudgeOp(ctx, p.op, me)
}

func (p *namespaceProposal) mayCommit(got oplog.Agreement, _ trust.PublicKey) error {
	if got.Have < got.Want {
		return fault.New(fault.Untrusted, "%s: %d of %d keys agreed, and %d must agree; one key counts once",
			p.state.Namespace, got.Have, got.Have+len(got.Waiting), got.Want).
			Advise("another holder runs rye registry approve <file>")
	}
	return nil
}

func (p *namespaceProposal) describe() *rye.RootChange {
	return &rye.RootChange{Registry: p.name, ID: p.reg.ID().String(), Namespace: p.state.Namespace, Seq: p.op.Seq, Changes: p.state.Describe(p.op)}
}

func (p *namespaceProposal) topic() string { return "namespace " + p.state.Namespace }

func (p *namespaceProposal) file() string { return proposalName(p.op.Namespace, p.op.Seq) }

func proposalName(ns string, seq uint64) string { return fmt.Sprintf("registry-%s-%d.txt", ns, seq) }

func (p *namespaceProposal) text() string { return p.op.Proposal() }

func (p *namespaceProposal) approve(ctx context.Context, signer trust.Signer) error {
	return p.op.Approve(ctx, signer)
}

func (p *namespaceProposal) commit(ctx context.Context, signer trust.Signer) error {
	after, err := p.reg.CommitOp(ctx, share.By(p.s, signer), p.op)
	if err != nil {
		return err
	}
	p.state = after
	return share.UpdateTrust(ctx, p.s, p.reg, after.Namespace)
}
