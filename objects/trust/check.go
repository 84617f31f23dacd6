package trust

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Bounds of a trust store.
const (
	maxText   = 200   // bytes of a name
	maxURL    = 2048  // bytes
	maxList   = 4096  // entries of one list
	maxGrants = 16384 // for all directories together
)

// MaxReason bounds the reason of a denial, in bytes. It applies to a user's reason, and to
// the one in an operation of a registry.
const MaxReason = 600

// consistent checks a store as a whole: every single entry, duplicates, and the rules
// between entries that the methods keep.
func (s *Store) consistent() error {
	if err := s.checkEntries(); err != nil {
		return err
	}
	if err := s.checkTwice(); err != nil {
		return err
	}
	for ns, b := range s.bound {
		if _, ok := s.Registry(b.Registry); !ok {
			return bad("namespace %q is bound to registry %s, which is not pinned", ns, words.Brief(b.Registry))
		}
		for _, o := range s.own {
			if slices.Contains(o.Namespaces, ns) && b.state(o.Key) == "" {
				return bad("namespace %q is claimed by %s and bound to other keys", ns, o.Key)
			}
		}
		for _, p := range s.pins {
			if slices.Contains(p.Namespaces, ns) && b.state(p.Key) == "" {
				return bad("namespace %q is pinned for %s and bound to other keys", ns, p.Key)
			}
		}
	}
	return nil
}

func (s *Store) checkEntries() error {
	if len(s.grants) > maxGrants {
		return fault.New(fault.Limit, "trust store: more than %d grants", maxGrants)
	}
	err := cmp.Or(
		checkAll(s.own, checkOwn), checkAll(s.pins, checkPin), checkAll(s.grants, checkGrant),
		checkAll(s.registries, checkRegistry), checkAll(s.Bindings(), checkBinding),
		checkAll(s.denials, checkDenial))
	if err != nil {
		return fault.New(fault.Malformed, "trust store: %w", err)
	}
	return nil
}

// checkAll returns the first error of check.
func checkAll[T any](list []T, check func(T) error) error {
	for _, e := range list {
		if err := check(e); err != nil {
			return err
		}
	}
	return nil
}

// checkTwice refuses a repeated key, grant, registry or denial, because readers must
// not guess which one applies. Lists are sorted.
func (s *Store) checkTwice() error {
	seen := make(map[string]bool)
	var twice string
	once := func(kind, id string) {
		if seen[kind+id] {
			twice = kind + id
		}
		seen[kind+id] = true
	}
	for _, o := range s.own {
		once("key ", o.Key.String())
	}
	for _, p := range s.pins {
		once("key ", p.Key.String())
	}
	for i, g := range s.grants {
		if i > 0 && compareGrants(s.grants[i-1], g) == 0 {
			twice = "grant " + string(g.Kind) + " " + g.Value + " of place " + g.Place
		}
	}
	for _, r := range s.registries {
		once("registry ", r.ID)
		if r.URL != "" {
			once("registry at ", r.URL)
		}
	}
	for _, d := range s.denials {
		once("denial of ", d.Key.String()+" "+d.Digest.String()+" "+d.Registry+" "+d.Namespace)
	}
	if twice != "" {
		return bad("%s is given twice", words.Brief(twice))
	}
	return nil
}

func bad(format string, args ...any) error {
	return fault.New(fault.Malformed, "trust store: "+format, args...)
}

func checkOwn(o OwnKey) error {
	if o.Key.IsZero() {
		return fault.New(fault.Usage, "own key: no key")
	}
	if err := checkText("name", o.Name, maxText); err != nil {
		return err
	}
	if err := checkRetired(o); err != nil {
		return err
	}
	return checkNamespaces(o.Namespaces)
}

// checkRetired requires a day for a retired key, which must not claim namespaces. Any other
// key must not keep a list.
func checkRetired(o OwnKey) error {
	if o.Retired == "" {
		if !o.Kept.IsZero() {
			return fault.New(fault.Usage, "own key %s: it has a list of its files, but was not retired", o.Key)
		}
		return nil
	}
	if _, err := time.Parse(time.DateOnly, o.Retired); err != nil {
		return fault.New(fault.Usage, "own key %s: retired %q: want a day like 2026-11-22", o.Key, words.Brief(o.Retired))
	}
	if len(o.Namespaces) > 0 {
		return fault.New(fault.Usage, "own key %s: it was retired and claims namespaces", o.Key)
	}
	return nil
}

func checkPin(p Pin) error {
	if p.Key.IsZero() {
		return fault.New(fault.Usage, "pin: no key")
	}
	if len(p.Namespaces) == 0 {
		return fault.New(fault.Usage, "pin %s: name the namespaces that it may sign", p.Key)
	}
	if err := checkText("name", p.Name, maxText); err != nil {
		return err
	}
	return checkNamespaces(p.Namespaces)
}

// checkNamespaces refuses namespaces that cannot have an owner.
func checkNamespaces(list []string) error {
	if len(list) > maxList {
		return fault.New(fault.Limit, "more than %d namespaces for one key", maxList)
	}
	return checkAll(list, checkNamespace)
}

func checkNamespace(ns string) error {
	if id, err := objects.ParseID(ns); err != nil || id.Namespace() != ns {
		return fault.New(fault.Usage, "namespace %q: want one segment of an id", words.Brief(ns))
	}
	if Reserved(ns) {
		return fault.New(fault.Usage, "namespace %q: it belongs to the system space", ns)
	}
	return nil
}

// checkProject accepts the genesis ids that rye init makes: 32 hexadecimal digits.
func checkProject(genesis string) error {
	b, err := hex.DecodeString(genesis)
	if err != nil || len(b) != 16 || strings.ToLower(genesis) != genesis {
		return fault.New(fault.Usage, "project %q: want the 32 hexadecimal digits of its rye.yaml", words.Brief(genesis))
	}
	return nil
}

func checkRegistry(r Registry) error {
	if _, err := objects.ParseDigest(r.ID); err != nil {
		return fault.New(fault.Usage, "registry identity: %w", err)
	}
	if len(r.Roots) == 0 || len(r.Roots) > maxList {
		return fault.New(fault.Usage, "registry %s: %d root keys", r.ID, len(r.Roots))
	}
	for i, fp := range r.Roots {
		if fp.IsZero() || i > 0 && fp == r.Roots[i-1] {
			return fault.New(fault.Usage, "registry %s: a root key that is invalid, or is given twice", r.ID)
		}
	}
	if len(r.URL) > maxURL || strings.IndexFunc(r.URL, unprintable) >= 0 {
		return fault.New(fault.Usage, "registry %s: address %q", r.ID, words.Brief(r.URL))
	}
	return nil
}

func checkBinding(b Binding) error {
	if err := checkBindable(b.Namespace); err != nil {
		return err
	}
	if _, err := objects.ParseDigest(b.Registry); err != nil {
		return fault.New(fault.Usage, "registry identity: %w", err)
	}
	if len(b.Keys) == 0 || len(b.Keys) > maxList {
		return fault.New(fault.Usage, "namespace %q: %d keys", b.Namespace, len(b.Keys))
	}
	for i, k := range b.Keys {
		if k.Key.IsZero() || i > 0 && k.Key == b.Keys[i-1].Key {
			return fault.New(fault.Usage, "namespace %q: a key that is invalid, or is given twice", b.Namespace)
		}
		if k.State != Current && k.State != Retired && k.State != Revoked {
			return fault.New(fault.Usage, "namespace %q: key state %q: want current, retired or revoked", b.Namespace, words.Brief(string(k.State)))
		}
		if k.State != Retired && !k.Logged.IsZero() {
			return fault.New(fault.Usage, "namespace %q: %s is not retired, but has a list of its logged files", b.Namespace, k.Key)
		}
	}
	return nil
}

func checkDenial(d Denial) error {
	if d.Key.IsZero() == d.Digest.IsZero() {
		return fault.New(fault.Usage, "deny: want either a key or a digest")
	}
	if (d.Registry == "") != (d.Namespace == "") || d.Registry != "" && d.Digest.IsZero() {
		return fault.New(fault.Usage, "deny: a registry denies a digest in a namespace")
	}
	if d.Registry != "" {
		if err := checkIdentity(d.Registry); err != nil {
			return err
		}
		if err := checkBindable(d.Namespace); err != nil {
			return err
		}
		return checkText("reason", d.Reason, MaxReason+maxName)
	}
	return checkText("reason", d.Reason, MaxReason)
}

// maxName bounds a version's name, in bytes. rye 0.2 wrote it before a registry's reason.
const maxName = 1024

func checkText(what, s string, limit int) error {
	if len(s) > limit || !utf8.ValidString(s) || strings.IndexFunc(s, unprintable) >= 0 {
		return fault.New(fault.Usage, "%s %q: want at most %d bytes of printable text", what, words.Brief(s), limit)
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
