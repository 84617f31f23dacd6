package govern

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// ApproveRoot adds the signing key's approval to a proposal for the root or a namespace, in
// its file.
func ApproveRoot(ctx context.Context, s *custody.Desk, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return withProposal(ctx, s, q, "approved")
}

// CommitRoot signs and publishes a proposal that enough keys approved.
func CommitRoot(ctx context.Context, s *custody.Desk, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return withProposal(ctx, s, q, "committed")
}

func withProposal(ctx context.Context, s *custody.Desk, q rye.RootProposalRequest, status string) (*rye.RootChange, error) {
	text, err := readProposal(q.File)
	if err != nil {
		return nil, err
	}
	how := step{status: status, file: q.File, dryRun: q.DryRun}
	if oplog.OfNamespace(text) {
		op, err := oplog.ParseOpProposal(text)
		if err != nil {
			return nil, fault.Wrap(err, "read %s", q.File)
		}
		m, err := openMembers(ctx, s, q.Registry, op.Namespace)
		if err != nil {
			return nil, err
		}
		defer m.reg.Close()
		return advance(ctx, s, &namespaceProposal{m, op}, how)
	}
	op, err := oplog.ParseProposal(text)
	if err != nil {
		return nil, fault.Wrap(err, "read %s", q.File)
	}
	r, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	return advance(ctx, s, &rootProposal{r, op}, how)
}

// proposal is an operation on the root or a namespace that several keys must agree to.
type proposal interface {
	// judge compares it with the present registry: the keys that agree, including the given one.
	judge(context.Context, trust.PublicKey) (oplog.Agreement, error)
	// mayCommit refuses a commit that the registry's readers would refuse.
	mayCommit(oplog.Agreement, trust.PublicKey) error
	describe() *rye.RootChange
	topic() string // of the question
	file() string  // its default path
	text() string
	approve(context.Context, trust.Signer) error
	commit(context.Context, trust.Signer) error
}

// step is the next step for a proposal.
type step struct {
	status string // afterwards: proposed (and committed at once if possible), approved, committed
	file   string // where the proposal is, or should be written; "" is a name with its position
	dryRun bool
	mend   fault.Hint // the command that says yes; zero: the same with --yes
}

// wouldBe are the statuses of a dry run.
var wouldBe = map[string]string{"committed": "would-commit", "proposed": "would-propose", "approved": "would-approve"}

// advance brings a proposal one step further. It approves it, or commits it if asked to, or if
// a new one needs no other key.
func advance(ctx context.Context, s *custody.Desk, p proposal, how step) (*rye.RootChange, error) {
	signer, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	got, err := p.judge(ctx, signer.Public())
	if err != nil {
		return nil, err
	}
	c := p.describe()
	c.Have, c.Want, c.Complete = got.Have, got.Want, got.Complete()
	c.Agreed, c.Waiting, c.Newcomers = share.Texts(got.Agreed), share.Texts(got.Waiting), share.Texts(got.Newcomers)
	proposed := how.status == "proposed"
	if proposed && got.Complete() {
		how.status = "committed"
	}
	commit := how.status == "committed"
	if commit {
		if err := p.mayCommit(got, signer.Public()); err != nil {
			return c, err
		}
	} else {
		c.File = cmp.Or(how.file, p.file())
	}
	if c.Status = how.status; how.dryRun {
		c.Status = wouldBe[how.status]
		return c, nil
	}
	if err := s.Ask(ctx, agreeQuestion(p, c, signer.Public(), commit, how.mend)); err != nil {
		return nil, err
	}
	if commit {
		return c, p.commit(ctx, signer)
	}
	if err := p.approve(ctx, signer); err != nil {
		return nil, err
	}
	return c, writeProposal(c.File, p.text(), proposed)
}

func agreeQuestion(p proposal, c *rye.RootChange, me trust.PublicKey, commit bool, mend fault.Hint) rye.Question {
	if mend.IsZero() {
		mend = fault.Advice("the same with --yes, if you want this change")
	}
	q := rye.Question{Topic: p.topic(), Text: "Approve this change with the key " + me.String() + "?",
		Lines: c.Changes, Mend: mend}
	if commit {
		q.Text = "Sign this change with the key " + me.String() + " and publish it?"
	}
	return q
}

// readProposal reads the file of a proposal. It may come from anywhere.
func readProposal(path string) (string, error) {
	raw, err := place.Read(path, oplog.MaxProposal)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault.New(fault.NotFound, "read the proposal: %w", err)
	}
	return string(raw), err
}

// writeProposal writes a fresh proposal to a new file, or a further approval over
// the file that it was read from.
func writeProposal(path, text string, fresh bool) error {
	if _, err := os.Lstat(path); fresh && err == nil {
		return fault.New(fault.Conflict, "write the proposal: %s exists already", path).Advise("--out <another file>")
	}
	return place.File(path, []byte(text), 0o644)
}
