package trust

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rye-os/rye/objects"
)

// Declared is what a directory says of others whose items it means to hold: its
// allowed_signers, and the overrides of its rye.yaml. It can only narrow: a key of
// somebody else's that was granted counts while it is declared. nil declares nobody. It is
// safe for concurrent use, and reads the keys when the first one is asked about.
type Declared struct {
	overrides []StatedOverride
	removed   *Dismissed // signers that owners took out; here, and seen before
	sum       objects.Digest
	read      func() (*Signers, error)
}

// NewDeclared returns what the text of an allowed_signers file and overrides declare; err
// is why the text cannot be read. No text declares nobody. removed is what ended earlier
// grants; it may be nil. The caller must not change them afterwards.
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

// At returns d as a directory that declares the same judges removals: by the owners there.
func (d *Declared) At(at Site) *Declared {
	if d == nil || d.removed == nil {
		return d
	}
	n, removed := *d, *d.removed
	removed.at, n.removed = at, &removed
	return &n
}

// Sum digests all of it: what was judged by it holds as long as that stays.
func (d *Declared) Sum() objects.Digest {
	if d == nil {
		return objects.Digest{}
	}
	return d.sum
}

// Signers returns the declared signers. A file that breaks its format is an error, and
// then nobody is declared.
func (d *Declared) Signers() (*Signers, error) {
	if d == nil {
		return &Signers{}, nil
	}
	return d.read()
}

// signs reports whether the directory means what k signs in a namespace to count. Where
// the file is missing or cannot be read nobody is meant.
func (d *Declared) signs(k PublicKey, namespace string) bool {
	s, err := d.Signers()
	return err == nil && s.Has(k, namespace)
}

// stands reports whether the directory means an item by a key to stand for another.
func (d *Declared) stands(ref objects.Ref, key objects.Fingerprint) bool {
	return d != nil && slices.Contains(d.overrides, StatedOverride{ref, key})
}

// key returns a declared key, so that what it signed can be checked before it counts.
func (d *Declared) key(fp objects.Fingerprint) (PublicKey, bool) {
	s, err := d.Signers()
	if err != nil {
		return PublicKey{}, false
	}
	return s.Key(fp)
}
