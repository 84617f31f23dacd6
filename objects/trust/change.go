package trust

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// AddOwn records one of the user's own keys, or replaces its name and claims. It
// refuses to claim a namespace that is bound to other keys (Untrusted), and a retired
// key (Revoked).
func (s *Store) AddOwn(k PublicKey, name string, namespaces ...string) error {
	o := OwnKey{Key: k, Name: name, Namespaces: sorted(namespaces)}
	if err := checkOwn(o); err != nil {
		return err
	}
	if old, ok := s.ownKey(k); ok && old.Retired != "" {
		return fault.New(fault.Revoked, "own key %s: it was retired on %s", k, old.Retired).Advise("sign with your present key; rye key new <name> makes another")
	}
	for _, ns := range o.Namespaces {
		if err := s.mayClaim(k, ns); err != nil {
			return err
		}
	}
	s.pins = slices.DeleteFunc(s.pins, func(p Pin) bool { return p.Key == k })
	s.own = append(slices.DeleteFunc(s.own, func(x OwnKey) bool { return x.Key == k }), o)
	s.changed()
	return nil
}

// mayClaim refuses a namespace that a registry bound to other keys.
func (s *Store) mayClaim(k PublicKey, ns string) error {
	if b, ok := s.bound[ns]; ok && b.state(k) != Current {
		return fault.New(fault.Untrusted, "claim %s/ for %s: registry %s binds it to other keys", ns, k, words.Brief(b.Registry))
	}
	return nil
}

// Pin trusts another person's key in the user space for the namespaces in p. It replaces
// an older pin of the key. A namespace that is bound to other keys is refused (Untrusted).
func (s *Store) Pin(p Pin) error {
	p.Namespaces = sorted(p.Namespaces)
	if err := checkPin(p); err != nil {
		return err
	}
	if s.IsOwn(p.Key) {
		return fault.New(fault.Usage, "pin %s: it is your own key", p.Key)
	}
	for _, ns := range p.Namespaces {
		if err := s.mayClaim(p.Key, ns); err != nil {
			return err
		}
	}
	s.pins = append(slices.DeleteFunc(s.pins, func(x Pin) bool { return x.Key == p.Key }), p)
	s.changed()
	return nil
}

// PinMore is like Pin, but keeps the namespaces of an older pin. A name replaces the old one
// unless it is empty.
func (s *Store) PinMore(p Pin) error {
	if i := slices.IndexFunc(s.pins, func(x Pin) bool { return x.Key == p.Key }); i >= 0 {
		old := s.pins[i]
		p.Name = cmp.Or(p.Name, old.Name)
		p.Namespaces = slices.Concat(old.Namespaces, p.Namespaces)
	}
	return s.Pin(p)
}

// Unpin removes namespaces from a pinned key, or the whole pin when none are given. A
// key that is not pinned, or not for one of them, is NotFound; the user's own is Usage.
func (s *Store) Unpin(fp objects.Fingerprint, namespaces ...string) error {
	if k, ok := s.known[fp]; ok && s.IsOwn(k) {
		return fault.New(fault.Usage, "unpin %s: it is your own key", fp).Mend("rye trust deny %s", fp)
	}
	i := slices.IndexFunc(s.pins, func(p Pin) bool { return p.Key.Fingerprint() == fp })
	if i < 0 {
		return fault.New(fault.NotFound, "unpin %s: it is not pinned", fp).Advise("rye trust list")
	}
	p := s.pins[i]
	var left []string
	if len(namespaces) > 0 {
		left = slices.Clone(p.Namespaces)
	}
	for _, ns := range namespaces {
		if !slices.Contains(p.Namespaces, ns) {
			return fault.New(fault.NotFound, "unpin %s: it is not pinned for %q", fp, words.Brief(ns)).Advise("rye trust list")
		}
		left = slices.DeleteFunc(left, func(x string) bool { return x == ns })
	}
	s.pins = slices.Delete(slices.Clone(s.pins), i, i+1)
	if p.Namespaces = left; len(left) > 0 {
		s.pins = append(s.pins, p)
	}
	s.changed()
	return nil
}

// PinRegistry records a registry at first contact; repeating it is no error. Other roots
// for a known identity, and another identity at a known address, are refused
// (Untrusted). Only SetRoots changes roots, after the change was verified.
func (s *Store) PinRegistry(r Registry) error {
	r.Roots = sortedPrints(r.Roots)
	if err := checkRegistry(r); err != nil {
		return err
	}
	for _, old := range s.registries {
		if old.ID == r.ID && !slices.Equal(old.Roots, r.Roots) {
			return fault.New(fault.Untrusted, "pin registry %s: it was pinned with other root keys", words.Brief(r.ID))
		}
		if old.ID != r.ID && old.URL == r.URL && r.URL != "" {
			return fault.New(fault.Untrusted, "pin registry at %s: registry identity changed: it was %s and is %s now", words.Brief(r.URL), old.ID, r.ID)
		}
	}
	s.putRegistry(r)
	return nil
}

// SetRoots records the root keys of a pinned registry after its own history
// proved that they changed.
func (s *Store) SetRoots(id string, roots ...objects.Fingerprint) error {
	r, ok := s.Registry(id)
	if !ok {
		return fault.New(fault.NotFound, "set the roots of registry %s: it is not pinned", words.Brief(id))
	}
	r.Roots = sortedPrints(roots)
	if err := checkRegistry(r); err != nil {
		return err
	}
	s.putRegistry(r)
	return nil
}

func (s *Store) putRegistry(r Registry) {
	s.registries = append(slices.DeleteFunc(s.registries, func(x Registry) bool { return x.ID == r.ID }), r)
	s.changed()
}

// RemoveRegistry removes a registry and every namespace bound to it. Denials stay.
func (s *Store) RemoveRegistry(id string) error {
	if _, ok := s.Registry(id); !ok {
		return fault.New(fault.NotFound, "remove registry %s: it is not pinned", words.Brief(id))
	}
	s.registries = slices.DeleteFunc(s.registries, func(r Registry) bool { return r.ID == id })
	for ns, b := range s.bound {
		if b.Registry == id {
			delete(s.bound, ns)
		}
	}
	s.changed()
	return nil
}

// BindNamespace binds a namespace to a pinned registry, with the keys that the registry
// lists for it. It replaces the keys of an older binding to this registry. A binding to
// another registry is a conflict (Untrusted), and so is an own or pinned key for the
// namespace that the registry does not list. Conflicts are never merged.
func (s *Store) BindNamespace(namespace, registryID string, keys ...BoundKey) error {
	b := Binding{namespace, registryID, slices.Clone(keys)}
	sortBound(b.Keys)
	if err := checkBinding(b); err != nil {
		return err
	}
	conflict := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Untrusted, "bind %s/ to registry %s: "+format, append([]any{namespace, words.Brief(registryID)}, args...)...)
	}
	if _, ok := s.Registry(registryID); !ok {
		return conflict("that registry is not pinned").Advise("rye registry add <url>")
	}
	if old, ok := s.bound[namespace]; ok && old.Registry != registryID {
		return conflict("it is bound to registry %s", words.Brief(old.Registry))
	}
	for _, o := range s.own {
		if slices.Contains(o.Namespaces, namespace) && b.state(o.Key) == "" {
			return conflict("you claimed it with %s, which is not among the registry's keys", o.Key)
		}
	}
	for _, p := range s.pins {
		if slices.Contains(p.Namespaces, namespace) && b.state(p.Key) == "" {
			return conflict("%s is pinned for it, and not among the registry's keys", p.Key)
		}
	}
	if slices.Equal(s.bound[namespace].Keys, b.Keys) && s.bound[namespace].Registry == registryID {
		return nil
	}
	if s.bound == nil {
		s.bound = make(map[string]Binding)
	}
	s.bound[namespace] = b
	s.changed()
	return nil
}

// DenyKey denies a key everywhere. No grant, pin or registry overrides that.
func (s *Store) DenyKey(fp objects.Fingerprint, reason string) error {
	return s.deny(Denial{Key: fp, Reason: reason})
}

// DenyDigest denies a content everywhere. d is the SHA-256 of a file or of a body.
func (s *Store) DenyDigest(d objects.Digest, reason string) error {
	return s.deny(Denial{Digest: d, Reason: reason})
}

func (s *Store) deny(d Denial) error {
	if err := checkDenial(d); err != nil {
		return err
	}
	if slices.Contains(s.denials, d) {
		return nil
	}
	s.denials = slices.DeleteFunc(s.denials, func(x Denial) bool {
		return x.Key == d.Key && x.Digest == d.Digest && x.Registry == "" // a registry's own denial stays
	})
	s.denials = append(s.denials, d)
	s.changed()
	return nil
}

// Allow removes the user's denials of a key or a digest. A registry's denials stay.
func (s *Store) Allow(fp objects.Fingerprint, d objects.Digest) {
	s.denials = slices.DeleteFunc(s.denials, func(x Denial) bool {
		return x.Registry == "" && (!fp.IsZero() && x.Key == fp || !d.IsZero() && x.Digest == d)
	})
	s.changed()
}

// SetAllowLegacy sets whether the store accepts signature lines of RYE OS.
func (s *Store) SetAllowLegacy(yes bool) {
	s.allowLegacy = yes
	s.changed()
}

// sort puts every list into the order of the file.
func (s *Store) sort() {
	byKey := func(a, b PublicKey) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(s.own, func(a, b OwnKey) int { return byKey(a.Key, b.Key) })
	slices.SortFunc(s.pins, func(a, b Pin) int { return byKey(a.Key, b.Key) })
	slices.SortFunc(s.grants, compareGrants)
	slices.SortFunc(s.registries, func(a, b Registry) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(s.denials, func(a, b Denial) int {
		// Keys come first: their digest is zero.
		return cmp.Or(strings.Compare(a.Digest.Hex(), b.Digest.Hex()), strings.Compare(a.Key.String(), b.Key.String()),
			strings.Compare(a.Registry, b.Registry), strings.Compare(a.Namespace, b.Namespace))
	})
}

func sortBound(ks []BoundKey) {
	slices.SortFunc(ks, func(a, b BoundKey) int { return strings.Compare(a.Key.String(), b.Key.String()) })
}

// sorted returns a sorted copy without repetitions.
func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func sortedPrints(list []objects.Fingerprint) []objects.Fingerprint {
	return slices.Compact(slices.SortedFunc(slices.Values(list), comparePrints))
}

func comparePrints(a, b objects.Fingerprint) int { return strings.Compare(a.String(), b.String()) }
