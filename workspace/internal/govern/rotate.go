package govern

import (
	"context"
	"maps"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// left is the status of a binding that a rotation does not change.
const left = "left"

// RotatedRoots returns the registries whose root a key holds. A rotation does not change
// a root: its other keys may have to agree.
func RotatedRoots(s *share.Desk, key trust.PublicKey) []string {
	var ids []string
	for _, reg := range s.Trust.Registries() {
		if slices.Contains(reg.Roots, key.Fingerprint()) {
			ids = append(ids, reg.ID)
		}
	}
	return ids
}

// RotatedBindings returns the namespaces of registries where a key is current, with what
// its rotation does there; local leaves the registries alone. With an error, which
// refuses the rotation offline, it returns them too.
func RotatedBindings(s *share.Desk, key trust.PublicKey, local bool) ([]rye.RotatedBinding, error) {
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
		return all, fault.New(fault.Offline, "rotate key %s: registries have to be told", key).Advise("leave out --offline, or rye key rotate --local")
	}
	return all, nil
}

// PatternsToSign returns the patterns of the items that the new key has to sign again: a
// retired key does not count for working files of a namespace that a registry binds.
func PatternsToSign(all []rye.RotatedBinding) []string {
	var patterns []string
	for _, b := range all {
		if b.Status != left {
			patterns = append(patterns, "*:"+b.Namespace+"/*")
		}
	}
	return patterns
}

// addressOf returns the address that the project uses for a registry, where the user agreed
// to that, or else the one in the trust store.
func addressOf(s *share.Desk, reg trust.Registry) string {
	if s.Project != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
			if c, err := share.MayReach(s, name); err == nil && c.ID == reg.ID {
				return c.URL
			}
		}
	}
	return reg.URL
}

// RotateBindings replaces the old key by the new one in each of the namespaces, and says
// so in their status. What an earlier, interrupted rotation did already is not repeated.
func RotateBindings(ctx context.Context, s *share.Desk, pair custody.KeyPair, all []rye.RotatedBinding) error {
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

func rotateBinding(ctx context.Context, s *share.Desk, pair custody.KeyPair, b *rye.RotatedBinding) error {
	reg, err := share.OpenPinned(s, b.URL, b.Registry, nil)
	if err != nil {
		return err
	}
	defer reg.Close()
	s.Say("rotating " + b.Namespace)
	if err := reg.Sync(ctx, b.Namespace); err != nil {
		return err
	}
	if err := addKey(ctx, reg, b.Namespace, pair); err != nil {
		return fault.Wrap(err, "add the new key to %s", b.Namespace)
	}
	if err := retireKey(ctx, reg, b.Namespace, pair); err != nil {
		return fault.Wrap(err, "retire the old key of %s", b.Namespace)
	}
	b.Status, b.Text = "rotated", "the new key was added, the old one retired"
	return share.UpdateTrust(ctx, s, reg, b.Namespace)
}

// addKey publishes the new key with its proof, signed by the old key.
func addKey(ctx context.Context, reg *registry.Registry, ns string, pair custody.KeyPair) error {
	st, err := reg.View(ns)
	if err != nil || isActive(st, pair.New) {
		return err
	}
	proof, err := registry.Prove(ctx, pair.New, st.Registry, ns, st.Genesis)
	if err != nil {
		return err
	}
	_, err = registry.ChangeKeys(ctx, reg, ns, share.By(pair.Old), false,
		registry.Op{Kind: registry.OpKeyAdd, Keys: []registry.KeyGrant{{Public: pair.New.Public(), Proof: proof}}})
	return err
}

// retireKey retires the old key, signed by the new one.
func retireKey(ctx context.Context, reg *registry.Registry, ns string, pair custody.KeyPair) error {
	st, err := reg.View(ns)
	if err != nil || !isActive(st, pair.Old) {
		return err
	}
	_, err = registry.ChangeKeys(ctx, reg, ns, share.By(pair.New), false,
		registry.Op{Kind: registry.OpKeyRetire, Key: pair.Old.Public().Fingerprint()})
	return err
}

func isActive(st registry.State, key trust.Signer) bool {
	k, ok := st.Key(key.Public().Fingerprint())
	return ok && k.State == registry.KeyActive
}
