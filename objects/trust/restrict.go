package trust

import (
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Restriction is one change by Restrict.
type Restriction struct {
	Kind    string // deny, retired, legacy, key
	Subject string
	Detail  string
}

// Restrict takes over every restriction of an older or another copy of the user's store: its
// denials, the retirement of own keys, and a missing permission for lines of RYE OS. later
// reports whether the copy saw a later state of a registry's namespace; then keys that the
// registry had retired or revoked there are so here, too. kept returns the digest of a list
// that was written here with KeepList; a key without one is trusted for no file. Nothing that
// this store refuses becomes allowed, and no key is added.
func (s *Store) Restrict(copied *Store, later func(registry, namespace string) bool, kept func(PublicKey) objects.Digest) (done []Restriction, err error) {
	for _, d := range copied.denials {
		if slices.ContainsFunc(s.denials, func(x Denial) bool { x.Reason = d.Reason; return x == d }) {
			continue
		}
		if err := s.deny(d); err != nil {
			return nil, err
		}
		r := Restriction{Kind: "deny", Subject: d.Digest.String(), Detail: d.Reason}
		if !d.Key.IsZero() {
			r.Subject = d.Key.String()
		}
		done = append(done, r)
	}
	for _, o := range copied.own {
		mine, ok := s.ownKey(o.Key)
		if !ok || mine.Retired != "" || o.Retired == "" {
			continue
		}
		if err := s.RetireOwn(o.Key, mine.Name, o.Retired, kept(o.Key)); err != nil {
			return nil, err
		}
		done = append(done, Restriction{Kind: "retired", Subject: o.Key.String(), Detail: "retired on " + o.Retired})
	}
	if s.allowLegacy && !copied.allowLegacy {
		s.SetAllowLegacy(false)
		done = append(done, Restriction{Kind: "legacy", Subject: "signature lines of RYE OS", Detail: "no longer accepted"})
	}
	for _, b := range copied.Bindings() {
		mine, ok := s.bound[b.Namespace]
		if !ok || mine.Registry != b.Registry || !later(b.Registry, b.Namespace) {
			continue
		}
		keys := slices.Clone(mine.Keys)
		for i, k := range keys {
			if state := b.state(k.Key); state == Revoked && k.State != Revoked || state == Retired && k.State == Current {
				keys[i] = BoundKey{Key: k.Key, State: state}
				done = append(done, Restriction{Kind: "key", Subject: k.Key.String(), Detail: fmt.Sprintf("%s for %s/", state, b.Namespace)})
			}
		}
		if !slices.Equal(keys, mine.Keys) {
			mine.Keys = keys
			s.bound[b.Namespace] = mine
			s.changed()
		}
	}
	return done, nil
}

// KeptList returns the text of the list of files that a retired key of the user still signs;
// "" for none.
func (s *Store) KeptList(k PublicKey) (string, error) {
	o, ok := s.ownKey(k)
	if !ok || o.Kept.IsZero() {
		return "", nil
	}
	text, err := readKept(s.path, keptPath(s.path, k), o.Kept)
	return string(text), err
}

// ParseKept reads the text of such a list.
func ParseKept(text string) (sums []objects.Digest, err error) {
	if len(text) > keptMax {
		return nil, fault.New(fault.Limit, "list of kept files: more than %d bytes", keptMax)
	}
	if err := parseKept([]byte(text)); err != nil {
		return nil, err
	}
	for i := 0; i < len(text); i += keptLine {
		d, err := objects.ParseDigest(text[i : i+keptLine-1])
		if err != nil {
			return nil, fault.New(fault.Malformed, "list of kept files: %q", words.Brief(text[i:i+keptLine-1]))
		}
		sums = append(sums, d)
	}
	return sums, nil
}
