package trust

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// believes returns no error when the store trusts a genuine signature by k for ref in a
// scope: trust is (key, namespace, space). Otherwise the error is Untrusted. It is
// Revoked for a key that was denied or that the registry revoked, and for a retired
// key that had not signed this content by then. sum is the digest of the signed file:
// the item's, or the covering manifest's.
func (s *Store) believes(k PublicKey, ref objects.Ref, in Scope, sum objects.Digest) (Patch, error) {
	if why, ok := s.deniedKey(k.Fingerprint()); ok {
		return NoPatch, fault.New(fault.Revoked, "%s was denied%s", k, because(why))
	}
	_, patch, err := s.judge(k, ref, in, sum)
	return patch, err
}

// reason returns in words why the store trusts k, or why not.
func (s *Store) reason(k PublicKey, ref objects.Ref, in Scope, sum objects.Digest) string {
	why, _, err := s.judge(k, ref, in, sum)
	if err != nil {
		return err.Error()
	}
	return why
}

// judge decides by the owners, and then whether a signature by another key counts as a patch.
func (s *Store) judge(k PublicKey, ref objects.Ref, in Scope, sum objects.Digest) (why string, patch Patch, err error) {
	why, err = s.judgeOwners(k, ref, in, sum)
	if fault.Is(err, fault.Untrusted) && mayPatch(ref, in) {
		return s.judgePatch(k, ref, in, sum, err)
	}
	return why, NoPatch, err
}

// judgeOwners applies the rules in their order: first the place, then the owner of the
// namespace, then the key.
func (s *Store) judgeOwners(k PublicKey, ref objects.Ref, in Scope, sum objects.Digest) (why string, err error) {
	ns := ref.ID.Namespace()
	no := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Untrusted, "verify %s in the %s: "+format, append([]any{ref, in}, args...)...)
	}
	own, project := s.IsOwn(k), in.Space == objects.Project
	switch {
	case in.Space != objects.User && !project:
		return "", no("items of the system space are trusted only through their bundle's manifest")
	case in.Registry != "":
		return s.judgeBound(k, ref, in, sum)
	case project && own && !s.Accepted(in.Site()):
		return "", no("this directory was not accepted on this machine, so your keys are not trusted in it").Mend("rye trust")
	case project && s.Granted(in.Site().Override(ref, k.Fingerprint())) && own:
		return s.judgeOwn(k, ref, in, sum, "you chose to override this item in this directory")
	case project && in.Declared.stands(ref, k.Fingerprint()) && s.stands(in.Site().Override(ref, k.Fingerprint()), in.Declared):
		return "granted to override this item in this directory", nil
	case Reserved(ns) && own && in.Space == objects.User && ref.Kind == objects.Config: // it replaces no item: rye merges it
		return s.judgeOwn(k, ref, in, sum, "it is your own configuration")
	case Reserved(ns) && own && project:
		return "", no("%s/ belongs to the system space", ns).Mend("rye trust override %s", ref)
	case Reserved(ns) && project && in.Declared.stands(ref, k.Fingerprint()):
		return "", no("%s/ belongs to the system space", ns).Mend("rye trust")
	case Reserved(ns) && project:
		return "", no("%s/ belongs to the system space, and this project declares no override of it by %s", ns, k).
			Advise("its signer declares it with rye trust override %s; or rye rm %[1]s", ref)
	case Reserved(ns):
		return "", no("%s/ belongs to the system space", ns).Advise("give it another id: rye mv %s <namespace>/…", ref)
	}
	if b, ok := s.bound[ns]; ok && s.scopes.of(in.Site(), ns) == b.Registry {
		return s.judgeBound(k, ref, in, sum)
	} // a registry decides only in directories where the user gave it the namespace
	if own {
		return s.judgeOwn(k, ref, in, sum, "no one else owns "+ns+"/")
	}
	return s.judgeOther(k, ref, in)
}

// judgeOther decides about another person's key. A project needs a grant for it there,
// the user space a pin.
func (s *Store) judgeOther(k PublicKey, ref objects.Ref, in Scope) (why string, err error) {
	ns := ref.ID.Namespace()
	g := in.Site().Signer(ns, k)
	declared, granted := in.Declared.signs(k, ns), s.Granted(g)
	gone, removed := in.Declared.Removal(s, g)
	switch {
	case in.Space != objects.Project:
	case declared && removed:
		return "", fault.New(fault.Untrusted, "verify %s in the %s: %s was removed from %s/ on %s, and not granted since", ref, in, k, ns, gone).Mend("rye trust")
	case declared && granted:
		return "granted for " + ns + "/ in this directory", nil
	case granted:
		return "", fault.New(fault.Untrusted, "verify %s in the %s: you granted %s for %s/, and this project does not declare it", ref, in, k, ns).
			Advise("ask who removed it from .ai/allowed_signers; rye trust pin %s --namespace %s --space project declares it again", k, ns)
	}
	for _, p := range s.pins {
		if in.Space == objects.User && p.Key == k && slices.Contains(p.Namespaces, ns) {
			return "pinned for " + ns + "/ in the " + in.String(), nil
		}
	}
	refused := fault.New(fault.Untrusted, "verify %s in the %s: signed by %s, a key that you do not trust for %s/ here", ref, in, s.describe(k), ns)
	if in.Space == objects.Project && declared {
		return "", refused.Mend("rye trust")
	}
	return "", refused.Mend("rye trust pin %s --namespace %s --space %s", k, ns, in.Space)
}

// judgeBound decides by the binding of ref's namespace, both for items locked from a
// registry and for the publisher's own files.
func (s *Store) judgeBound(k PublicKey, ref objects.Ref, in Scope, sum objects.Digest) (why string, err error) {
	ns := ref.ID.Namespace()
	no := func(code fault.Code, format string, args ...any) *fault.Error {
		return fault.New(code, "verify %s in the %s: "+format, append([]any{ref, in}, args...)...)
	}
	b, ok := s.bound[ns]
	switch {
	case Reserved(ns):
		return "", no(fault.Untrusted, "%s/ belongs to the system space, not to a registry", ns)
	case in.Registry != "" && s.scopes.of(in.Site(), ns) != in.Registry:
		return "", no(fault.Untrusted, "you did not agree that this registry decides who owns %s/ in this directory", ns).Mend("rye trust")
	case !ok:
		return "", no(fault.Untrusted, "%s/ is bound to no registry", ns).Mend("rye pull")
	case in.Registry != "" && in.Registry != b.Registry:
		return "", no(fault.Untrusted, "%s/ is bound to another registry, %s", ns, words.Brief(b.Registry))
	}
	switch b.state(k) {
	case Current:
		return "a key of " + ns + "/ in registry " + b.Registry, nil
	case Retired:
		return s.judgeLogged(b.key(k), b, ref, in, sum)
	case Revoked:
		return "", no(fault.Revoked, "%s was revoked by registry %s", k, words.Brief(b.Registry))
	}
	return "", s.withOwners(no(fault.Untrusted, "signed by %s, which is not a member of %s/ in registry %s", s.describe(k), ns, words.Brief(b.Registry)), ref, in)
}

// judgeLogged decides about a retired key of a registry. It is trusted for the contents that
// the registry's log, as verified on this machine, holds for it. A pin in a lock is no
// evidence: a thief of the key can write a lock, too.
func (s *Store) judgeLogged(k BoundKey, b Binding, ref objects.Ref, in Scope, sum objects.Digest) (why string, err error) {
	refused := func(words string) *fault.Error {
		return fault.New(fault.Revoked, "verify %s in the %s: %s was retired, %s", ref, in, k.Key, words)
	}
	if in.Registry == "" {
		return "", refused("and can sign no working file of "+b.Namespace+"/").Mend("rye sign %s", ref)
	}
	there, err := s.lists.hold(s.path, loggedPath(s.path, k.Logged), k.Logged, sum)
	switch {
	case there:
		return "a retired key of " + b.Namespace + "/, for content that registry " + b.Registry + " logged", nil
	case err != nil:
		return "", refused(err.Error()).Mend("rye fetch")
	}
	return "", refused("and the registry's log does not have this content").
		Advise("rye fetch, and if that does not help, rye.lock pins a version that was never published")
}

// describe returns the key and its owner, as far as the store knows.
func (s *Store) describe(k PublicKey) string {
	who := k.String()
	if o, ok := s.ownKey(k); ok {
		if o.Retired != "" {
			return who + " (your key" + named(o.Name) + ", retired on " + o.Retired + ")"
		}
		return who + " (your key" + named(o.Name) + ")"
	}
	for _, p := range s.pins {
		if p.Key == k {
			return who + " (pinned" + named(p.Name) + " for " + strings.Join(p.Namespaces, ", ") + ")"
		}
	}
	for _, b := range s.Bindings() {
		if st := b.state(k); st != "" {
			return who + " (" + string(st) + " key of " + b.Namespace + "/)"
		}
	}
	return who + " (not known here)"
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return " " + name
}
