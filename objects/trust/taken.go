package trust

import (
	"context"
	"fmt"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Taken is what signers took back in .ai/denied, there or where it was seen before. nil is
// nothing. It is safe for concurrent use.
type Taken struct {
	byDigest map[objects.Digest][]objects.Taken
	Sum      objects.Digest // of all its lines; zero for none
	keys     *Dismissed
}

// WithKeys returns t with what was denied of keys in .ai/denied-keys.
func (t *Taken) WithKeys(keys *Dismissed) *Taken {
	if keys == nil {
		return t
	}
	if t == nil {
		t = &Taken{}
	}
	n := *t
	n.keys, n.Sum = keys, objects.DigestOf(fmt.Appendf(nil, "%s\n%s\n", t.Sum, keys.Sum()))
	return &n
}

// NewTaken returns what lines take back. They are believed only where they apply.
func NewTaken(lines []objects.Taken) *Taken {
	if len(lines) == 0 {
		return nil
	}
	t := &Taken{byDigest: map[objects.Digest][]objects.Taken{}, Sum: objects.DigestOf(objects.EncodeTakenFile(lines))}
	for _, l := range lines {
		t.byDigest[l.Digest] = append(t.byDigest[l.Digest], l)
	}
	return t
}

// Denies returns an error (Revoked) when a line takes back what was verified: its ref and
// its digest are named, by a key that may do so (MayTakeBack), whose signature holds.
func (t *Taken) Denies(v Verified, st *Store) error {
	if t == nil || v.IsZero() {
		return nil
	}
	if err := t.keys.denies(v, st); err != nil {
		return err
	}
	it := v.Item()
	for _, sum := range []objects.Digest{it.Sum, it.Digest} {
		for _, l := range t.byDigest[sum] {
			if l.Ref != it.Ref {
				continue
			}
			k, ok := mayTakeBack(l.Key, v, st)
			if ok && k.Verify(l.Message(v.Scope().binds()), l.Sig[:]) {
				return fault.New(fault.Revoked, "verify %s: taken back on %s by %s, in .ai/%s", it.Ref, l.At.Format(time.DateOnly), k, objects.TakenFile).
					Advise("use another version: rye log %s", it.Ref)
			}
		}
	}
	return nil
}

// MayTakeBack reports whether a key may take back what was verified: it signed it, or is a
// current key of whom a registry says the namespace belongs to.
func MayTakeBack(k PublicKey, v Verified, st *Store) bool {
	got, ok := mayTakeBack(k.Fingerprint(), v, st)
	return ok && got == k
}

func mayTakeBack(fp objects.Fingerprint, v Verified, st *Store) (PublicKey, bool) {
	if k := v.Key(); k.Fingerprint() == fp {
		return k, true
	}
	if b, ok := st.Binding(v.Item().Ref.ID.Namespace()); ok {
		for _, bk := range b.Keys {
			if bk.State == Current && bk.Key.Fingerprint() == fp {
				return bk.Key, true
			}
		}
	}
	return PublicKey{}, false
}

// Genuine returns the lines that keys known here signed, for the project with a genesis
// id. Others are not worth keeping: anybody can write them.
func Genuine(lines []objects.Taken, project string, st *Store) []objects.Taken {
	var all []objects.Taken
	for _, l := range lines {
		if k, ok := st.Key(l.Key); ok && k.Verify(l.Message(project), l.Sig[:]) {
			all = append(all, l)
		}
	}
	return all
}

// TakeBack signs the line that takes a content of an item back.
func TakeBack(ctx context.Context, k Signer, ref objects.Ref, d objects.Digest, project string, at time.Time) (objects.Taken, error) {
	l := objects.Taken{Ref: ref, Digest: d, At: at.UTC().Truncate(time.Second), Key: k.Public().Fingerprint()}
	sig, err := k.Sign(ctx, l.Message(project))
	if err != nil {
		return l, err
	}
	if len(sig) != len(l.Sig) || !k.Public().Verify(l.Message(project), sig) {
		return l, fault.New(fault.Integrity, "deny %s: the key made no signature that holds (%s)", ref, words.Plural(len(sig), "byte"))
	}
	copy(l.Sig[:], sig)
	return l, nil
}
