package govern

import (
	"context"
	"maps"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// left is the status of a binding that a rotation does not change.
const left = "left"

// RotatedRoots returns the registries whose root a key holds. A rotation does not change
// a root: its other keys may have to agree.
func RotatedRoots(s *custody.Desk, key trust.PublicKey) []string {
	var ids []string
	for _, reg := range s.Trust.Registries() {
		if slices.Contains(reg.Roots, key.Fingerprint()) {
			ids = append(ids, reg.ID)
		}
	}
	return ids
}

// RotatedBindings returns the namespaces of registries where a key is current, with the effect
// of its rotation there; local leaves the registries alone. It returns them also beside the
// error that refuses the rotation offline.
func RotatedBindings(s *custody.Desk, key trust.PublicKey, local bool) ([]rye.RotatedBinding, error) {
	var all []rye.RotatedBinding
	for _, b := range s.Trust.Bindings() {
		if !slices.Contains(b.Keys, trust.BoundKey{Key: key, State: trust.Current}) {
			continue
		}
		reg, _ := s.Trust.Registry(b.Registry)
		r := rye.RotatedBinding{Namespace: b.Namespace, Registry: reg.ID, URL: addressOf(s, reg),
			Status: "would-rotate", Text: "add the new key, retire the old one"}
		if local {
			r.Status, r.Text = left, "the registry still names the old key; rotate without --local"
		}
		all = append(all, r)
	}
	if len(all) > 0 && !local && s.Offline {
		return all, fault.New(fault.Offline, "rotate key %s: the registries must be updated", key).Advise("leave out --offline, or use rye key rotate --local")
	}
	return all, nil
}

// PatternsToSign returns the patterns of the items that the new key has to sign again. A
// retired key is not trusted for working files of a namespace that a registry binds.
func PatternsToSign(all []rye.RotatedBinding) []string {
	var patterns []string
	for _, b := range all {
		if b.Status != left {
			patterns = append(patterns, "*:"+b.Namespace+"/*")
		}
	}
	return patterns
}

// addressOf returns the address that the project uses for a registry, where the user agreed to
// it, or else the one in the trust store.
func addressOf(s *custody.Desk, reg trust.Registry) string {
	if s.Project != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
			if c, err := share.MayReach(s, name); err == nil && c.ID == reg.ID {
				return c.URL
			}
		}
	}
	return reg.URL
}

// RotateBindings replaces the old key by the new one in each of the namespaces, and sets their
// status. It skips the completed steps of an earlier, interrupted rotation.
func RotateBindings(ctx context.Context, s *custody.Desk, pair custody.KeyPair, all []rye.RotatedBinding) error {
	for i := range all {
		if all[i].Status == left {
			continue
		}
		if err := rotateBinding(ctx, s, pair, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

func rotateBinding(ctx context.Context, s *custody.Desk, pair custody.KeyPair, b *rye.RotatedBinding) error {
	reg, err := share.OpenPinned(s, b.URL, b.Registry, nil)
	if err != nil {
		return err
	}
	defer reg.Close()
	s.Say("rotating " + b.Namespace)
	if err := reg.Sync(ctx, b.Namespace); err != nil {
		return err
	}
	r := rotating{s, reg, b.Namespace, pair}
	if err := r.addKey(ctx); err != nil {
		return fault.Wrap(err, "add the new key to %s", b.Namespace)
	}
	b.Status, b.Text = "rotated", "the new key was added, the old one retired"
	file, err := r.retireKey(ctx)
	if err != nil {
		return fault.Wrap(err, "retire the old key of %s", b.Namespace)
	}
	if file != "" {
		b.Text = "the new key was added; the old one is retired as soon as others approve: rye registry approve " + file
	}
	return share.UpdateTrust(ctx, s, reg, b.Namespace)
}

// rotating is a namespace where one key replaces another.
type rotating struct {
	s    *custody.Desk
	reg  *registry.Registry
	ns   string
	pair custody.KeyPair
}

// addKey publishes the new key with its proof, signed by the old key. Where others must agree
// it leaves a proposal for them and stops. Until then the old key stays the signing key, and
// the rotation continues when it is called again.
func (r rotating) addKey(ctx context.Context) error {
	st, err := r.reg.View(r.ns)
	if err != nil || isActive(st, r.pair.New) {
		return err
	}
	proof, err := oplog.Prove(ctx, r.pair.New, st.Registry, r.ns, st.Genesis)
	if err != nil {
		return err
	}
	op := oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: r.pair.New.Public(), Proof: proof}}}
	root, err := r.reg.Root(ctx)
	if err != nil {
		return err
	}
	if !st.NeedsOthers(root, op, r.pair.Old.Public()) {
		_, err = r.reg.ChangeKeys(ctx, r.ns, share.By(r.s, r.pair.Old), false, op)
		return err
	}
	file, err := r.propose(ctx, op, r.pair.Old)
	if err != nil {
		return err
	}
	return fault.New(fault.Denied, "%d keys of %s must agree to the new key; until then the old one signs", st.Threshold, r.ns).
		Advise("send %s to the others, for rye registry approve and commit; then repeat rye key rotate", file)
}

// retireKey retires the old key, signed by the new one. Where more than these two must agree it
// leaves a proposal for the others, and returns its file.
func (r rotating) retireKey(ctx context.Context) (file string, err error) {
	st, err := r.reg.View(r.ns)
	if err != nil || !isActive(st, r.pair.Old) {
		return "", err
	}
	op := oplog.Op{Kind: oplog.OpKeyRetire, Key: r.pair.Old.Public().Fingerprint()}
	root, err := r.reg.Root(ctx)
	if err != nil {
		return "", err
	}
	if !st.NeedsOthers(root, op, r.pair.New.Public()) {
		_, err = r.reg.ChangeKeys(ctx, r.ns, share.By(r.s, r.pair.New), false, op)
		return "", err
	}
	if st.Threshold > 2 {
		return r.propose(ctx, op, r.pair.New, r.pair.Old)
	}
	if op, err = r.reg.ProposeOp(ctx, r.ns, r.pair.New.Public(), op); err != nil {
		return "", err
	}
	if err := op.Approve(ctx, r.pair.Old); err != nil {
		return "", err
	}
	_, err = r.reg.CommitOp(ctx, share.By(r.s, r.pair.New), op)
	return "", err
}

// propose writes a proposal that these keys agree to, and returns its file. It keeps an
// existing file: others may have approved it meanwhile.
func (r rotating) propose(ctx context.Context, op oplog.Op, by ...trust.Signer) (string, error) {
	op, err := r.reg.ProposeOp(ctx, r.ns, by[0].Public(), op)
	if err != nil {
		return "", err
	}
	for _, k := range by {
		if err := op.Approve(ctx, k); err != nil {
			return "", err
		}
	}
	file := proposalName(r.ns, op.Seq)
	if err := writeProposal(file, op.Proposal(), true); !fault.Is(err, fault.Conflict) {
		return file, err
	}
	return file, nil
}

func isActive(st oplog.State, key trust.Signer) bool {
	k, ok := st.Key(key.Public().Fingerprint())
	return ok && k.State == oplog.KeyActive
}
