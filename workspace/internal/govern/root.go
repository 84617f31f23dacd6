package govern

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Root describes who holds the root of a registry: as it is now, or offline as it was
// last verified.
func Root(ctx context.Context, s *share.Desk, q rye.RegistryRequest) (*rye.RootInfo, error) {
	r, err := openRoot(ctx, s, q.Registry, !s.Offline)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	info := &rye.RootInfo{Registry: r.name, URL: r.reg.URL(), ID: r.ID.String(), Name: r.Name, Seq: r.Seq,
		Claims: string(r.Claims), Threshold: r.Threshold}
	for _, k := range r.Keys {
		info.Keys = append(info.Keys, rye.RootKey{Fingerprint: k.String(), SSH: k.Authorized(), Own: s.Trust.IsOwn(k)})
	}
	return info, nil
}

// ChangeRoot changes who holds the root of a registry, or how many must agree. Where
// the agreement of the signing key is enough the change is made; otherwise it is written
// to a file, which the others approve and one of them commits.
func ChangeRoot(ctx context.Context, s *share.Desk, q rye.RootChangeRequest) (*rye.RootChange, error) {
	r, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	keys, err := r.newKeys(q)
	if err != nil {
		return nil, err
	}
	op, err := r.NewRoots(cmp.Or(q.Threshold, r.Threshold), keys...)
	if err != nil {
		return nil, mendThreshold(err, r.Threshold, len(keys))
	}
	if op, err = r.reg.Propose(ctx, op); err != nil {
		return nil, err
	}
	return r.advance(ctx, op, rootStep{status: "proposed", file: q.Out, dryRun: q.DryRun})
}

// ApproveRoot adds the signing key's agreement to a proposal, in its file.
func ApproveRoot(ctx context.Context, s *share.Desk, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return withProposal(ctx, s, q, "approved")
}

// CommitRoot signs a proposal that enough keys agreed to and publishes it.
func CommitRoot(ctx context.Context, s *share.Desk, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return withProposal(ctx, s, q, "committed")
}

func withProposal(ctx context.Context, s *share.Desk, q rye.RootProposalRequest, status string) (*rye.RootChange, error) {
	op, err := readProposal(q.File)
	if err != nil {
		return nil, err
	}
	r, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	return r.advance(ctx, op, rootStep{status: status, file: q.File, dryRun: q.DryRun})
}

// root is the root of an open registry of the project.
type root struct {
	registry.Root
	s    *share.Desk
	name string // of the registry in this project
	reg  *registry.Registry
}

// openRoot opens a registry of the project, brought up to date when fresh.
func openRoot(ctx context.Context, s *share.Desk, name string, fresh bool) (*root, error) {
	name, err := s.Project.OnlyRegistry(name)
	if err != nil {
		return nil, err
	}
	r := &root{s: s, name: name}
	switch {
	case !fresh:
		r.reg, err = share.Open(s, name, nil)
	case s.Offline:
		err = fault.New(fault.Offline, "root of registry %s: it has to be fetched before it is changed", name).Advise("leave out --offline")
	default:
		r.reg, err = share.OpenSynced(ctx, s, name)
	}
	if err != nil {
		return nil, err
	}
	if r.Root, err = r.readRoot(ctx); err != nil {
		r.reg.Close()
		return nil, err
	}
	return r, nil
}

// readRoot reads the root as it was last synced, and writes its keys into the trust store.
func (r *root) readRoot(ctx context.Context) (registry.Root, error) {
	now, err := r.reg.Root(ctx)
	if err != nil {
		return now, err
	}
	return now, share.UpdateRoots(r.s, r.reg.ID(), now)
}

// newKeys returns the root keys after the change that q asks for.
func (r *root) newKeys(q rye.RootChangeRequest) ([]trust.PublicKey, error) {
	keys := slices.Clone(r.Keys)
	for _, text := range q.Remove {
		line, _ := trust.ParsePublicKey(text) // the zero key, which is no root key, for a fingerprint
		i := slices.IndexFunc(keys, func(k trust.PublicKey) bool { return k == line || k.String() == text })
		if i < 0 {
			return nil, fault.New(fault.NotFound, "remove %s: it is not a root key", words.Brief(text)).Advise("rye registry root show lists them")
		}
		keys = slices.Delete(keys, i, i+1)
	}
	for _, text := range q.Add {
		k, err := custody.PublicKey(r.s.Host, r.s.Trust, text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys, k) {
			return nil, fault.New(fault.Untrusted, "add %s: it is a root key already, and one key is one holder, whatever names it has", k).
				Advise("rye registry root show lists them")
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// rootStep is what is to be done with a proposal.
type rootStep struct {
	status string // when it is done: proposed (and committed at once if that can be), approved, committed
	file   string // where the proposal is, or is to be written; "" names one after its position
	dryRun bool
	mend   fault.Hint // what says yes; zero: the same with --yes
}

// advance brings a proposal one step further: it approves it, or commits it when that was
// asked for, or when nothing more is missing of a new one.
func (r *root) advance(ctx context.Context, op registry.RootOp, step rootStep) (*rye.RootChange, error) {
	signer, err := r.s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	me := signer.Public()
	if err := r.mayAgree(op, me); err != nil {
		return nil, err
	}
	got, err := r.Agreement(op, me)
	if err != nil {
		return nil, err
	}
	c := r.describe(op, got)
	proposed := step.status == "proposed"
	if proposed && got.Complete() {
		step.status = "committed"
	}
	commit := step.status == "committed"
	if commit {
		if err := r.mayCommit(op, got, me); err != nil {
			return c, err
		}
	} else {
		c.File = cmp.Or(step.file, fmt.Sprintf("registry-root-%d.txt", op.Seq))
	}
	if c.Status = step.status; step.dryRun {
		c.Status = wouldBe[step.status]
		return c, nil
	}
	if err := r.s.Ask(ctx, r.question(c, me, commit, step.mend)); err != nil {
		return nil, err
	}
	if commit {
		return c, r.commit(ctx, op, signer)
	}
	if err := op.Approve(ctx, signer); err != nil {
		return nil, err
	}
	return c, writeProposal(c.File, op, proposed)
}

// wouldBe are the statuses of a dry run.
var wouldBe = map[string]string{"committed": "would-commit", "proposed": "would-propose", "approved": "would-approve"}

// commit publishes an operation of the root and follows it in the trust store.
func (r *root) commit(ctx context.Context, op registry.RootOp, signer trust.Signer) error {
	if err := r.reg.CommitRoot(ctx, share.By(signer), op.Without(signer.Public().Fingerprint())); err != nil {
		return err
	}
	_, err := r.readRoot(ctx)
	return err
}

// mayAgree refuses a key that neither holds the root nor is to hold it: its agreement
// would count for nothing.
func (r *root) mayAgree(op registry.RootOp, me trust.PublicKey) error {
	if slices.Contains(r.Keys, me) || op.Kind == registry.OpRoots && slices.Contains(op.Keys, me) {
		return nil
	}
	return fault.New(fault.Untrusted, "root of registry %s: %s is not a root key, and does not become one", r.name, me).
		Advise("RYE_KEY=<name of a root key>, and the same again")
}

// mayCommit refuses what the readers of the registry would refuse. One key that
// approved and signs is one agreement.
func (r *root) mayCommit(op registry.RootOp, got registry.Agreement, me trust.PublicKey) error {
	switch {
	case !slices.Contains(r.Keys, me):
		return fault.New(fault.Untrusted, "root of registry %s: signed by %s, which is not a root key yet", r.name, me).
			Advise("let one of the present root keys commit it")
	case got.Have < got.Want:
		return fault.New(fault.Untrusted, "root of registry %s: %d of %d root keys agreed, %d must, and one key counts once",
			r.name, got.Have, len(r.Keys), got.Want).
			Advise("rye registry root approve <file>, by another of them")
	case len(got.Newcomers) > 0:
		return fault.New(fault.Untrusted, "root of registry %s: %s becomes a root key and has not agreed", r.name, got.Newcomers[0]).
			Advise("rye registry root approve <file>, by whoever holds it")
	}
	return nil
}

func (r *root) describe(op registry.RootOp, got registry.Agreement) *rye.RootChange {
	c := &rye.RootChange{Registry: r.name, ID: r.ID.String(), Seq: op.Seq, Have: got.Have, Want: got.Want, Complete: got.Complete(),
		Changes: r.Describe(op)}
	if op.Kind == registry.OpRoots {
		c.Threshold, c.Keys = op.Threshold, share.Texts(op.Keys)
	}
	c.Agreed, c.Waiting, c.Newcomers = share.Texts(got.Agreed), share.Texts(got.Waiting), share.Texts(got.Newcomers)
	return c
}

func (r *root) question(c *rye.RootChange, me trust.PublicKey, commit bool, mend fault.Hint) rye.Question {
	if mend.IsZero() {
		mend = fault.Advice("the same with --yes, when this is what you want")
	}
	q := rye.Question{Topic: "root of registry " + r.name, Text: "Agree to this change with the key " + me.String() + "?",
		Lines: c.Changes, Mend: mend}
	if commit {
		q.Text = "Sign this change with the key " + me.String() + " and publish it?"
	}
	return q
}

// mendThreshold names the way out when fewer keys would be left than must agree.
func mendThreshold(err error, threshold, keys int) error {
	if fault.Is(err, fault.Usage) && keys > 0 && keys < threshold {
		return fault.New(fault.Usage, "%w", err).Advise("--threshold %d, or less", keys)
	}
	return err
}

// readProposal reads the file of a proposal. It may come from anywhere.
func readProposal(path string) (registry.RootOp, error) {
	raw, err := place.Read(path, registry.MaxProposal)
	if errors.Is(err, fs.ErrNotExist) {
		return registry.RootOp{}, fault.New(fault.NotFound, "read the proposal: %w", err)
	}
	if err != nil {
		return registry.RootOp{}, err
	}
	op, err := registry.ParseProposal(string(raw))
	if err != nil {
		return op, fault.Wrap(err, "read %s", path)
	}
	return op, nil
}

// writeProposal writes a fresh proposal to a new file, or a further approval over
// the file that it was read from.
func writeProposal(path string, op registry.RootOp, fresh bool) error {
	if _, err := os.Lstat(path); fresh && err == nil {
		return fault.New(fault.Conflict, "write the proposal: %s is there already", path).Advise("--out <another file>")
	}
	return place.File(path, []byte(op.Message()), 0o644)
}
