package registry

import (
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
)

// addKey adds a key to acme, and returns the position of the operation.
func addKey(t *testing.T, w *world, m *machine, by, k *testKey) uint64 {
	t.Helper()
	s, err := m.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	proof, err := oplog.Prove(w.ctx, k, w.id.ID, "acme", s.Genesis)
	if err != nil {
		t.Fatal(err)
	}
	if err := changeKeys(w, m, By{Signer: by}, oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: k.pub, Proof: proof}}}); err != nil {
		t.Fatal(err)
	}
	if s, err = m.View("acme"); err != nil {
		t.Fatal(err)
	}
	return s.Seq
}

// TestRevokedKeyTakesTheKeysItAdded: the first key that falls with a revoked one is the key
// that it added in the very operation from which it is bad.
func TestRevokedKeyTakesTheKeysItAdded(t *testing.T) {
	for name, tt := range map[string]struct {
		after uint64 // the operation that added the second key
		state oplog.KeyState
		code  fault.Code // of what the second key publishes
	}{
		"bad from that operation":   {0, oplog.KeyRevoked, fault.Revoked},
		"bad from the one after it": {1, oplog.KeyActive, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, m := attacked(t)
			pub, bob, eve := w.machine(t), newKey("bob"), newKey("eve")
			w.sync(pub, "acme")
			addKey(t, w, pub, w.ada, bob)
			added := addKey(t, w, pub, bob, eve)
			w.publish(pub, w.ada, "acme/knowledge/c@1.0.0") // the log goes on
			if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: added + tt.after, Reason: "stolen"}); err != nil {
				t.Fatal(err)
			}
			w.sync(m, "acme")
			s, err := m.View("acme")
			if err != nil {
				t.Fatal(err)
			}
			if k, _ := s.Key(eve.fp()); k.State != tt.state {
				t.Errorf("the key that it added is %s, want %s", k.State, tt.state)
			}
			_, err = m.Publish(w.ctx, publication(t, eve, "acme/knowledge/d@1.0.0"))
			if fault.CodeOf(err) != tt.code {
				t.Errorf("it publishes: %v, want %q", err, tt.code)
			}
		})
	}
}

// TestRevokedEarlierWithItsAdder: a key that was revoked falls again, from the position at which
// it was added, with the key that added it.
func TestRevokedEarlierWithItsAdder(t *testing.T) {
	w, _, m := attacked(t)
	pub, bob, eve := w.machine(t), newKey("bob"), newKey("eve")
	w.sync(pub, "acme")
	addKey(t, w, pub, w.ada, bob)
	added := addKey(t, w, pub, bob, eve)
	w.publish(pub, eve, "acme/knowledge/d@1.0.0")
	revoke := func(k *testKey, from uint64) {
		t.Helper()
		if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: k.fp(), BadFrom: from, Reason: "stolen"}); err != nil {
			t.Fatal(err)
		}
		w.sync(m, "acme")
	}
	revoke(eve, added+2)
	if _, err := m.Select(mustRef("acme/knowledge/d"), mustRange("*")); err != nil {
		t.Fatalf("published before the position: %v", err)
	}
	revoke(bob, added)
	_, err := m.Select(mustRef("acme/knowledge/d"), mustRange("*"))
	wantCode(t, err, fault.Revoked)
}

// TestRevokedAuthor: a version falls with the key that wrote it, whoever published it.
func TestRevokedAuthor(t *testing.T) {
	w, _, m := attacked(t)
	pub, bob := w.machine(t), newKey("bob")
	w.sync(pub, "acme")
	from := addKey(t, w, pub, w.ada, bob)
	p := publication(t, bob, "acme/knowledge/theirs@1.0.0")
	p.By = By{Signer: w.ada}
	if _, err := pub.Publish(w.ctx, p); err != nil {
		t.Fatal(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/mine@1.0.0")
	if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: from, Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	_, err := m.Select(mustRef("acme/knowledge/theirs"), mustRange("*"))
	wantCode(t, err, fault.Revoked)
	if _, err := m.Select(mustRef("acme/knowledge/mine"), mustRange("*")); err != nil {
		t.Errorf("an item of the publisher's own: %v", err)
	}
	if list, err := m.Revoked("acme"); err != nil || len(list) != 1 {
		t.Errorf("Revoked = %v, %v; want the one version", list, err)
	}
}

// TestEarlierRevocationsStay: a later revocation adds to what a machine remembers, which
// outlives its cache.
func TestEarlierRevocationsStay(t *testing.T) {
	w, _, m := attacked(t)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/c@1.0.0")
	for i, name := range []string{"a", "b", "c"} {
		change := StatusChange{Names: []string{"acme/knowledge/" + name + "@1.0.0"}, Reason: "steals", By: By{Signer: w.ada}}
		if err := pub.Mark(w.ctx, oplog.OpRevoke, change); err != nil {
			t.Fatal(err)
		}
		m = m.reopen(w, nil)
		w.sync(m, "acme")
		if list, err := m.Revoked("acme"); err != nil || len(list) != i+1 {
			t.Errorf("after the revocation of %s: Revoked = %v, %v; want %d versions", name, list, err, i+1)
		}
	}
	off := m.reopen(w, func(o *Options) { o.Offline, o.CacheDir = true, t.TempDir() })
	if list, err := off.Revoked("acme"); err != nil || len(list) != 3 {
		t.Errorf("offline, without a cache: Revoked = %v, %v; want 3 versions", list, err)
	}
}
