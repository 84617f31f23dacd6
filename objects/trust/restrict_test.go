package trust_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// Attack 32: an older copy of the store gives nothing back, and loses no restriction.
func TestRestrict(t *testing.T) {
	parse := func() *trust.Store {
		s, err := trust.ParseStore([]byte("format: 1\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mine, other, bound := newFileKey(t).Public(), newFileKey(t).Public(), newFileKey(t).Public()
	january, march := objects.DigestOf([]byte("january")), objects.DigestOf([]byte("march"))
	root := trust.Registry{ID: objects.DigestOf([]byte("registry")).String(), Roots: []objects.Fingerprint{bound.Fingerprint()}}

	here, copied := parse(), parse()
	for _, s := range []*trust.Store{here, copied} {
		must(s.AddOwn(mine, "default"))
		must(s.PinRegistry(root))
		must(s.BindNamespace("acme", root.ID, trust.BoundKey{Key: bound, State: trust.Current}))
	}
	must(here.DenyDigest(march, "march"))
	here.SetAllowLegacy(true)

	must(copied.DenyDigest(january, "january"))
	must(copied.RetireOwn(mine, "default.retired-2026-01-02", "2026-01-02", objects.Digest{}))
	must(copied.AddOwn(other, "evil"))
	must(copied.Pin(trust.Pin{Key: newFileKey(t).Public(), Namespaces: []string{"tools"}}))
	must(copied.BindNamespace("acme", root.ID, trust.BoundKey{Key: bound, State: trust.Revoked}))
	must(copied.Grant(time.Now(), trust.Site{Place: "hlqbv6xrdyrodcs7e36vc7u5uxfyqlrkojgrvi2kf3ekmkwz2eka", Project: "3f0c9a1b8c2d4e5f60718293a4b5c6d7"}.OwnKeys()))

	restrict := func(later bool) []trust.Restriction {
		t.Helper()
		done, err := here.Restrict(copied, func(string, string) bool { return later }, func(trust.PublicKey) objects.Digest { return objects.Digest{} })
		must(err)
		return done
	}
	if got := len(restrict(false)); got != 3 {
		t.Errorf("%d restrictions, want a denial, a retirement and legacy lines", got)
	}
	if b, _ := here.Binding("acme"); b.Keys[0].State != trust.Current {
		t.Error("an older state of the registry decided about its key")
	}
	if got := restrict(true); len(got) != 1 || got[0].Kind != "key" {
		t.Errorf("%v, want the revoked key of the registry", got)
	}
	if got := restrict(true); len(got) != 0 {
		t.Errorf("repeated: %v, want nothing", got)
	}
	if len(here.Denials()) != 2 || here.AllowLegacy() || !here.IsRetired(mine) {
		t.Errorf("denials %v, legacy %v, retired %v", here.Denials(), here.AllowLegacy(), here.IsRetired(mine))
	}
	if here.IsOwn(other) || len(here.Pins())+len(here.Grants()) > 0 {
		t.Error("a key or a permission came back")
	}
	// The other way, nothing is allowed again.
	if _, err := copied.Restrict(parse(), func(string, string) bool { return true }, nil); err != nil || !copied.IsRetired(mine) ||
		!slices.ContainsFunc(copied.Denials(), func(d trust.Denial) bool { return d.Digest == january }) {
		t.Errorf("an empty copy took a restriction back: %v", err)
	}
}
