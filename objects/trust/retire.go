package trust

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// A retired key stays trusted only for the exact bytes that it had signed when it was
// retired. The date of a signature proves nothing: a signer can write any. A list beside
// the trust store holds the digests of these files, and the trust store holds the
// list's digest. The record of a space is no substitute: a thief of the key can write
// there, too.

const (
	keptDir  = "kept"
	keptMax  = 16 << 20 // bytes of a list: 229,000 files
	keptLine = len("sha256:") + 64 + 1
)

// KeepList writes the list of files for which k stays trusted beside the trust store at
// path, durably. It returns the list's digest for RetireOwn, or zero for an empty list.
// sums are digests of whole files (items or bundle manifests) in any order.
func KeepList(path string, k PublicKey, sums []objects.Digest) (objects.Digest, error) {
	if len(sums) == 0 {
		return objects.Digest{}, nil
	}
	text := encodeKept(sums)
	if len(text) > keptMax {
		return objects.Digest{}, fault.New(fault.Limit, "retire %s: it signed more than %d files", k, keptMax/keptLine).Mend("rye key rotate --resign")
	}
	if err := place.File(keptPath(path, k), text, 0o600); err != nil {
		return objects.Digest{}, err
	}
	return objects.DigestOf(text), nil
}

func keptPath(store string, k PublicKey) string {
	fp := k.Fingerprint()
	return filepath.Join(filepath.Dir(store), keptDir, fmt.Sprintf("%x", fp[:]))
}

func encodeKept(sums []objects.Digest) []byte {
	sums = slices.Clone(sums)
	slices.SortFunc(sums, func(a, b objects.Digest) int { return bytes.Compare(a[:], b[:]) })
	text := make([]byte, 0, len(sums)*keptLine)
	for _, d := range slices.Compact(sums) {
		text = append(append(text, d.String()...), '\n')
	}
	return text
}

// parseKept checks the form of a list: lines of digests, sorted, each once.
func parseKept(text []byte) error {
	var last objects.Digest
	for i := 0; i < len(text); i += keptLine {
		if len(text)-i < keptLine || text[i+keptLine-1] != '\n' {
			return fault.New(fault.Malformed, "list of kept files: line %d is not a digest", i/keptLine+1)
		}
		d, err := objects.ParseDigest(string(text[i : i+keptLine-1]))
		if err != nil {
			return fault.New(fault.Malformed, "list of kept files: line %d: %w", i/keptLine+1, err)
		}
		if i > 0 && bytes.Compare(last[:], d[:]) >= 0 {
			return fault.New(fault.Malformed, "list of kept files: line %d is repeated or out of order", i/keptLine+1)
		}
		last = d
	}
	return nil
}

// RetireOwn retires one of the user's keys. From then on the key is trusted only for the
// files in the list with the digest kept (KeepList), and it claims no namespaces. A
// second call replaces the list.
func (s *Store) RetireOwn(k PublicKey, name, day string, kept objects.Digest) error {
	if !s.IsOwn(k) {
		return fault.New(fault.NotFound, "retire %s: it is not your key", k).Advise("rye key list")
	}
	o := OwnKey{Key: k, Name: name, Retired: day, Kept: kept}
	if err := checkOwn(o); err != nil {
		return err
	}
	s.own = append(slices.DeleteFunc(s.own, func(x OwnKey) bool { return x.Key == k }), o)
	s.changed()
	return nil
}

// ownKey returns the store's entry for the user's key k.
func (s *Store) ownKey(k PublicKey) (OwnKey, bool) {
	for _, o := range s.own {
		if o.Key == k {
			return o, true
		}
	}
	return OwnKey{}, false
}

// IsRetired reports whether k is one of the user's keys and retired.
func (s *Store) IsRetired(k PublicKey) bool {
	o, ok := s.ownKey(k)
	return ok && o.Retired != ""
}

// judgeOwn decides about one of the user's own keys, which is trusted here unless it is
// retired.
func (s *Store) judgeOwn(k PublicKey, ref objects.Ref, in Scope, sum objects.Digest, why string) (string, error) {
	o, _ := s.ownKey(k)
	if o.Retired == "" {
		return "your own key, and " + why, nil
	}
	there, err := s.lists.hold(s.path, keptPath(s.path, o.Key), o.Kept, sum)
	if there {
		return "your own key, retired on " + o.Retired + ", for bytes that it had signed before, and " + why, nil
	}
	words := "and it had not signed these bytes by then"
	if err != nil {
		words = err.Error()
	}
	return "", fault.New(fault.Revoked, "verify %s in the %s: %s was retired on %s, %s", ref, in, k, o.Retired, words).
		Advise("rye diff %s; then rye sign %s, if it is yours", ref, ref)
}
