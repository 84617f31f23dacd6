package trust

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Patch tells whether a signature counts although its key does not own the item's namespace.
// A patch is for the working files of one project. It claims nothing, and it is never
// published or locked as an owner's item.
type Patch string

// The kinds of patches.
const (
	NoPatch      Patch = ""        // an owner of the namespace signed
	OwnPatch     Patch = "own"     // the user signed, in a namespace that others own
	GrantedPatch Patch = "granted" // a contributor signed, and a grant names the contributor and the bytes
)

// Patched returns the kind of patch that the item is.
func (v Verified) Patched() Patch { return v.must().patch }

// Patched returns the kind of patch that the bundle's manifest is.
func (b Bundle) Patched() Patch { return b.patch }

// Contribution is the content of a patch grant: the bytes of one contributor that count for one
// item, and the owner's version that they change.
type Contribution struct {
	Ref  objects.Ref
	Sum  objects.Digest // of the whole file
	Base objects.Digest // of the whole file that an owner signed
	Key  PublicKey
}

// Patch returns the grant for a contribution in the directory.
func (d Site) Patch(c Contribution) Grant {
	return Grant{Site: d, Kind: GrantPatch, Value: c.Ref.String() + " " + c.Sum.String() + " " + c.Base.String() + " " + c.Key.Authorized()}
}

// Contribution returns the content of a patch grant; false for another kind.
func (g Grant) Contribution() (c Contribution, ok bool) {
	if g.Kind != GrantPatch {
		return c, false
	}
	c, err := parseContribution(g.Value)
	return c, err == nil
}

// parseContribution reads the value of a patch grant in its one spelling.
func parseContribution(value string) (c Contribution, err error) {
	part := strings.SplitN(value, " ", 4)
	if len(part) != 4 {
		return c, fault.New(fault.Usage, "want kind:id, two digests and a key")
	}
	if c.Ref, err = objects.ParseRef(part[0]); err != nil {
		return c, err
	}
	if c.Sum, err = objects.ParseDigest(part[1]); err != nil {
		return c, err
	}
	if c.Base, err = objects.ParseDigest(part[2]); err != nil {
		return c, err
	}
	if c.Key, err = ParsePublicKey(part[3]); err != nil {
		return c, err
	}
	if Reserved(c.Ref.ID.Namespace()) {
		return c, fault.New(fault.Usage, "namespace %q: it belongs to the system space", c.Ref.ID.Namespace())
	}
	if (Site{}).Patch(c).Value != value {
		return c, fault.New(fault.Usage, "want kind:id, two digests and a key, as rye writes them")
	}
	return c, nil
}

// contributed is the key of a patch grant among all.
type contributed struct {
	Site
	ref objects.Ref
	sum objects.Digest
	key PublicKey
}

// contributions returns the patch grants among grants.
func contributions(grants []Grant) map[contributed]Grant {
	all := map[contributed]Grant{}
	for _, g := range grants {
		if c, ok := g.Contribution(); ok {
			all[contributed{g.Site, c.Ref, c.Sum, c.Key}] = g
		}
	}
	return all
}

// mayPatch reports whether a file can be a patch at all: a working file of a project, in a
// namespace that can have owners.
func mayPatch(ref objects.Ref, in Scope) bool {
	ns := ref.ID.Namespace()
	return in.Space == objects.Project && in.Registry == "" && !Reserved(ns) && ns != objects.LocalNamespace
}

// judgePatch decides about a signature that the owners' rules refused.
func (s *Store) judgePatch(k PublicKey, ref objects.Ref, in Scope, sum objects.Digest, refused error) (string, Patch, error) {
	if s.IsOwn(k) {
		return s.judgeOwnPatch(k, ref, in, refused)
	}
	g, ok := s.contributed[contributed{in.Site(), ref, sum, k}]
	if !ok || !s.Accepted(in.Site()) {
		return "", NoPatch, refused
	}
	if gone, ok := in.Declared.Removal(s, g); ok {
		return "", NoPatch, fault.New(fault.Untrusted, "verify %s in the %s: %s was removed from %s/ on %s, which ended your grant", ref, in, k, ref.ID.Namespace(), gone).
			Advise("at a terminal: rye review %s", ref)
	}
	c, _ := g.Contribution()
	if err := s.baseDenied(ref, in, c.Base); err != nil {
		return "", NoPatch, err
	}
	return "a patch by a contributor, granted for these bytes in this directory", GrantedPatch, nil
}

// judgeOwnPatch decides about the user's own key in a namespace that others own.
func (s *Store) judgeOwnPatch(k PublicKey, ref objects.Ref, in Scope, refused error) (string, Patch, error) {
	ns := ref.ID.Namespace()
	b, bound := s.bound[ns]
	switch {
	case s.IsRetired(k), !s.Accepted(in.Site()), !bound, s.scopes.of(in.Site(), ns) != b.Registry, b.state(k) != "":
		return "", NoPatch, refused
	}
	if gone, ok := in.Declared.removalOf(s, ns, k); ok {
		return "", NoPatch, fault.New(fault.Untrusted, "verify %s in the %s: your key %s was removed from %s/ on %s", ref, in, k, ns, gone).
			Advise("an owner of %s/ signs your change: rye review %s", ns, ref)
	}
	return "your own key; others own " + ns + "/, so it is a patch", OwnPatch, nil
}

// baseDenied returns an error when the version that a patch changes was denied: the patch falls
// with it.
func (s *Store) baseDenied(ref objects.Ref, in Scope, base objects.Digest) error {
	if why, ok := s.deniedDigest(base); ok {
		return fault.New(fault.Revoked, "verify %s in the %s: it patches a version that was denied%s", ref, in, because(why))
	}
	r, ok, err := s.revocation(ref, in, base)
	if err == nil && ok {
		err = fault.New(fault.Revoked, "verify %s in the %s: it patches a version: %s", ref, in, r)
	}
	return err
}

// BaseDenied returns an error when a version that was changed was denied in a scope.
func (s *Store) BaseDenied(base *objects.Item, in Scope) error {
	if err := s.baseDenied(base.Ref, in, base.Sum); err != nil {
		return err
	}
	return s.baseDenied(base.Ref, in, base.Digest)
}

// removalOf returns the newest valid line that takes a key out of a namespace. Unlike Removal it
// is also about the user's own key, and no later grant or declaration ends it.
func (d *Declared) removalOf(s *Store, namespace string, k PublicKey) (r Removal, ok bool) {
	if d == nil || d.removed == nil {
		return r, false
	}
	for _, l := range d.removed.of[dismissed{namespace, k.Fingerprint()}] {
		by, may := s.dismisses(l, d.removed.at, k)
		if may && (!ok || l.At.After(r.At)) {
			r, ok = Removal{l.At, by}, true
		}
	}
	return r, ok
}

// Owns reports whether a key is one of the present owners of a namespace in a directory: a
// current key of the registry that decides there, or without one, a key that is trusted there.
func (s *Store) Owns(k PublicKey, namespace string, at Site) bool {
	return s.ownsIn(k, namespace, at) == Current
}

// ownerHere reports whether the user holds a key that owns a namespace in a directory.
func (s *Store) ownerHere(namespace string, at Site) bool {
	for _, o := range s.own {
		if o.Retired == "" && s.Owns(o.Key, namespace, at) {
			return true
		}
	}
	return false
}

// decided reports whether a registry decides who owns a namespace in a directory.
func (s *Store) decided(namespace string, at Site) bool {
	b, ok := s.bound[namespace]
	return ok && s.scopes.of(at, namespace) == b.Registry
}

// withOwners adds the hint to a refusal of a signature by a key that is no owner: an owner
// reviews the item, and everyone else asks one, or joins them.
func (s *Store) withOwners(err *fault.Error, ref objects.Ref, in Scope) *fault.Error {
	ns := ref.ID.Namespace()
	switch {
	case in.Registry != "":
		return err.Advise("rye fetch %s, and if that does not help, ask an owner of %[1]s/", ns)
	case in.Space == objects.User:
		return err.Advise("give it another id: rye mv %s <namespace>/… --space user", ref)
	case s.ownerHere(ns, in.Site()):
		return err.Advise("at a terminal: rye review %s", ref)
	}
	return err.Advise("an owner of %s/ signs it with rye review %s; or its signer becomes one with rye registry members %[1]s --join", ns, ref)
}
