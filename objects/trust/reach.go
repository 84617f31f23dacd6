package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
)

// The author of a denial decides where it applies. The user's own applies everywhere. A
// registry's is about one namespace. It applies to items of that namespace that are locked
// from that registry, and to the user's own files where the namespace is bound to it. Where
// the namespace is bound to no registry, it applies if the key that signed it is trusted for
// the namespace there.

// revokedSuffix is the end of the name of a registry's directory of revoked versions.
const revokedSuffix = ".revoked"

// RevokedIn makes the store use the revoked versions of registries: the lists that rye keeps
// below dir, and the versions that this process could not write there. It only notes which
// namespaces have some; verifying an item reads the list itself. The store does not see
// namespaces that are added later.
func (s *Store) RevokedIn(dir string) error {
	s.revokedDir, s.revokedBy, s.revokedSum = dir, nil, objects.Digest{}
	stamp, err := s.listRevoked(dir)
	if err != nil {
		return fault.New(fault.Failed, "list the revoked versions: %w", err)
	}
	paths, counts := revoked.Held(dir)
	for i, path := range paths {
		s.noteRevoked(filepath.Base(filepath.Dir(path)), filepath.Base(path))
		stamp = fmt.Appendf(stamp, "held %s %d\n", path, counts[i])
	}
	if len(stamp) > 0 {
		s.revokedSum = objects.DigestOf(stamp)
	}
	return nil
}

// listRevoked notes the lists below a directory, and returns a text that changes with them.
func (s *Store) listRevoked(dir string) (stamp []byte, err error) {
	registries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, r := range registries {
		if !strings.HasSuffix(r.Name(), revokedSuffix) {
			continue
		}
		lists, err := os.ReadDir(filepath.Join(dir, r.Name()))
		if err != nil {
			return nil, err
		}
		for _, l := range lists {
			st, err := l.Info()
			if strings.Contains(l.Name(), ".") || err != nil { // with a dot it is a temporary file
				continue
			}
			if s.noteRevoked(r.Name(), l.Name()) {
				stamp = fmt.Appendf(stamp, "%s/%s %d %d\n", r.Name(), l.Name(), st.Size(), st.ModTime().UnixNano())
			}
		}
	}
	return stamp, nil
}

// noteRevoked notes that a registry has revoked versions of a namespace. dir is the name of
// the registry's directory; the result is false for any other directory.
func (s *Store) noteRevoked(dir, namespace string) bool {
	hex, ok := strings.CutSuffix(dir, revokedSuffix)
	id, err := objects.ParseDigest("sha256:" + hex)
	if !ok || err != nil {
		return false
	}
	if s.revokedBy == nil {
		s.revokedBy = make(map[string][]string)
	}
	if !slices.Contains(s.revokedBy[namespace], id.String()) {
		s.revokedBy[namespace] = append(s.revokedBy[namespace], id.String())
	}
	return true
}

// A Revocation is a registry's denial of one content.
type Revocation struct {
	revoked.Version
	Registry string // identity
}

// String returns the version and the reason.
func (r Revocation) String() string { return r.Name + " was revoked" + because(r.Reason) }

// Revoked returns all registries' revocations of contents with one of these digests in a
// namespace. Some of them may not apply here.
func (s *Store) Revoked(namespace string, sums ...objects.Digest) (all []Revocation, err error) {
	for _, id := range s.revokedBy[namespace] {
		of, err := s.revokedFrom(id, namespace, sums)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	for _, d := range s.denials {
		if d.Registry != "" && d.Namespace == namespace && slices.Contains(sums, d.Digest) {
			name, reason, _ := cutRevoked(d.Reason)
			all = append(all, Revocation{revoked.Version{Digest: d.Digest, Name: name, Reason: reason}, d.Registry})
		}
	}
	return all, nil
}

// revokedFrom returns the revocations by one registry.
func (s *Store) revokedFrom(registry, namespace string, sums []objects.Digest) (all []Revocation, err error) {
	id, err := objects.ParseDigest(registry)
	if err != nil {
		return nil, err
	}
	for _, sum := range sums {
		found, err := revoked.Find(revoked.Path(s.revokedDir, id, namespace), sum)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			all = append(all, Revocation{v, registry})
		}
	}
	return all, nil
}

// revocation returns the revocation that applies to a content of an item in a scope.
func (s *Store) revocation(ref objects.Ref, in Scope, sums ...objects.Digest) (r Revocation, applies bool, err error) {
	ns := ref.ID.Namespace()
	if in.Space == objects.System {
		return r, false, nil
	}
	all, err := s.Revoked(ns, sums...)
	for _, r := range all {
		if s.reaches(r.Registry, r.By, ns, in) {
			return r, true, nil
		}
	}
	return r, false, err
}

// reaches reports whether a registry's denial in a namespace applies in a scope. by is the key
// that signed it; zero when it is not known.
func (s *Store) reaches(registry string, by objects.Fingerprint, ns string, in Scope) bool {
	if in.Registry != "" {
		return in.Registry == registry
	}
	if b, ok := s.bound[ns]; ok && s.scopes.of(in.Site(), ns) == b.Registry {
		return b.Registry == registry
	}
	return s.speaksFor(by, ns, in)
}

// speaksFor reports whether a key is trusted for a namespace in a scope without a deciding
// registry. It ignores the declarations of the directory: removing the key from them does not
// lift its denials.
func (s *Store) speaksFor(fp objects.Fingerprint, ns string, in Scope) bool {
	k, ok := s.known[fp]
	switch {
	case !ok:
		return false
	case in.Space == objects.Project:
		return s.IsOwn(k) && s.Accepted(in.Site()) || s.Granted(in.Site().Signer(ns, k))
	case s.IsOwn(k):
		return true
	}
	return slices.ContainsFunc(s.pins, func(p Pin) bool { return p.Key == k && slices.Contains(p.Namespaces, ns) })
}

// Elsewhere is a content in use, and a revocation of the same bytes that does not apply to it.
// The revocation is for another namespace, or from a registry that does not decide about the
// item.
type Elsewhere struct {
	Use
	Revocation
}

// Use is a content and the scope where it is used.
type Use struct {
	Ref objects.Ref
	Sum objects.Digest // of the whole file
	In  Scope
}

// String names the item, the revoked version and the reason.
func (e Elsewhere) String() string {
	return e.Ref.String() + " has the same bytes as " + e.Name + ", which was revoked" + because(e.Reason)
}

// RevokedElsewhere returns the contents in use whose bytes were revoked, if no revocation
// applies to them. It refuses nothing. If there are no revocations at all, it does not call
// uses.
func (s *Store) RevokedElsewhere(uses iter.Seq[Use]) (all []Elsewhere, err error) {
	if len(s.revokedBy) == 0 && !slices.ContainsFunc(s.denials, func(d Denial) bool { return d.Registry != "" }) {
		return nil, nil
	}
	sums, listed := map[objects.Digest]bool{}, slices.Collect(uses)
	for _, u := range listed {
		sums[u.Sum] = true
	}
	revoked, err := s.revokedAmong(sums)
	if err != nil {
		return nil, err
	}
	for _, u := range listed {
		of := revoked[u.Sum]
		if slices.ContainsFunc(of, func(r revokedIn) bool {
			return r.namespace == u.Ref.ID.Namespace() && s.reaches(r.Registry, r.By, r.namespace, u.In)
		}) {
			continue // Verify refuses it
		}
		if len(of) > 0 {
			all = append(all, Elsewhere{u, of[0].Revocation})
		}
	}
	return all, nil
}

// revokedIn is a revocation with the namespace that it is about.
type revokedIn struct {
	Revocation
	namespace string
}

// revokedAmong returns the revocations of some contents in all namespaces.
func (s *Store) revokedAmong(sums map[objects.Digest]bool) (map[objects.Digest][]revokedIn, error) {
	all := map[objects.Digest][]revokedIn{}
	for _, ns := range slices.Sorted(maps.Keys(s.revokedBy)) {
		for _, registry := range s.revokedBy[ns] {
			id, err := objects.ParseDigest(registry)
			if err != nil {
				return nil, err
			}
			found, err := revoked.Among(revoked.Path(s.revokedDir, id, ns), sums)
			if err != nil {
				return nil, err
			}
			for _, v := range found {
				all[v.Digest] = append(all[v.Digest], revokedIn{Revocation{v, registry}, ns})
			}
		}
	}
	for _, d := range s.denials {
		if d.Registry != "" && sums[d.Digest] {
			name, reason, _ := cutRevoked(d.Reason)
			all[d.Digest] = append(all[d.Digest], revokedIn{Revocation{revoked.Version{Digest: d.Digest, Name: name, Reason: reason}, d.Registry}, d.Namespace})
		}
	}
	return all, nil
}

// keyRevoked returns the registry that revoked a key for a namespace, if that applies in a
// scope. Where no registry decides, it applies if another key of the binding is trusted for
// the namespace.
func (s *Store) keyRevoked(k PublicKey, ns string, in Scope) (registry string, ok bool) {
	b, ok := s.bound[ns]
	if !ok || b.state(k) != Revoked || in.Space == objects.System {
		return "", false
	}
	if s.reaches(b.Registry, objects.Fingerprint{}, ns, in) {
		return b.Registry, true
	}
	if in.Registry != "" || s.scopes.of(in.Site(), ns) == b.Registry {
		return "", false
	}
	for _, other := range b.Keys {
		if other.State != Revoked && s.speaksFor(other.Key.Fingerprint(), ns, in) {
			return b.Registry, true
		}
	}
	return "", false
}

// DeniesContent reports whether the user, or a registry whose denial applies in this scope,
// denied the file or the body of an item. It is also true when the denials cannot be read.
func (s *Store) DeniesContent(it *objects.Item, in Scope) bool {
	if _, ok := s.deniedDigest(it.Sum, it.Digest); ok {
		return true
	}
	_, ok, err := s.revocation(it.Ref, in, it.Sum, it.Digest)
	return ok || err != nil
}

// DeniedByUser reports whether the user denied an item's bytes, or the key in its line.
func (s *Store) DeniedByUser(it *objects.Item) bool {
	if _, ok := s.deniedDigest(it.Sum, it.Digest); ok || it.Signature == nil {
		return ok
	}
	_, ok := s.deniedKey(it.Signature.Key)
	return ok
}

// cutRevoked splits the reason that rye 0.2 wrote for a registry's revocation:
// <version> was revoked: <reason>.
func cutRevoked(text string) (name, reason string, ok bool) {
	name, reason, ok = strings.Cut(text, " was revoked: ")
	if !ok {
		return "", text, false
	}
	path, version, at := strings.Cut(name, "@")
	ref, err := objects.ParseRef(path)
	if _, bad := objects.ParseVersion(version); !at || err != nil || bad != nil || ref.Published() != path {
		return "", text, false
	}
	return name, reason, true
}

// asRegistryDenial converts a denial that rye 0.2 wrote for a revocation into a denial by the
// registry that the namespace is bound to. Every other denial stays the user's own.
func (s *Store) asRegistryDenial(d Denial) Denial {
	name, _, ok := cutRevoked(d.Reason)
	if d.Digest.IsZero() || d.Registry != "" || !ok {
		return d
	}
	path, _, _ := strings.Cut(name, "@")
	ns, _, _ := strings.Cut(path, "/")
	if b, bound := s.bound[ns]; bound {
		d.Registry, d.Namespace = b.Registry, ns
	}
	return d
}
