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

// Taken holds the contents that signers took back: the lines of .ai/denied, and lines kept
// from it before. nil holds none. It is safe for concurrent use.
type Taken struct {
	here *objects.TakenIndex
	sum  objects.Digest // of the text of .ai/denied
	kept KeptTaken
	keys *Dismissed
}

// WithKeys returns t with the denials of keys in .ai/denied-keys.
func (t *Taken) WithKeys(keys *Dismissed) *Taken {
	if keys == nil {
		return t
	}
	if t == nil {
		t = &Taken{}
	}
	n := *t
	n.keys = keys
	return &n
}

// KeptTaken holds kept lines of .ai/denied. Their signers owned the namespace of the item in a
// directory of the same project when rye read them there. Their signatures are not verified.
type KeptTaken interface {
	// Signers returns the signers of the kept lines.
	Signers() ([]objects.Fingerprint, error)
	// Find returns the lines of a signer that take a digest back.
	Find(signer objects.Fingerprint, d objects.Digest) ([]objects.Taken, error)
	// Sum returns a digest of all lines.
	Sum() (objects.Digest, error)
}

// NewTaken returns the lines in raw, the text of .ai/denied, and the kept ones. kept may be
// nil. The caller must not change raw.
func NewTaken(raw []byte, kept KeptTaken) *Taken {
	if len(raw) == 0 && kept == nil {
		return nil
	}
	t := &Taken{here: objects.NewTakenIndex(raw), kept: kept}
	if len(raw) > 0 {
		t.sum = objects.DigestOf(raw)
	}
	return t
}

// Sum returns a digest of all lines. A decision by them is valid while it stays the same.
func (t *Taken) Sum() (sum objects.Digest, err error) {
	if t == nil {
		return sum, nil
	}
	sum = t.sum
	if t.kept != nil {
		kept, err := t.kept.Sum()
		if err != nil {
			return sum, err
		}
		if !kept.IsZero() {
			sum = objects.DigestOf(append(sum[:], kept[:]...))
		}
	}
	if t.keys != nil {
		sum = objects.DigestOf(fmt.Appendf(nil, "%s\n%s\n", sum, t.keys.Sum()))
	}
	return sum, nil
}

// Denies returns an error (Revoked) when a line takes a verified item back. The line must have
// the item's ref and digest, and a valid signature by a key that may do so (MayTakeBack). Denies
// also returns an error (Revoked) for a denied key, and another error when the kept lines cannot
// be read.
func (t *Taken) Denies(v Verified, st *Store) error {
	if t == nil || v.IsZero() {
		return nil
	}
	if err := t.keys.denies(v, st); err != nil {
		return err
	}
	it := v.Item()
	for _, sum := range []objects.Digest{it.Sum, it.Digest} {
		for _, l := range t.here.Find(sum) {
			if err := denies(l, v, st, false); err != nil {
				return err
			}
		}
	}
	return t.keptDenies(v, st)
}

// keptDenies is Denies for the kept lines. It reads only the lines of signers that may take
// the item back here.
func (t *Taken) keptDenies(v Verified, st *Store) error {
	if t.kept == nil {
		return nil
	}
	signers, err := t.kept.Signers()
	if err != nil {
		return err
	}
	it := v.Item()
	for _, fp := range signers {
		if _, ok := mayTakeBack(fp, v, st, true); !ok {
			continue
		}
		for _, sum := range []objects.Digest{it.Sum, it.Digest} {
			lines, err := t.kept.Find(fp, sum)
			if err != nil {
				return err
			}
			for _, l := range lines {
				if err := denies(l, v, st, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// denies returns an error (Revoked) when one line takes a verified item back.
func denies(l objects.Taken, v Verified, st *Store, kept bool) error {
	ref := v.Item().Ref
	if l.Ref != ref {
		return nil
	}
	k, ok := mayTakeBack(l.Key, v, st, kept)
	if !ok || !k.Verify(l.Message(v.Scope().binds()), l.Sig[:]) {
		return nil
	}
	return fault.New(fault.Revoked, "verify %s: taken back on %s by %s, in .ai/%s", ref, l.At.Format(time.DateOnly), k, objects.TakenFile).
		Advise("use another version: rye log %s", ref)
}

// MayTakeBack reports whether a key may take a verified item back: it signed the item, or it
// owns the item's namespace in the scope of the verification.
func MayTakeBack(k PublicKey, v Verified, st *Store) bool {
	got, ok := mayTakeBack(k.Fingerprint(), v, st, false)
	return ok && got == k
}

// mayTakeBack is MayTakeBack for the key with a fingerprint. A kept line stays valid after the
// retirement of its key, because the key was in use when rye kept the line.
func mayTakeBack(fp objects.Fingerprint, v Verified, st *Store, kept bool) (PublicKey, bool) {
	if k := v.Key(); k.Fingerprint() == fp {
		return k, true
	}
	k, state := v.Scope().Owner(st, fp, v.Item().Ref)
	return k, state == Current || kept && state == Retired
}

// Owner returns the key with a fingerprint if it owns the namespace of ref in a scope, and
// whether it is Current or Retired there. For any other key the state is "", and its lines
// about ref have no effect there. If the user gave the namespace to a registry in the
// directory, the owners are the registry's keys. Otherwise they are the user's own keys, and
// the keys granted for the namespace in this directory or pinned for it in the user space. A
// grant to override ref also makes a key an owner. The declarations of the directory do not
// matter, so a branch cannot undo a revocation.
func (in Scope) Owner(s *Store, fp objects.Fingerprint, ref objects.Ref) (k PublicKey, state KeyState) {
	ns := ref.ID.Namespace()
	k, known := s.known[fp]
	if _, denied := s.deniedKey(fp); denied || !known || in.Space == objects.System {
		return PublicKey{}, ""
	}
	project, own, current := in.Space == objects.Project, s.IsOwn(k), Current
	if o, ok := s.ownKey(k); ok && o.Retired != "" {
		current = Retired
	}
	if project && own && !s.Accepted(in.Site()) {
		return PublicKey{}, ""
	}
	b, bound := s.bound[ns]
	switch {
	case project && in.Registry == "" && s.Granted(in.Site().Override(ref, fp)):
		return k, current
	case Reserved(ns):
		return PublicKey{}, ""
	case bound && s.scopes.of(in.Site(), ns) == b.Registry:
		if state := b.state(k); state == Current || state == Retired {
			return k, state
		}
		return PublicKey{}, ""
	case in.Registry != "":
		return PublicKey{}, ""
	case own, project && s.Granted(in.Site().Signer(ns, k)):
		return k, current
	}
	for _, p := range s.pins {
		if in.Space == objects.User && p.Key == k && slices.Contains(p.Namespaces, ns) {
			return k, Current
		}
	}
	return PublicKey{}, ""
}

// TakeBack signs the line that takes a content of an item back.
func TakeBack(ctx context.Context, k Signer, ref objects.Ref, d objects.Digest, project string, at time.Time) (objects.Taken, error) {
	l := objects.Taken{Ref: ref, Digest: d, At: at.UTC().Truncate(time.Second), Key: k.Public().Fingerprint()}
	sig, err := k.Sign(ctx, l.Message(project))
	if err != nil {
		return l, err
	}
	if len(sig) != len(l.Sig) || !k.Public().Verify(l.Message(project), sig) {
		return l, fault.New(fault.Integrity, "deny %s: the key made no valid signature (%s)", ref, words.Plural(len(sig), "byte"))
	}
	copy(l.Sig[:], sig)
	return l, nil
}
