package trust

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Site is the name of a directory in grants: its place and its project's id. Either alone
// proves nothing: any rye.yaml can state an id, and a path may hold another directory
// tomorrow.
type Site struct {
	Place   string // key of the directory's record: 52 characters of base32
	Project string // genesis id; "" for a user space
}

// Site returns the directory that an item is used in.
func (in Scope) Site() Site { return Site{in.Place, in.Project} }

// GrantKind is the kind of permission that a grant gives.
type GrantKind string

// The kinds of grants.
const (
	GrantProject  GrantKind = "project"  // the user's own keys are trusted here; no value
	GrantSigner   GrantKind = "signer"   // "<namespace> ssh-ed25519 AAAA...": the key is trusted for the namespace
	GrantRegistry GrantKind = "registry" // "sha256:<identity> <address>": rye may contact the registry there
	GrantScope    GrantKind = "scope"    // "<namespace or *> sha256:<identity>": the registry decides who owns it
	GrantOverride GrantKind = "override" // "<ref> SHA256:<key>": an item by the key may override ref
	GrantOwner    GrantKind = "owner"    // "<uid>": the files may belong to this user
	GrantOrigin   GrantKind = "origin"   // "<address>": rye may contact the source there
	GrantPatch    GrantKind = "patch"    // "<ref> sha256:<file> sha256:<base> ssh-ed25519 AAAA...": these bytes by this contributor are trusted
)

var grantKinds = []GrantKind{GrantOrigin, GrantOverride, GrantOwner, GrantPatch, GrantProject, GrantRegistry, GrantScope, GrantSigner}

// Grant is one permission that the user gave for one directory. Two grants are equal when
// all fields except At are equal.
type Grant struct {
	Site
	Kind  GrantKind
	Value string
	At    time.Time // when the user gave it: whole seconds, UTC; a newer removal of the signer ends it
}

// OwnKeys returns the grant that makes the user's own keys trusted in the directory.
func (d Site) OwnKeys() Grant { return Grant{Site: d, Kind: GrantProject} }

// Signer returns the grant that makes a key trusted for one namespace in the directory.
func (d Site) Signer(namespace string, k PublicKey) Grant {
	return Grant{Site: d, Kind: GrantSigner, Value: namespace + " " + k.Authorized()}
}

// Registry returns the grant to contact a registry at an address for the directory.
func (d Site) Registry(id, address string) Grant {
	return Grant{Site: d, Kind: GrantRegistry, Value: id + " " + address}
}

// Scope returns the grant that gives a namespace, or "*", to a registry in the directory.
func (d Site) Scope(scope, registry string) Grant {
	return Grant{Site: d, Kind: GrantScope, Value: scope + " " + registry}
}

// Override returns the grant for an item by a key to override an item of a reserved or bound
// namespace in the directory.
func (d Site) Override(ref objects.Ref, key objects.Fingerprint) Grant {
	return Grant{Site: d, Kind: GrantOverride, Value: ref.String() + " " + key.String()}
}

// Origin returns the grant to contact a source of foreign content for the directory. address is in
// the normal form of objects.ParseSource, without ref and path.
func (d Site) Origin(address string) Grant {
	return Grant{Site: d, Kind: GrantOrigin, Value: address}
}

// Owner returns the grant for a directory that belongs to another user of the machine.
func (d Site) Owner(uid int) Grant {
	return Grant{Site: d, Kind: GrantOwner, Value: strconv.Itoa(uid)}
}

// same returns the grant without its time, so that equal grants are equal values.
func (g Grant) same() Grant {
	g.At = time.Time{}
	return g
}

// Cut returns the two parts of the value, before and after the first space.
func (g Grant) Cut() (what, of string) {
	what, of, _ = strings.Cut(g.Value, " ")
	return what, of
}

// Grants returns every grant, sorted. The caller owns the slice.
func (s *Store) Grants() []Grant { return slices.Clone(s.grants) }

// Among returns the grants of the directory among all, in their order.
func (d Site) Among(all []Grant) []Grant {
	return slices.DeleteFunc(slices.Clone(all), func(g Grant) bool { return g.Site != d })
}

// Granted reports whether the user gave g, at any time.
func (s *Store) Granted(g Grant) bool {
	_, ok := s.granted[g.same()]
	return ok
}

// Accepted reports whether the user's own keys are trusted in a directory.
func (s *Store) Accepted(d Site) bool { return s.Granted(d.OwnKeys()) }

// Grant records grants of the user. A grant that exists keeps its time. If one of them is
// invalid, none is recorded.
func (s *Store) Grant(at time.Time, gs ...Grant) error {
	var fresh []Grant
	for _, g := range gs {
		g.At = at.UTC().Truncate(time.Second)
		if err := checkGrant(g); err != nil {
			return err
		}
		if !s.Granted(g) && !slices.ContainsFunc(fresh, func(x Grant) bool { return x.same() == g.same() }) {
			fresh = append(fresh, g)
		}
	}
	switch {
	case len(fresh) == 0:
		return nil
	case len(s.grants)+len(fresh) > maxGrants:
		return fault.New(fault.Limit, "more than %d grants", maxGrants).Advise("rye trust forget removes grants that you no longer need")
	}
	s.grants = append(s.grants, fresh...)
	s.changed()
	return nil
}

// GrantAgain is Grant for grants that a removal ended. The new time is after the removal's,
// even when a clock is behind.
func (s *Store) GrantAgain(at time.Time, d *Declared, gs ...Grant) error {
	at = at.UTC().Truncate(time.Second)
	for _, g := range gs {
		if r, ok := d.Removal(s, g); ok {
			s.Ungrant(func(x Grant) bool { return x.same() == g.same() })
			if !r.At.Before(at) {
				at = r.At.Add(time.Second)
			}
		}
	}
	return s.Grant(at, gs...)
}

// Ungrant removes every grant for which match is true, and returns their number.
func (s *Store) Ungrant(match func(Grant) bool) int {
	n := len(s.grants)
	s.grants = slices.DeleteFunc(s.grants, match)
	if n -= len(s.grants); n > 0 {
		s.changed()
	}
	return n
}

// MoveGrants moves the grants of one place to another, after its directory moved.
func (s *Store) MoveGrants(from, to string) error {
	var moved []Grant
	for _, g := range s.grants {
		if g.Place != from {
			continue
		}
		if g.Place = to; !s.Granted(g) {
			moved = append(moved, g)
		}
	}
	if err := checkAll(moved, checkGrant); err != nil {
		return err
	}
	if s.DropGrants(from) > 0 {
		s.grants = append(s.grants, moved...)
		s.changed()
	}
	return nil
}

// DropGrants removes all grants of a place, and returns their number.
func (s *Store) DropGrants(place string) int {
	return s.Ungrant(func(g Grant) bool { return g.Place == place })
}

func compareGrants(a, b Grant) int {
	return cmp.Or(strings.Compare(a.Place, b.Place), strings.Compare(a.Project, b.Project),
		strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Value, b.Value))
}

// signersIn returns the keys that grants name, each once.
func signersIn(grants []Grant) map[string]PublicKey {
	keys := make(map[string]PublicKey) // a key has one grant for each namespace
	for _, g := range grants {
		if c, ok := g.Contribution(); ok {
			keys[c.Key.Authorized()] = c.Key
		}
		if g.Kind != GrantSigner {
			continue
		}
		_, text := g.Cut()
		if _, ok := keys[text]; !ok {
			if k, err := ParsePublicKey(text); err == nil { // checkGrant reports a malformed key
				keys[text] = k
			}
		}
	}
	return keys
}

// scopes maps a directory and a namespace to the registry that decides about it. The namespace
// "*" stands for every one without its own scope.
type scopes map[scope]string

type scope struct {
	Site
	namespace string
}

// scopesIn returns the scopes that grants give. A scope that two registries were given
// belongs to neither.
func scopesIn(grants []Grant) scopes {
	all := make(scopes)
	for _, g := range grants {
		if g.Kind != GrantScope {
			continue
		}
		ns, registry := g.Cut()
		at := scope{g.Site, ns}
		if had, ok := all[at]; ok && had != registry {
			registry = ""
		}
		all[at] = registry
	}
	return all
}

// of returns the registry that decides about a namespace in a directory, "" for none.
func (m scopes) of(d Site, namespace string) string {
	if registry, ok := m[scope{d, namespace}]; ok {
		return registry
	}
	return m[scope{d, "*"}]
}

// RegistryOf returns the identity of the registry that the user lets decide who owns a
// namespace in a directory; "" for none.
func (d Site) RegistryOf(s *Store, namespace string) string { return s.scopes.of(d, namespace) }

// checkGrant accepts a grant only in its one spelling.
func checkGrant(g Grant) error {
	if !placeKey(g.Place) {
		return fault.New(fault.Usage, "grant for %q: want the key of a place, 52 characters of a-z and 2-7", words.Brief(g.Place))
	}
	if g.At.IsZero() || g.At != g.At.UTC().Truncate(time.Second) || g.At.Year() > 9999 {
		return fault.New(fault.Usage, "grant for %s: no time, or one with parts of a second", g.Place)
	}
	if err := g.checkProject(); err != nil {
		return err
	}
	if err := g.checkValue(); err != nil {
		return fault.New(fault.Usage, "%s grant %q: %w", g.Kind, words.Brief(g.Value), err)
	}
	return nil
}

// checkProject requires a project, except for kinds of grants that a user space can have.
func (g Grant) checkProject() error {
	if g.Project == "" && (g.Kind == GrantRegistry || g.Kind == GrantScope) {
		return nil
	}
	return checkProject(g.Project)
}

func (g Grant) checkValue() error {
	what, of := g.Cut()
	switch g.Kind {
	case GrantProject:
		if g.Value != "" {
			return fault.New(fault.Usage, "it has no value")
		}
		return nil
	case GrantSigner:
		k, err := ParsePublicKey(of)
		if err != nil {
			return err
		}
		if k.Authorized() != of {
			return fault.New(fault.Usage, "want the key as ssh-ed25519 and its base64")
		}
		return checkNamespace(what)
	case GrantRegistry:
		if of == "" || len(of) > maxURL || strings.IndexFunc(of, unprintable) >= 0 {
			return fault.New(fault.Usage, "no address, or one that cannot be shown")
		}
		return checkIdentity(what)
	case GrantScope:
		if what != "*" {
			if err := checkBindable(what); err != nil {
				return err
			}
		}
		return checkIdentity(of)
	case GrantOverride:
		return checkOverride(what, of)
	case GrantOwner:
		if uid, err := strconv.ParseUint(g.Value, 10, 32); err != nil || strconv.FormatUint(uid, 10) != g.Value {
			return fault.New(fault.Usage, "want a user's number")
		}
		return nil
	case GrantOrigin:
		src, err := objects.ParseSource(g.Value)
		if err == nil && (src.Address != g.Value || src.Local() || src.Short) {
			err = fault.New(fault.Usage, "want the address of a source in normal form, without ref and path")
		}
		return err
	case GrantPatch:
		_, err := parseContribution(g.Value)
		return err
	}
	return fault.New(fault.Usage, "want one of %v", grantKinds)
}

// placeKey reports whether text has the form of a record's key in store/records.
func placeKey(text string) bool {
	return len(text) == 52 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func checkIdentity(text string) error {
	if d, err := objects.ParseDigest(text); err != nil || d.String() != text {
		return fault.New(fault.Usage, "registry identity %q: want sha256: and 64 hexadecimal digits", words.Brief(text))
	}
	return nil
}

// checkBindable accepts a namespace that a registry can own.
func checkBindable(ns string) error {
	if ns == objects.LocalNamespace {
		return fault.New(fault.Usage, "namespace %q: it has no owners, so no registry can own it", ns)
	}
	return checkNamespace(ns)
}

func checkOverride(item, key string) error {
	ref, err := objects.ParseRef(item)
	if err != nil || ref.String() != item || ref.ID.Namespace() == objects.LocalNamespace {
		return fault.New(fault.Usage, "want kind:id in a namespace that another person owns")
	}
	fp, err := objects.ParseFingerprint(key)
	if err == nil && (fp.IsZero() || fp.String() != key) {
		err = fault.New(fault.Usage, "fingerprint %q: want SHA256: and 43 characters", words.Brief(key))
	}
	return err
}
