package custody

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	here = trust.Site{Place: strings.Repeat("a", 52), Project: strings.Repeat("0a", 16)}
)

func newKey(t *testing.T) trust.PublicKey {
	t.Helper()
	k, err := trust.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k.Public()
}

func newStore(t *testing.T) *trust.Store {
	t.Helper()
	st, err := trust.LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// Git accepts no commit by a key that the user denied, however the key became known.
func TestAllowedSignersOmitDeniedKeys(t *testing.T) {
	h := &session.Host{Dirs: session.Dirs{ConfigDir: t.TempDir()}}
	own, pinned, granted, lost := newKey(t), newKey(t), newKey(t), newKey(t)
	change := func(f func(*trust.Store) error) {
		t.Helper()
		if err := trust.Update(h.TrustPath(), f); err != nil {
			t.Fatal(err)
		}
	}
	change(func(st *trust.Store) error {
		if err := st.AddOwn(own, "me"); err != nil {
			return err
		}
		if err := st.Pin(trust.Pin{Key: pinned, Namespaces: []string{"bob"}}); err != nil {
			return err
		}
		return st.Grant(noon, here.Signer("acme", granted), here.Signer("acme", lost))
	})
	keys := map[string]trust.PublicKey{"own": own, "pinned": pinned, "granted": granted, "lost": lost}
	want := func(denied ...string) {
		t.Helper()
		text, err := AllowedSigners(h)
		if err != nil {
			t.Fatal(err)
		}
		for name, k := range keys {
			listed, isDenied := strings.Contains(text, k.Authorized()), strings.Contains(strings.Join(denied, " "), name)
			if listed == isDenied {
				t.Errorf("%v denied: the %s key is listed: %v\n%s", denied, name, listed, text)
			}
		}
	}
	want()
	change(func(st *trust.Store) error { return st.DenyKey(lost.Fingerprint(), "lost") })
	want("lost")
	change(func(st *trust.Store) error { return st.DenyKey(pinned.Fingerprint(), "lost, too") })
	want("lost", "pinned")
}

// A new key overrides what the old one might, and nothing that another key may.
func TestOverridesFollowTheirKey(t *testing.T) {
	st, old, added, other := newStore(t), newKey(t), newKey(t), newKey(t)
	mine, theirs := objects.Ref{Kind: objects.Tool, ID: "rye/bash"}, objects.Ref{Kind: objects.Tool, ID: "rye/web"}
	if err := st.Grant(noon, here.Override(mine, old.Fingerprint()), here.Override(theirs, other.Fingerprint())); err != nil {
		t.Fatal(err)
	}
	if err := overridesFollow(st, old, added); err != nil {
		t.Fatal(err)
	}
	if !st.Granted(here.Override(mine, added.Fingerprint())) {
		t.Error("the new key may not override what the old one might")
	}
	if st.Granted(here.Override(theirs, added.Fingerprint())) || len(st.Grants()) != 3 {
		t.Errorf("granted: %v, want one grant more", st.Grants())
	}
}
