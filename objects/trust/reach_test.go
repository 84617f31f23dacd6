package trust

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
)

// TestReach: a registry's denial of a content applies in its namespace, to what is locked from
// that registry, to files of one's own where the namespace is bound to it, and without a
// binding where the key that signed it counts.
func TestReach(t *testing.T) {
	reg, other := objects.DigestOf([]byte("registry")), objects.DigestOf([]byte("other"))
	stranger := objects.Fingerprint{9}
	ownerKey, err := GenerateKey()
	must(t, err)
	owner := ownerKey.Public().Fingerprint()
	here := Site{Place: "hlqbv6xrdyrodcs7e36vc7u5uxfyqlrkojgrvi2kf3ekmkwz2eka", Project: "3f0c9a1b8c2d4e5f60718293a4b5c6d7"}
	sum := objects.DigestOf([]byte("bad"))

	// bound, elsewhere and granted say whether the directory gives acme/ to the registry, to
	// another one, and whether it granted the owner's key for acme/ by hand.
	for name, c := range map[string]struct {
		by             objects.Fingerprint
		bound, granted bool
		elsewhere      bool
		ref            string
		registry       string // that the item is locked from
		want           bool
	}{
		"locked from it":                         {by: stranger, ref: "tool:acme/x", registry: reg.String(), want: true},
		"locked from another":                    {by: owner, ref: "tool:acme/x", registry: other.String(), granted: true},
		"another namespace, locked":              {by: owner, ref: "tool:mine/x", registry: reg.String()},
		"another namespace":                      {by: owner, ref: "tool:mine/x", bound: true, granted: true},
		"bound to it":                            {by: stranger, ref: "tool:acme/x", bound: true, want: true},
		"bound, key unknown":                     {ref: "tool:acme/x", bound: true, want: true},
		"bound to another":                       {by: owner, ref: "tool:acme/x", elsewhere: true},
		"bound to another, by a key that counts": {by: owner, ref: "tool:acme/x", elsewhere: true, granted: true},
		"not bound, by a key that counts":        {by: owner, ref: "tool:acme/x", granted: true, want: true},
		"not bound, by a key that does not":      {by: stranger, ref: "tool:acme/x", granted: true},
		"not bound, by nobody known":             {ref: "tool:acme/x", granted: true},
		"not bound, and nothing granted here":    {by: owner, ref: "tool:acme/x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, revoked.Add(revoked.Path(dir, reg, "acme"), []revoked.Version{{Digest: sum, By: c.by, Name: "acme/tool/x@1.0.0", Reason: "bad"}}))
			s, err := LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
			must(t, err)
			must(t, s.RevokedIn(dir))
			for _, id := range []objects.Digest{reg, other} {
				must(t, s.PinRegistry(Registry{ID: id.String(), Roots: []objects.Fingerprint{owner}}))
			}
			if c.bound || c.elsewhere {
				id := map[bool]objects.Digest{false: reg, true: other}[c.elsewhere].String()
				must(t, s.BindNamespace("acme", id, BoundKey{Key: ownerKey.Public(), State: Current}))
				must(t, s.Grant(time.Unix(1, 0), here.Scope("acme", id)))
			}
			if c.granted {
				must(t, s.Grant(time.Unix(1, 0), here.Signer("acme", ownerKey.Public())))
			}
			ref, err := objects.ParseRef(c.ref)
			must(t, err)
			in := Scope{Space: objects.Project, Place: here.Place, Project: here.Project, Registry: c.registry}
			_, got, err := s.revocation(ref, in, sum)
			if err != nil || got != c.want {
				t.Errorf("revocation = %v, %v; want %v", got, err, c.want)
			}
			if _, got, err := s.revocation(ref, in, objects.DigestOf([]byte("good"))); got || err != nil {
				t.Errorf("revocation of another content = %v, %v", got, err)
			}
		})
	}
}

// TestDenialsOfOldStores: rye 0.2 wrote a registry's revocations among the user's denials.
// Where the namespace is bound they get the registry's reach; others stay the user's own.
func TestDenialsOfOldStores(t *testing.T) {
	reg := objects.DigestOf([]byte("registry"))
	key, err := GenerateKey()
	must(t, err)
	build := func(reason string) *Store {
		s := &Store{}
		s.index()
		must(t, s.PinRegistry(Registry{ID: reg.String(), Roots: []objects.Fingerprint{key.Public().Fingerprint()}}))
		must(t, s.BindNamespace("acme", reg.String(), BoundKey{Key: key.Public(), State: Current}))
		must(t, s.DenyDigest(objects.Digest{7}, reason))
		text, err := s.Encode()
		must(t, err)
		read, err := ParseStore(text)
		must(t, err)
		return read
	}
	for reason, own := range map[string]bool{
		"acme/tool/x@1.0.0 was revoked: wipes the disk":  false,
		"other/tool/x@1.0.0 was revoked: wipes the disk": true,
		"acme/tool/x was revoked: no version":            true,
		"wipes the disk":                                 true,
	} {
		s := build(reason)
		if _, got := s.deniedDigest(objects.Digest{7}); got != own {
			t.Errorf("%q: the user's own = %v, want %v", reason, got, own)
		}
		all, err := s.Revoked("acme", objects.Digest{7})
		if err != nil || (len(all) == 1) == own {
			t.Errorf("%q: Revoked = %v, %v", reason, all, err)
		}
	}
}
