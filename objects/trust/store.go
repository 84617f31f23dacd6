package trust

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Store holds the user's decisions about trust: the content of trust.yaml.
// docs/format/trust.md is normative. Reading one is safe for concurrent use; changing
// one is not. Only changes made inside Update or Ensure reach the file.
type Store struct {
	path  string
	read  objects.Digest // of the file's bytes when it was read; zero when there was none
	fresh bool           // no change since then

	own         []OwnKey
	pins        []Pin
	grants      []Grant
	registries  []Registry
	bound       map[string]Binding // by namespace
	denials     []Denial
	allowLegacy bool

	known   map[objects.Fingerprint]PublicKey // every key above
	denied  deniedBy                          // the user's own denials
	granted map[Grant]time.Time               // grants without their times, to the time
	scopes  scopes                            // of the grants

	contributed map[contributed]Grant                   // the patch grants
	keyFile     func(objects.Fingerprint) (path string) // see KeyFiles; may be nil

	revokedDir string              // the directory of the lists; see RevokedIn
	revokedBy  map[string][]string // by namespace, the registries that revoked some of its versions
	revokedSum objects.Digest      // of the state of their lists

	mu       sync.Mutex
	verdicts map[verdict]struct{}
	combs    combs
	lists    keptLists // of retired keys, read on first use
}

// OwnKey is a key whose private half the user holds. It is trusted for every id without
// another owner, in the user space and in directories with the grant "project".
type OwnKey struct {
	Key        PublicKey
	Name       string         // of its file among the keys, or a label
	Namespaces []string       // claimed: a registry that binds one of them to other keys is a conflict
	Retired    string         // the day of its retirement, as 2006-01-02; "" while it is in use
	Kept       objects.Digest // of the list of files that a retired key is trusted for; zero for none
}

// Pin is another person's key, trusted for some namespaces in the user space. In a
// project a Grant is needed.
type Pin struct {
	Key        PublicKey
	Name       string   // of its owner, for people; no decision depends on it
	Namespaces []string // at least one; never reserved
}

// Registry is a pinned registry.
type Registry struct {
	ID    string                // identity: "sha256:" and the digest of its genesis commit
	URL   string                // of the first contact; advisory, but two identities never share one
	Roots []objects.Fingerprint // keys that may sign its root branch
}

// KeyState is a registry's statement about a key of a namespace.
type KeyState string

// The states of a bound key.
const (
	Current KeyState = "current" // signs new items
	Retired KeyState = "retired" // trusted only for content that the registry's verified log holds
	Revoked KeyState = "revoked" // never trusted
)

// BoundKey is a key of a bound namespace.
type BoundKey struct {
	Key    PublicKey
	State  KeyState
	Logged objects.Digest // retired: of the list of its contents in the verified log (KeepLogged); zero for none
}

// Binding gives a namespace to a registry, which decides who owns it. Only the keys here
// are trusted for its items; the user's own keys are no exception.
type Binding struct {
	Namespace string
	Registry  string // identity
	Keys      []BoundKey
}

// state returns the state of k in b, "" when b does not hold it.
func (b Binding) state(k PublicKey) KeyState { return b.key(k).State }

// Logged returns the digest of the list of contents that a retired key published; zero for a
// key that is not retired in b.
func (b Binding) Logged(k PublicKey) objects.Digest { return b.key(k).Logged }

// key returns the entry of k in b, or the zero BoundKey.
func (b Binding) key(k PublicKey) BoundKey {
	for _, bk := range b.Keys {
		if bk.Key == k {
			return bk
		}
	}
	return BoundKey{}
}

// Denial denies a key or a content. Exactly one of Key and Digest is set. Digest is the SHA-256
// of a whole file or of a body. The user's own denial applies everywhere. A denial with a
// Registry has a digest, and applies to items of its Namespace where that registry decides.
type Denial struct {
	Key       objects.Fingerprint
	Digest    objects.Digest
	Registry  string // identity; "" for the user's own
	Namespace string // with Registry
	Reason    string
}

// reserved are the namespaces of the system space.
var reserved = []string{"rye", "core", "std"}

// Reserved reports whether a namespace belongs to the system space. Its items are
// trusted only from the embedded bundle, or with a grant to override.
func Reserved(namespace string) bool { return slices.Contains(reserved, namespace) }

// changed must follow every change of the store.
func (s *Store) changed() {
	s.fresh = false
	s.sort()
	s.index()
}

// index rebuilds the lookup tables from the lists.
func (s *Store) index() {
	s.known = make(map[objects.Fingerprint]PublicKey)
	for _, o := range s.own {
		s.known[o.Key.Fingerprint()] = o.Key
	}
	for _, p := range s.pins {
		s.known[p.Key.Fingerprint()] = p.Key
	}
	for _, b := range s.bound {
		for _, k := range b.Keys {
			s.known[k.Key.Fingerprint()] = k.Key
		}
	}
	for _, k := range signersIn(s.grants) {
		s.known[k.Fingerprint()] = k
	}
	s.denied = deniedBy{keys: map[objects.Fingerprint]string{}, digests: map[objects.Digest]string{}}
	for _, d := range s.denials {
		switch {
		case !d.Key.IsZero():
			s.denied.keys[d.Key] = d.Reason
		case d.Registry == "":
			s.denied.digests[d.Digest] = d.Reason
		}
	}
	s.granted = make(map[Grant]time.Time, len(s.grants))
	for _, g := range s.grants {
		s.granted[g.same()] = g.At
	}
	s.scopes = scopesIn(s.grants)
	s.contributed = contributions(s.grants)
	s.mu.Lock()
	s.verdicts = nil
	s.mu.Unlock()
}

// Own returns the user's keys, sorted by fingerprint. The caller owns the slice.
func (s *Store) Own() []OwnKey { return slices.Clone(s.own) }

// Pins returns other people's keys, sorted by fingerprint. The caller owns the slice.
func (s *Store) Pins() []Pin { return slices.Clone(s.pins) }

// Registries returns the pinned registries, sorted by identity.
func (s *Store) Registries() []Registry { return slices.Clone(s.registries) }

// Registry returns the pinned registry with an identity.
func (s *Store) Registry(id string) (Registry, bool) {
	for _, r := range s.registries {
		if r.ID == id {
			return r, true
		}
	}
	return Registry{}, false
}

// Binding returns the binding of a namespace.
func (s *Store) Binding(namespace string) (Binding, bool) {
	b, ok := s.bound[namespace]
	return b, ok
}

// Bindings returns every binding, sorted by namespace.
func (s *Store) Bindings() []Binding {
	var bs []Binding
	for _, b := range s.bound {
		bs = append(bs, b)
	}
	slices.SortFunc(bs, func(a, b Binding) int { return strings.Compare(a.Namespace, b.Namespace) })
	return bs
}

// Denials returns the denials: keys first, then digests, each sorted.
func (s *Store) Denials() []Denial { return slices.Clone(s.denials) }

// AllowLegacy reports whether the store accepts lines of RYE OS, if they cover
// enough. See docs/format/trust.md.
func (s *Store) AllowLegacy() bool { return s.allowLegacy }

// Key returns the known key with a fingerprint.
func (s *Store) Key(fp objects.Fingerprint) (PublicKey, bool) {
	k, ok := s.known[fp]
	return k, ok
}

// IsOwn reports whether k is one of the user's keys.
func (s *Store) IsOwn(k PublicKey) bool {
	return slices.ContainsFunc(s.own, func(o OwnKey) bool { return o.Key == k })
}

// legacyKeys returns the known keys with a fingerprint of RYE OS or of RyeOS 0.5.
func (s *Store) legacyKeys(fingerprint string) []PublicKey {
	var found []PublicKey
	for _, k := range s.known {
		if k.LegacyFingerprint() == fingerprint || k.LaterFingerprint() == fingerprint {
			found = append(found, k)
		}
	}
	return found
}

// deniedBy holds the reasons of the user's own denials.
type deniedBy struct {
	keys    map[objects.Fingerprint]string
	digests map[objects.Digest]string
}

func (s *Store) deniedDigest(ds ...objects.Digest) (reason string, denied bool) {
	for _, d := range ds {
		if reason, denied = s.denied.digests[d]; denied {
			return reason, true
		}
	}
	return "", false
}

func (s *Store) deniedKey(fp objects.Fingerprint) (reason string, denied bool) {
	reason, denied = s.denied.keys[fp]
	return reason, denied
}

// verdict is a signature that was verified. It depends only on fixed values: the
// bytes, the name and project that they were signed for, and the key.
type verdict struct {
	sum   objects.Digest
	ref   objects.Ref
	bound objects.Bound
	key   PublicKey
}

// maxVerdicts bounds the memory of a long-lived process: about 1 MB.
const maxVerdicts = 4096

// holds reports whether the item's native line is a signature by k. It remembers a
// valid signature until the store changes, and checks an invalid one again each time.
func (s *Store) holds(it *objects.Item, in Scope, k PublicKey) bool {
	v := verdict{it.Sum, it.Ref, it.Bound(in.binds()), k}
	s.mu.Lock()
	_, known := s.verdicts[v]
	s.mu.Unlock()
	if known {
		return true
	}
	msg := objects.SignedMessage(it.Ref, v.bound, *it.Signature)
	if !s.combs.verify(k, msg, it.Signature.Sig[:]) {
		return false
	}
	s.mu.Lock()
	if s.verdicts == nil || len(s.verdicts) >= maxVerdicts {
		s.verdicts = make(map[verdict]struct{})
	}
	s.verdicts[v] = struct{}{}
	s.mu.Unlock()
	return true
}

// Denied returns an error (Revoked) when the user, or a registry whose denial applies in v's
// scope, denied v's content or key. It is for items that a manifest covers, because Verify
// does not check those.
func (s *Store) Denied(v Verified) error {
	it := v.Item()
	if why, ok := s.deniedDigest(it.Sum, it.Digest); ok {
		return fault.New(fault.Revoked, "verify %s: this content was denied%s", it.Ref, because(why))
	}
	if why, ok := s.deniedKey(v.Key().Fingerprint()); ok {
		return fault.New(fault.Revoked, "verify %s: signed by %s, which was denied%s", it.Ref, v.Key(), because(why))
	}
	r, ok, err := s.revocation(it.Ref, v.Scope(), it.Sum, it.Digest)
	if err != nil {
		return fault.Wrap(err, "verify %s", it.Ref)
	}
	if ok {
		return fault.New(fault.Revoked, "verify %s: %s", it.Ref, r)
	}
	return nil
}
