package author

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// GrantPatch lets exactly the bytes that a contributor signed count for an item in this directory.
// Only an owner of the namespace grants that, or the user of a machine that signs nothing, such as
// a build machine. The version that the change is based on comes from the user's record or a
// registry's log: without one there is no grant, because its denial has to end the grant.
func GrantPatch(ctx context.Context, s *custody.Desk, q rye.TrustPatchRequest, published Published) (*rye.TrustChange, error) {
	c := &rye.TrustChange{Status: "may patch", Subject: q.Ref.String(), Where: []string{"project " + s.Project.Project}, DryRun: q.DryRun}
	if q.Remove {
		c.Status = "may no longer patch"
		return c, ungrantPatches(s, q)
	}
	d, key, err := contribution(ctx, s, q)
	if err != nil {
		return nil, err
	}
	d.base, err = baseOf(ctx, s, s.Stack.Project, d.history(), published)
	b := d.base
	switch {
	case err != nil:
		return nil, err
	case b == nil || b.from == "git":
		return nil, fault.New(fault.NotFound, "trust patch %s: neither your record nor a registry has an owner's version that it changes", q.Ref).Advise("at a terminal: rye review %s", q.Ref)
	case b.denied != nil:
		return nil, fault.New(fault.Revoked, "trust patch %s: it changes a version that was denied: %w", q.Ref, b.denied).Advise("at a terminal: rye review %s --accept-denied", q.Ref)
	}
	g := s.Site().Patch(trust.Contribution{Ref: q.Ref, Sum: d.item.Sum, Base: b.item.Sum, Key: key})
	c.Detail = d.item.Sum.String() + " by " + key.String()
	if q.DryRun {
		return c, nil
	}
	if err := askPatch(ctx, s, q, d); err != nil {
		return nil, err
	}
	return c, trust.Update(s.TrustPath(), func(st *trust.Store) error {
		return st.GrantAgain(s.Now(), s.Stack.Declared, g)
	})
}

// contribution returns the working file, or the manifest of the bundle, and its signer's key, if
// the user may grant it.
func contribution(ctx context.Context, s *custody.Desk, q rye.TrustPatchRequest) (*reviewed, trust.PublicKey, error) {
	none := trust.PublicKey{}
	ns := q.Ref.ID.Namespace()
	refuse := func(code fault.Code, format string, args ...any) *fault.Error {
		return fault.New(code, "trust patch %s: "+format, append([]any{q.Ref}, args...)...)
	}
	d, err := contributed(ctx, s, q.Ref)
	switch {
	case err != nil:
		return nil, none, err
	case d == nil:
		return nil, none, refuse(fault.NotFound, "no file of it here").Advise("rye list --space project")
	case trust.Reserved(ns) || ns == objects.LocalNamespace:
		return nil, none, refuse(fault.Untrusted, "%s/ has no owners", ns).Advise("rye trust explain %s", q.Ref)
	case !s.Trust.Accepted(s.Site()):
		return nil, none, refuse(fault.Untrusted, "you have not accepted this directory").Mend("rye trust")
	case !maySayOwner(s, ns):
		return nil, none, refuse(fault.Untrusted, "your key does not own %s/ here", ns).Advise("an owner of %s/ signs the change: rye review %s", ns, q.Ref)
	case d.by == nil || d.by.Digest != d.item.Digest:
		return nil, none, refuse(fault.Integrity, "no signature covers the file as it is").Advise("at a terminal: rye review %s", q.Ref)
	case q.Digest != "" && q.Digest != d.item.Sum.String():
		return nil, none, refuse(fault.Integrity, "the file has %s, and not the digest that you gave", d.item.Sum)
	}
	text := q.Key
	if text == "" {
		text = d.by.Key.String()
	}
	key, err := custody.PublicKey(s.Host, s.Trust, text)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, none, refuse(fault.NotFound, "its signer's key %s is not known here", d.by.Key).
			Advise("ask the signer for it (rye key show), then rye trust patch %s --key 'ssh-ed25519 AAAA…'; or rye review %[1]s", q.Ref)
	case err != nil:
		return nil, none, err
	case key.Fingerprint() != d.by.Key:
		return nil, none, refuse(fault.Untrusted, "it is signed by %s, not by %s", d.by.Key, key)
	case s.Trust.IsOwn(key):
		return nil, none, refuse(fault.Untrusted, "it is your own change").Advise("another owner of %s/ signs it: rye review %s", ns, q.Ref)
	}
	return d, key, nil
}

// contributed returns the working file of an item, or the complete bundle, as a change; nil for
// none.
func contributed(ctx context.Context, s *custody.Desk, ref objects.Ref) (*reviewed, error) {
	d := &reviewed{ref: ref}
	if ref.Kind == objects.Bundle {
		dir, ok := look.BundleTarget(s.Stack.Project, rye.Target(ref.String()))
		if !ok {
			return nil, nil
		}
		b, err := readBundle(ctx, s.Stack.Project, dir)
		if err != nil {
			return nil, err
		}
		d.path, d.item, d.bundle = manifestIn(dir), b.manifest.Item(), &reviewedBundle{dir: dir, now: b.manifest}
	} else {
		f, ok, err := s.Stack.In(ctx, objects.Project, ref)
		if err != nil || !ok || f.Item == nil || f.Registry != "" {
			return nil, err
		}
		d.path, d.item = f.Item.Path, f.Item
	}
	d.Ref, d.Digest, d.State = ref.String(), d.item.Digest.String(), objects.Patched
	d.signedBy(d.item.Signature)
	return d, nil
}

// maySayOwner reports whether the user may grant patches of a namespace here: as an owner, or
// because they hold no key in use.
func maySayOwner(s *custody.Desk, ns string) bool {
	own := slices.DeleteFunc(s.Trust.Own(), func(o trust.OwnKey) bool { return o.Retired != "" })
	return len(own) == 0 || slices.ContainsFunc(own, func(o trust.OwnKey) bool { return s.Trust.Owns(o.Key, ns, s.Site()) })
}

// askPatch shows the change. A digest that the user gave was compared before, so --yes answers.
func askPatch(ctx context.Context, s *custody.Desk, q rye.TrustPatchRequest, d *reviewed) error {
	r := &review{signing: &signing{Desk: s, layer: s.Stack.Project, scope: s.Stack.Scope(s.Stack.Project), now: s.Now()}}
	lines, err := r.linesOf(ctx, d)
	if err == nil {
		lines, err = readable(append(lines, "file         "+d.item.Sum.String()))
	}
	if err != nil {
		return fault.Wrap(err, "trust patch %s", q.Ref).Advise("at a terminal: rye review %s", q.Ref)
	}
	return s.Ask(ctx, rye.Question{Topic: "let it patch " + q.Ref.String(), Text: "Let these bytes by another signer count here, also with --locked?", Lines: lines,
		Person: q.Digest == "", Mend: fault.Command("rye trust patch %s --digest %s --yes", q.Ref, d.item.Sum)})
}

// ungrantPatches takes back every patch grant of an item in this directory.
func ungrantPatches(s *custody.Desk, q rye.TrustPatchRequest) error {
	remove := func(st *trust.Store) error {
		n := st.Ungrant(func(g trust.Grant) bool {
			c, ok := g.Contribution()
			return ok && g.Site == s.Site() && c.Ref == q.Ref
		})
		if n == 0 {
			return fault.New(fault.NotFound, "trust patch %s: no patch of it is granted here", q.Ref).Advise("rye trust list shows the grants")
		}
		return nil
	}
	if q.DryRun {
		st, err := trust.LoadStore(s.TrustPath())
		if err != nil {
			return err
		}
		return remove(st)
	}
	return trust.Update(s.TrustPath(), remove)
}

// keepBase records the owner's version that a patch changes, if the record lacks one: its denial
// has to reach the patch.
func (g *signing) keepBase(ctx context.Context, d *draft) error {
	if g.layer.Store == "" {
		return nil
	}
	recorded, err := g.Stack.OwnersVersion(ctx, g.layer, d.ref, d.path)
	if recorded != nil || err != nil {
		return err
	}
	b, err := gitBase(g.Desk, g.layer, itemHistory(d.ref, d.path))
	if b == nil || err != nil {
		return err
	}
	return keep(ctx, g.Desk, g.layer, []objects.Ref{d.ref}, []store.Change{{Path: d.path, Data: b.item.Raw}})
}
