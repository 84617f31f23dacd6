package trust

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Dismissed holds the lines against keys of namespaces in one project: removals of signers,
// or denials of keys, both from its files and from lines seen before. A line has no effect
// until its signature is verified with a key that may dismiss. nil holds no lines. It is safe
// for concurrent use.
type Dismissed struct {
	at  Site
	of  map[dismissed][]dismissal
	sum objects.Digest
}

// dismissal is one line. An owner had signed a kept line when rye kept it, so it stays valid
// after the retirement of its key.
type dismissal struct {
	objects.Dismissal
	kept bool
}

type dismissed struct {
	namespace string
	signer    objects.Fingerprint
}

// NewDismissed returns the dismissals for a project's directory: the lines in its files, and
// the lines that rye kept.
func NewDismissed(at Site, here, kept []objects.Dismissal) *Dismissed {
	if len(here)+len(kept) == 0 {
		return nil
	}
	d := &Dismissed{at: at, of: map[dismissed][]dismissal{}}
	d.sum = objects.DigestOf(fmt.Appendf(objects.EncodeDismissals(here), "\n%s", objects.EncodeDismissals(kept)))
	for i, l := range slices.Concat(here, kept) {
		of := dismissed{l.Namespace, l.Signer}
		d.of[of] = append(d.of[of], dismissal{l, i >= len(here)})
	}
	return d
}

// Sum returns a digest of all lines; zero for none.
func (d *Dismissed) Sum() objects.Digest {
	if d == nil {
		return objects.Digest{}
	}
	return d.sum
}

// newest returns the latest valid line since a time that takes a key out of a namespace, and
// the key that signed it. The user's own keys are never taken out.
func (d *Dismissed) newest(s *Store, namespace string, k PublicKey, after time.Time) (found objects.Dismissal, by PublicKey, ok bool) {
	if d == nil || s.IsOwn(k) {
		return found, by, false
	}
	for _, l := range d.of[dismissed{namespace, k.Fingerprint()}] {
		if l.At.Before(after) || ok && !l.At.After(found.At) {
			continue
		}
		if key, may := s.dismisses(l, d.at, k); may {
			found, by, ok = l.Dismissal, key, true
		}
	}
	return found, by, ok
}

// Dismisses returns the key that signed a line, if the line is valid in a project's directory:
// its signature verifies, and its key owns the namespace there. The signer of a removal may
// also be the removed key. k is the key that the line is about, if known.
func (s *Store) Dismisses(l objects.Dismissal, at Site, k PublicKey) (by PublicKey, ok bool) {
	return s.dismisses(dismissal{Dismissal: l}, at, k)
}

func (s *Store) dismisses(l dismissal, at Site, k PublicKey) (by PublicKey, ok bool) {
	by, ok = s.known[l.Key]
	if !ok && l.Key == l.Signer && k.Fingerprint() == l.Key {
		by, ok = k, true
	}
	if !ok || !s.mayDismiss(by, l, at) {
		return PublicKey{}, false
	}
	return by, by.Verify(l.Message(at.Project), l.Sig[:])
}

// MayDismiss reports whether a key may take another one out of a namespace in a directory.
func (s *Store) MayDismiss(by PublicKey, kind objects.DismissalKind, namespace string, signer objects.Fingerprint, at Site) bool {
	return s.mayDismiss(by, dismissal{Dismissal: objects.Dismissal{Kind: kind, Namespace: namespace, Signer: signer}}, at)
}

func (s *Store) mayDismiss(by PublicKey, l dismissal, at Site) bool {
	if l.Kind == objects.SignerRemoved && by.Fingerprint() == l.Signer {
		return true
	}
	state := s.ownsIn(by, l.Namespace, at)
	return state == Current || l.kept && state == Retired
}

// ownsIn returns whether a key that owns a namespace in a project's directory is current,
// retired or revoked, and "" for a key that does not own it. If the user gave the namespace to
// a registry there, the owners are the registry's keys. Otherwise they are the user's own keys
// and the keys granted for the namespace there. The declarations of the directory do not
// matter, so a branch cannot undo a removal.
func (s *Store) ownsIn(k PublicKey, namespace string, at Site) KeyState {
	_, denied := s.deniedKey(k.Fingerprint())
	own, isOwn := s.ownKey(k)
	b, bound := s.bound[namespace]
	switch {
	case denied, isOwn && !s.Accepted(at):
		return ""
	case bound && s.scopes.of(at, namespace) == b.Registry && !Reserved(namespace):
		return b.state(k)
	case isOwn && own.Retired != "":
		return Retired
	case isOwn, !Reserved(namespace) && s.Granted(at.Signer(namespace, k)): // only the user owns a reserved one
		return Current
	}
	return ""
}

// EndRemoved drops the grants of a directory that a removal ended, and returns their number.
// They then stay ended even when the key that signed the removal is no longer known.
func (s *Store) EndRemoved(at Site, d *Declared) int {
	return s.Ungrant(func(g Grant) bool { return g.Site == at && s.ended(g, d) })
}

// HasRemoved reports whether EndRemoved would drop a grant.
func (s *Store) HasRemoved(at Site, d *Declared) bool {
	return slices.ContainsFunc(s.grants, func(g Grant) bool { return g.Site == at && s.ended(g, d) })
}

func (s *Store) ended(g Grant, d *Declared) bool {
	_, ok := d.Removal(s, g)
	return ok
}

// Dismiss signs a line that takes a key out of a namespace.
func Dismiss(ctx context.Context, k Signer, kind objects.DismissalKind, namespace string, signer objects.Fingerprint, project string, at time.Time) (objects.Dismissal, error) {
	l := objects.Dismissal{Kind: kind, Namespace: namespace, Signer: signer, At: at.UTC().Truncate(time.Second), Key: k.Public().Fingerprint()}
	sig, err := k.Sign(ctx, l.Message(project))
	if err != nil {
		return l, err
	}
	if len(sig) != len(l.Sig) || !k.Public().Verify(l.Message(project), sig) {
		return l, fault.New(fault.Integrity, "remove %s from %s/: the key made no valid signature (%s)", signer, namespace, words.Plural(len(sig), "byte"))
	}
	copy(l.Sig[:], sig)
	return l, nil
}

// Removal is the removal that ended a grant to a key.
type Removal struct {
	At time.Time
	By PublicKey
}

// String returns the day and the key.
func (r Removal) String() string { return r.At.Format(time.DateOnly) + " by " + r.By.String() }

// Removal returns the newest removal since the time of a grant to another person's key. If
// there is no such grant, it returns the newest removal of all.
func (d *Declared) Removal(s *Store, g Grant) (r Removal, ok bool) {
	if d == nil || d.removed == nil {
		return r, false
	}
	namespace, k, ok := g.signs(d, s)
	if !ok {
		return r, false
	}
	l, by, ok := d.removed.newest(s, namespace, k, s.granted[g.same()])
	return Removal{l.At, by}, ok
}

// Claimed is like Removal, but includes removals by keys that the directory declares for the
// namespace and the user has not granted. Such a removal has no effect: rye shows it to a
// person before a grant.
func (d *Declared) Claimed(s *Store, g Grant) (r Removal, ok bool) {
	if r, ok = d.Removal(s, g); ok || d == nil || d.removed == nil {
		return r, ok
	}
	namespace, k, found := g.signs(d, s)
	if !found || s.IsOwn(k) {
		return r, false
	}
	for _, l := range d.removed.of[dismissed{namespace, k.Fingerprint()}] {
		by, known := d.key(l.Key)
		if known && d.signs(by, namespace) && l.At.After(r.At) && !l.At.Before(s.granted[g.same()]) && by.Verify(l.Message(d.removed.at.Project), l.Sig[:]) {
			r, ok = Removal{l.At, by}, true
		}
	}
	return r, ok
}

// signs returns the namespace and the key that a grant is about.
func (g Grant) signs(d *Declared, s *Store) (namespace string, k PublicKey, ok bool) {
	what, of := g.Cut()
	switch g.Kind {
	case GrantSigner:
		k, err := ParsePublicKey(of)
		return what, k, err == nil
	case GrantOverride:
		ref, err := objects.ParseRef(what)
		fp, kerr := objects.ParseFingerprint(of)
		if err != nil || kerr != nil {
			return "", k, false
		}
		if k, ok = s.known[fp]; !ok {
			k, ok = d.key(fp)
		}
		return ref.ID.Namespace(), k, ok
	case GrantPatch:
		c, ok := g.Contribution()
		return c.Ref.ID.Namespace(), c.Key, ok
	}
	return "", k, false
}

// stands reports whether the user granted g and no removal has ended it.
func (s *Store) stands(g Grant, d *Declared) bool {
	if !s.Granted(g) {
		return false
	}
	_, removed := d.Removal(s, g)
	return !removed
}

// denies returns an error (Revoked) when the lines deny the key of a verified item for the
// item's namespace.
func (d *Dismissed) denies(v Verified, s *Store) error {
	if d == nil {
		return nil
	}
	it := v.Item()
	l, by, ok := d.newest(s, it.Ref.ID.Namespace(), v.Key(), time.Time{})
	if !ok {
		return nil
	}
	return fault.New(fault.Revoked, "verify %s: signed by %s, which %s denied for %s/ on %s, in .ai/%s", it.Ref, v.Key(), by, l.Namespace, l.At.Format(time.DateOnly), objects.DeniedKeysFile).
		Advise("ask for a version that another key signed")
}
