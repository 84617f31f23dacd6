package share

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
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// RegistryRoot says who holds the root of a registry, as last verified or, unless
// this is offline, as it is now.
func RegistryRoot(ctx context.Context, s *Desk, q rye.RegistryRequest) (*rye.RootInfo, error) {
	w, err := openRoot(ctx, s, q.Registry, !s.Offline)
	if err != nil {
		return nil, err
	}
	defer w.close()
	info := &rye.RootInfo{Registry: w.name, URL: w.reg.URL(), ID: w.root.ID.String(), Name: w.root.Name, Seq: w.root.Seq,
		Claims: string(w.root.Claims), Threshold: w.root.Threshold}
	for _, k := range w.root.Keys {
		info.Keys = append(info.Keys, rye.RootKey{Fingerprint: k.String(), SSH: k.Authorized(), Own: w.s.Trust.IsOwn(k)})
	}
	return info, nil
}

// ChangeRoot changes who holds the root of a registry, or how many must agree. Where
// the signing key's word is enough the change is made; otherwise it is written to a
// file, which the others approve and one of them commits.
func ChangeRoot(ctx context.Context, s *Desk, q rye.RootChangeRequest) (*rye.RootChange, error) {
	w, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer w.close()
	keys, err := w.newKeys(q)
	if err != nil {
		return nil, err
	}
	op, err := w.root.NewRoots(cmp.Or(q.Threshold, w.root.Threshold), keys...)
	if err != nil {
		return nil, mendThreshold(err, w.root, len(keys))
	}
	if op, err = w.reg.Propose(ctx, op); err != nil {
		return nil, err
	}
	return w.advance(ctx, op, rootStep{file: q.Out, fresh: true, dryRun: q.DryRun})
}

// ApproveRoot adds the signing key's agreement to a proposal, in its file.
func ApproveRoot(ctx context.Context, s *Desk, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return withProposal(ctx, s, q, rootStep{dryRun: q.DryRun})
}

// CommitRoot signs a proposal that enough keys agreed to and publishes it.
func CommitRoot(ctx context.Context, s *Desk, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return withProposal(ctx, s, q, rootStep{commit: true, dryRun: q.DryRun})
}

func withProposal(ctx context.Context, s *Desk, q rye.RootProposalRequest, step rootStep) (*rye.RootChange, error) {
	op, err := readProposal(q.File)
	if err != nil {
		return nil, err
	}
	w, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer w.close()
	step.file = q.File
	return w.advance(ctx, op, step)
}

// rootWork is one root that is looked at or changed.
type rootWork struct {
	s      *Desk
	name   string
	reg    *registry.Registry
	root   registry.Root
	signer trust.Signer // nil until it is needed
}

func (w *rootWork) close() { w.reg.Close() }

// openRoot opens a registry of the project, brought up to date when fresh.
func openRoot(ctx context.Context, s *Desk, name string, fresh bool) (*rootWork, error) {
	w := &rootWork{s: s}
	var err error
	if w.name, err = s.Project.OnlyRegistry(name); err == nil {
		if fresh && s.Offline {
			err = fault.New(fault.Offline, "root of registry %s: it has to be fetched before it is changed", w.name).Advise("leave out --offline")
		} else if fresh {
			w.reg, err = sync(ctx, s, w.name)
		} else {
			w.reg, err = openRegistry(s, w.name, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	if w.root, err = w.reg.Root(ctx); err == nil {
		err = followRoots(s, w.reg.ID(), w.root)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// followRoots keeps in the trust store which keys hold a root, after its log, which
// begins at the pinned genesis, was verified to say so.
func followRoots(s *Desk, id objects.Digest, root registry.Root) error {
	var now []objects.Fingerprint
	for _, k := range root.Keys {
		now = append(now, k.Fingerprint())
	}
	pinned, ok := s.Trust.Registry(id.String())
	if !ok || sameSet(pinned.Roots, now) {
		return nil
	}
	return trust.Update(s.TrustPath(), func(st *trust.Store) error { return st.SetRoots(id.String(), now...) })
}

func sameSet(a, b []objects.Fingerprint) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return len(a) == len(b)
}

// newKeys returns the root keys after what q asks for.
func (w *rootWork) newKeys(q rye.RootChangeRequest) ([]trust.PublicKey, error) {
	keys := slices.Clone(w.root.Keys)
	for _, text := range q.Remove {
		i := slices.IndexFunc(keys, func(k trust.PublicKey) bool { return k.String() == text || k.Authorized() == firstTwo(text) })
		if i < 0 {
			return nil, fault.New(fault.NotFound, "remove %s: it is not a root key", words.Brief(text)).Mend("rye registry root show")
		}
		keys = slices.Delete(keys, i, i+1)
	}
	for _, text := range q.Add {
		k, err := custody.PublicKey(w.s.Host, w.s.Trust, text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys, k) {
			return nil, fault.New(fault.Untrusted, "add %s: it is a root key already, and one key is one holder, whatever names it has", k).
				Mend("rye registry root show")
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// rootStep is what is to be done with a proposal.
type rootStep struct {
	file   string // where it is, or is to be written; "" names one after its position
	fresh  bool   // it was made just now: commit it at once if that can be
	commit bool
	dryRun bool
}

// advance brings a proposal one step further: approve it, and commit it when that
// was asked for or nothing more is missing of a fresh one.
func (w *rootWork) advance(ctx context.Context, op registry.RootOp, step rootStep) (*rye.RootChange, error) {
	var err error
	if w.signer, err = w.s.Keys.Signer(ctx); err != nil {
		return nil, err
	}
	me := w.signer.Public()
	if err := w.mayAgree(op, me); err != nil {
		return nil, err
	}
	got, err := w.root.Agreement(op, me)
	if err != nil {
		return nil, err
	}
	c := w.describe(op, got)
	commit := step.commit || step.fresh && got.Complete()
	if commit {
		if err := w.mayCommit(op, got, me); err != nil {
			return c, err
		}
	}
	c.Status = statusOf(step, commit)
	if !commit {
		if c.File = step.file; c.File == "" {
			c.File = fmt.Sprintf("registry-root-%d.txt", op.Seq)
		}
	}
	if step.dryRun {
		return c, nil
	}
	if err := w.s.Ask(ctx, w.question(c, commit)); err != nil {
		return nil, err
	}
	if commit {
		if err := w.reg.CommitRoot(ctx, by(w.signer), op.Without(me.Fingerprint())); err != nil {
			return nil, err
		}
		return c, w.followed(ctx)
	}
	if err := op.Approve(ctx, w.signer); err != nil {
		return nil, err
	}
	return c, writeProposal(c.File, op, step.fresh)
}

// followed notes the new root keys after a commit.
func (w *rootWork) followed(ctx context.Context) error {
	root, err := w.reg.Root(ctx)
	if err != nil {
		return err
	}
	return followRoots(w.s, w.reg.ID(), root)
}

func statusOf(step rootStep, commit bool) string {
	status := "approved"
	switch {
	case commit:
		status = "committed"
	case step.fresh:
		status = "proposed"
	}
	if step.dryRun {
		return map[string]string{"committed": "would-commit", "proposed": "would-propose", "approved": "would-approve"}[status]
	}
	return status
}

// mayAgree refuses a key whose agreement means nothing here.
func (w *rootWork) mayAgree(op registry.RootOp, me trust.PublicKey) error {
	if slices.Contains(w.root.Keys, me) || op.Kind == registry.OpRoots && slices.Contains(op.Keys, me) {
		return nil
	}
	return fault.New(fault.Untrusted, "root of registry %s: %s is not a root key, and does not become one", w.name, me).
		Advise("RYE_KEY=<name of a root key>, and the same again")
}

// mayCommit refuses what the readers of the registry would refuse. One key that
// approved and signs is one agreement.
func (w *rootWork) mayCommit(op registry.RootOp, got registry.Agreement, me trust.PublicKey) error {
	switch {
	case !slices.Contains(w.root.Keys, me):
		return fault.New(fault.Untrusted, "root of registry %s: signed by %s, which is not a root key yet", w.name, me).
			Advise("let one of the present root keys commit it")
	case got.Have < got.Want:
		return fault.New(fault.Untrusted, "root of registry %s: %d of %d root keys agreed, %d must, and one key counts once", w.name, got.Have, len(w.root.Keys), got.Want).
			Advise("rye registry root approve <file>, by another of them")
	case len(got.Newcomers) > 0:
		return fault.New(fault.Untrusted, "root of registry %s: %s becomes a root key and has not agreed", w.name, got.Newcomers[0]).
			Advise("rye registry root approve <file>, by whoever holds it")
	}
	return nil
}

func (w *rootWork) describe(op registry.RootOp, got registry.Agreement) *rye.RootChange {
	c := &rye.RootChange{Registry: w.name, ID: w.root.ID.String(), Seq: op.Seq, Have: got.Have, Want: got.Want, Complete: got.Complete(),
		Changes: w.root.Describe(op)}
	if op.Kind == registry.OpRoots {
		c.Threshold = op.Threshold
		for _, k := range op.Keys {
			c.Keys = append(c.Keys, k.String())
		}
	}
	for _, list := range []struct {
		from []objects.Fingerprint
		into *[]string
	}{{got.Agreed, &c.Agreed}, {got.Waiting, &c.Waiting}, {got.Newcomers, &c.Newcomers}} {
		for _, fp := range list.from {
			*list.into = append(*list.into, fp.String())
		}
	}
	return c
}

func (w *rootWork) question(c *rye.RootChange, commit bool) rye.Question {
	q := rye.Question{Topic: "root of registry " + w.name, Text: "Agree to this change with the key " + w.signer.Public().String() + "?",
		Lines: c.Changes, Mend: fault.Advice("the same with --yes, when this is what you want")}
	if commit {
		q.Text = "Sign this change with the key " + w.signer.Public().String() + " and publish it?"
	}
	return q
}

// mendThreshold names the way out when fewer keys would be left than must agree.
func mendThreshold(err error, root registry.Root, keys int) error {
	if fault.Is(err, fault.Usage) && keys > 0 && keys < root.Threshold {
		return fault.New(fault.Usage, "%w", err).Advise("--threshold %d, or less", keys)
	}
	return err
}

// readProposal reads a proposal's file, which anybody may have written.
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

// firstTwo returns the type and the base64 of a public key line.
func firstTwo(line string) string {
	n := 0
	for i, c := range line {
		if c == ' ' {
			if n++; n == 2 {
				return line[:i]
			}
		}
	}
	return line
}
