package trust

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rye-os/rye/objects"
)

// Declared holds the other signers that a directory declares: its allowed_signers, and the
// overrides in its rye.yaml. It can only narrow trust: another person's key is trusted when
// the user granted it and the directory still declares it. nil declares no keys. It is safe
// for concurrent use, and parses the keys on first use.
type Declared struct {
	overrides []StatedOverride
	removed   *Dismissed // signers that owners removed; here, and in lines seen before
	sum       objects.Digest
	read      func() (*Signers, error)
}

// NewDeclared returns the declarations of a directory: raw is the text of its allowed_signers
// file, err is why the text cannot be read. An empty text declares no keys. removed holds the
// removals that ended earlier grants; it may be nil. The caller must not change the arguments
// afterwards.
func NewDeclared(raw []byte, err error, overrides []StatedOverride, removed *Dismissed) *Declared {
	d := &Declared{overrides: overrides, removed: removed}
	d.sum = objects.DigestOf(fmt.Appendf(slices.Clone(raw), "\n%v\n%v\n%s", err, overrides, removed.Sum()))
	d.read = sync.OnceValues(func() (*Signers, error) {
		if err != nil {
			return nil, err
		}
		return ParseSigners(raw)
	})
	return d
}

// At returns d for another directory with the same declarations. The owners there decide
// which removals are valid.
func (d *Declared) At(at Site) *Declared {
	if d == nil || d.removed == nil {
		return d
	}
	n, removed := *d, *d.removed
	removed.at, n.removed = at, &removed
	return &n
}

// Sum returns a digest of all declarations. A decision by them is valid while it stays the
// same.
func (d *Declared) Sum() objects.Digest {
	if d == nil {
		return objects.Digest{}
	}
	return d.sum
}

// Signers returns the declared signers. A file that breaks its format is an error, and
// declares no signers.
func (d *Declared) Signers() (*Signers, error) {
	if d == nil {
		return &Signers{}, nil
	}
	return d.read()
}

// signs reports whether the directory declares k as a signer for a namespace. A missing or
// unreadable file declares none.
func (d *Declared) signs(k PublicKey, namespace string) bool {
	s, err := d.Signers()
	return err == nil && s.Has(k, namespace)
}

// stands reports whether the directory declares an override of ref by items that key signed.
func (d *Declared) stands(ref objects.Ref, key objects.Fingerprint) bool {
	return d != nil && slices.Contains(d.overrides, StatedOverride{ref, key})
}

// key returns a declared key, so that its signatures can be checked before a grant.
func (d *Declared) key(fp objects.Fingerprint) (PublicKey, bool) {
	s, err := d.Signers()
	if err != nil {
		return PublicKey{}, false
	}
	return s.Key(fp)
}
