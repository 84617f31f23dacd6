package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
)

// twoThieves makes acme with two members, bob and eve, whose keys are stolen. Each thief wrote what
// nobody can derive: operations 6 and 7, the second of which last spoils. old saw what was before.
func twoThieves(t *testing.T, last func(*oplog.Op)) (w *world, h *host, old *machine, bob, eve *testKey, bad []oplog.Op) {
	t.Helper()
	w, h, old, bob = blocking(t)
	eve = newKey("eve")
	if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyAdd, Keys: grants(t, h.state(), eve)}); err != nil {
		t.Fatal(err)
	}
	w.sync(old, "acme")
	w.look(old)
	h.write(forgery{s: h.state(), by: bob, op: publishOp(h.content(bob, "acme/knowledge/bad@1.0.0", "bad"))}, hideList)
	bad = append(bad, h.tipOp())
	h.write(forgery{s: h.state(), by: eve, op: publishOp(h.content(eve, "acme/knowledge/evil@1.0.0", "evil"))}, last)
	return w, h, old, bob, eve, append(bad, h.tipOp())
}

// hideList lets an operation name a change list that nobody serves; each another.
func hideList(op *oplog.Op) {
	op.Changes.Address = oplog.AddressOf([]byte("nowhere, " + op.Changes.First))
}

// hideState lets an operation name a state that nobody serves, too.
func hideState(op *oplog.Op) {
	hideList(op)
	nowhere := oplog.AddressOf([]byte("nowhere"))
	op.State, op.Kept = nowhere, nowhere.ID
}

// revoking returns what revokes keys of acme, with what has to be dropped for it.
func (w *world) revoking(t *testing.T, m *machine, keys ...*testKey) (oplog.Op, []oplog.Drop) {
	t.Helper()
	var list []oplog.KeyRevocation
	for _, k := range keys {
		list = append(list, oplog.KeyRevocation{Key: k.fp()})
	}
	op, err := oplog.RevokeOp("stolen", list...)
	if err != nil {
		t.Fatal(err)
	}
	op, drops, err := m.Registry.DropsOf(w.ctx, "acme", op)
	if err != nil {
		t.Fatal(err)
	}
	return op, drops
}

// revocationOf returns what a key-revoke says of a key.
func revocationOf(op oplog.Op, key *testKey) oplog.KeyRevocation {
	list := op.Revocations()
	i := slices.IndexFunc(list, func(k oplog.KeyRevocation) bool { return k.Key == key.fp() })
	if i < 0 {
		return oplog.KeyRevocation{}
	}
	return list[i]
}

// allReach lets every reader follow acme, whatever a host hides from it, and compares what they
// derive with the state that its log states.
func (w *world) allReach(t *testing.T, h *host, old *machine, bad []oplog.Op) {
	t.Helper()
	readers := map[string]*machine{"who saw it before": old, "who reads it anew": w.machine(t)}
	for _, op := range bad {
		readers["whom the host hides "+op.Subject()+" from"] = w.lying(w.machine(t), hides(op))
	}
	want := h.state()
	for who, m := range readers {
		if err := m.Sync(w.ctx, "acme"); err != nil {
			t.Errorf("%s: %v", who, err)
			continue
		}
		w.look(m)
		if s, err := m.View("acme"); err != nil || s.Digest() != want.Digest() {
			t.Errorf("%s: ends at %d, %v", who, s.Seq, err)
		}
		if s, err := m.Examine(w.ctx, "acme"); err != nil || s.Digest() != want.Digest() {
			t.Errorf("%s: examined: ends at %d, %v", who, s.Seq, err)
		}
		if got, err := m.Verify(w.ctx, "acme", true); err != nil || len(got.Missing) > 0 {
			t.Errorf("%s: verified: %v, %v", who, got.Missing, err)
		}
		for _, op := range bad {
			ref, _, err := oplog.ParseName(op.Changes.First)
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Select(ref, mustRange("*"))
			wantCode(t, err, fault.NotFound)
		}
		if _, err := m.Select(mustRef("acme/knowledge/a"), mustRange("*")); err != nil {
			t.Errorf("%s: a@1.0.0: %v", who, err)
		}
	}
}

// TestTwoThievesBlockNoRevocation: each of two stolen keys signed what nobody can derive, so neither
// can be revoked while the other's stands. One key-revoke names both, and all reach one state.
func TestTwoThievesBlockNoRevocation(t *testing.T) {
	for name, last := range map[string]func(*oplog.Op){"hidden change lists": hideList, "and a hidden state": hideState} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, old, bob, eve, bad := twoThieves(t, last)
			owner := w.machine(t)
			for _, k := range []struct{ one, other *testKey }{{bob, eve}, {eve, bob}} {
				_, _, err := owner.DropsOf(w.ctx, "acme", oplog.Op{Kind: oplog.OpKeyRevoke, Key: k.one.fp(), Reason: "stolen"})
				var at *oplog.BlockedError
				if !errors.As(err, &at) || at.By != k.other.fp() {
					t.Fatalf("revoke %s alone: %v, want one about %s", k.one.fp(), err, k.other.fp())
				}
				if both := k.one.fp().String() + " " + k.other.fp().String(); !strings.Contains(fault.HintOf(err).String(), both) {
					t.Errorf("the hint %q does not name %s", fault.HintOf(err).String(), both)
				}
			}
			op, drops := w.revoking(t, owner, eve, bob)
			if b, e := revocationOf(op, bob), revocationOf(op, eve); len(drops) != 2 || b.DropFrom != 6 || e.DropFrom != 7 {
				t.Errorf("drops %+v: bob's from %d, eve's from %d; want from 6 and 7", drops, b.DropFrom, e.DropFrom)
			}
			before := h.ref(branchOf("acme"))
			if err := changeKeys(w, owner, By{Signer: w.ada}, op); err != nil {
				t.Fatal(err)
			}
			if err := Judge(w.ctx, h.repo, []Move{{branchOf("acme"), before, h.ref(branchOf("acme"))}}, w.now); err != nil {
				t.Errorf("a host that judges pushes: %v", err)
			}
			w.publish(owner, w.ada, "acme/knowledge/next@1.0.0")
			w.allReach(t, h, old, bad)
			if s := h.state(); len(s.Active()) != 1 {
				t.Errorf("%d active keys, want ada's", len(s.Active()))
			}
		})
	}
}

// TestForgedRevocations: a member gains nothing by naming several keys. One revocation that may not
// stand takes all with it, and what other keys wrote is not dropped.
func TestForgedRevocations(t *testing.T) {
	for name, tt := range map[string]struct {
		more      func(bob objects.Fingerprint) []oplog.KeyRevocation
		text      func(string) string
		threshold bool
		why       string
	}{
		"a member alone where two must agree": {threshold: true, why: "1 of 2 keys"},
		"one key that is no member's": {more: func(objects.Fingerprint) []oplog.KeyRevocation {
			return []oplog.KeyRevocation{{Key: newKey("who").fp(), BadFrom: 1, DropFrom: 0}}
		}, why: "is not a key of acme"},
		"one drop from a position to come": {more: func(bob objects.Fingerprint) []oplog.KeyRevocation {
			return []oplog.KeyRevocation{{Key: bob, BadFrom: 5, DropFrom: 7}}
		}, why: "drop from 7"},
		"one drop from before it was bad": {more: func(bob objects.Fingerprint) []oplog.KeyRevocation {
			return []oplog.KeyRevocation{{Key: bob, BadFrom: 6, DropFrom: 5}}
		}, why: "drop from 5, want 6"},
		"one key twice": {text: twice, why: "repeated, out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, m, bob := blocking(t)
			if tt.threshold {
				if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, oplog.Op{Kind: oplog.OpThreshold, Threshold: 2}); err != nil {
					t.Fatal(err)
				}
			} else {
				w.publish(w.machine(t), w.ada, "acme/knowledge/c@1.0.0") // 5
			}
			w.sync(m, "acme")
			list := []oplog.KeyRevocation{{Key: w.ada.fp(), BadFrom: 5, DropFrom: 5}}
			switch {
			case tt.more != nil:
				list = append(list, tt.more(bob.fp())...)
			case tt.text == nil:
				list = append(list, oplog.KeyRevocation{Key: bob.fp(), BadFrom: 5, DropFrom: 5})
			}
			op, err := oplog.RevokeOp("mine now", list...)
			if err != nil {
				t.Fatal(err)
			}
			h.write(forgery{s: h.state(), by: bob, op: op, text: tt.text}, nil)
			m.skips(t, w, tt.why)
			if s := h.state(); s.AnyDropped() || len(s.Active()) != 2 {
				t.Errorf("it had effect: %+v", s.Keys())
			}
		})
	}
	t.Run("from operations of another", func(t *testing.T) {
		w, h, m, bob := blocking(t)
		pub, eve := w.machine(t), newKey("eve")
		if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyAdd, Keys: grants(t, h.state(), eve)}); err != nil {
			t.Fatal(err)
		}
		w.publish(pub, w.ada, "acme/knowledge/c@1.0.0") // 6
		w.publish(pub, bob, "acme/knowledge/d@1.0.0")   // 7
		w.publish(pub, w.ada, "acme/knowledge/e@1.0.0") // 8
		w.sync(m, "acme")
		w.look(m)
		op, err := oplog.RevokeOp("mine now", oplog.KeyRevocation{Key: bob.fp(), BadFrom: 5, DropFrom: 6}, oplog.KeyRevocation{Key: eve.fp(), BadFrom: 5, DropFrom: 5})
		if err != nil {
			t.Fatal(err)
		}
		if err := changeKeys(w, pub, By{Signer: eve}, op); err != nil { // who revokes itself, too
			t.Fatal(err)
		}
		for who, m := range map[string]*machine{"who saw all": m, "who reads it anew": w.machine(t)} {
			w.sync(m, "acme")
			for _, item := range []string{"acme/knowledge/c", "acme/knowledge/e"} {
				if _, err := m.Select(mustRef(item), mustRange("*")); err != nil {
					t.Errorf("%s: what another member published: %v", who, err)
				}
			}
			_, err := m.Select(mustRef("acme/knowledge/d"), mustRange("*"))
			wantCode(t, err, fault.NotFound)
			if s, err := m.Examine(w.ctx, "acme"); err != nil || s.Digest() != h.state().Digest() {
				t.Errorf("%s: %v", who, err)
			}
		}
	})
}

// twice repeats the one revocation of a message.
func twice(message string) string {
	subject, rest, _ := strings.Cut(message, "\n\n")
	head, more, _ := strings.Cut(rest, "Rye-Key: ")
	one, changes, _ := strings.Cut(more, "Rye-Changes: ")
	return subject + " and 1 more\n\n" + head + "Rye-Key: " + one + "Rye-Key: " + one + "Rye-Changes: " + changes
}

// TestTwoThievesAndTheRoot: a key that the root grants the namespace to revokes both, in one push.
func TestTwoThievesAndTheRoot(t *testing.T) {
	w, h, old, bob, eve, bad := twoThieves(t, hideState)
	rescue := newKey("rescue")
	h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "acme", Genesis: h.state().Genesis, Keys: []trust.PublicKey{rescue.pub}})
	m := w.machine(t)
	op, _ := w.revoking(t, m, bob, eve)
	join := oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: rescue.pub}}}
	s, err := m.ChangeKeys(w.ctx, "acme", By{Signer: rescue}, false, join, op)
	if err != nil {
		t.Fatal(err)
	}
	old = old.reopen(w, func(o *Options) { o.AcceptOwners = map[string]uint64{"acme": s.Owners} })
	w.publish(m, rescue, "acme/knowledge/next@1.0.0")
	w.allReach(t, h, old, bad)
}

// TestVoidByTheRootBlocksNothing: a key that the root grants the namespace to, and that is no member's,
// can sign a void and nothing else. Whatever state that names, the state is the one before.
func TestVoidByTheRootBlocksNothing(t *testing.T) {
	nowhere := oplog.AddressOf([]byte("nowhere"))
	for name, spoil := range map[string]func(*oplog.Op){
		"a hidden state":               func(op *oplog.Op) { op.State, op.Kept = nowhere, nowhere.ID },
		"a commit that keeps no state": func(op *oplog.Op) { op.Kept = nowhere.ID },
		"nothing wrong":                nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, old, bob := blocking(t)
			thief := newKey("thief")
			h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "acme", Genesis: h.state().Genesis, Keys: []trust.PublicKey{thief.pub}})
			s := h.state()
			h.write(forgery{s: s, by: thief, op: oplog.Op{Kind: oplog.OpVoid, Void: oplog.Voided{Seq: s.Seq, Sum: s.Tip}}}, spoil)
			seen, owner := w.machine(t), w.machine(t)
			w.sync(seen, "acme")
			if got, err := seen.reopen(w, nil).View("acme"); err != nil || got.Seq != s.Seq+1 || got.Digest() != s.Digest() {
				t.Fatalf("at %d, %v; want the state of %d", got.Seq, err, s.Seq)
			}
			if err := changeKeys(w, owner, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, Reason: "stolen"}); err != nil {
				t.Fatal(err)
			}
			w.publish(owner, w.ada, "acme/knowledge/next@1.0.0")
			w.allReach(t, h, old, nil)
			if got, err := owner.Rebuild(w.ctx, By{Signer: w.ada}, "acme", false); err != nil {
				t.Errorf("rebuilt: %v, %v", got, err)
			}
		})
	}
}

// TestDropsOfTheSecondKey: of two keys that are revoked at once, only the second blocks.
func TestDropsOfTheSecondKey(t *testing.T) {
	w, h, old, bob := blocking(t)
	eve := newKey("eve")
	if bob.fp().String() > eve.fp().String() {
		bob, eve = eve, bob
	}
	if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyAdd, Keys: grants(t, h.state(), newKey("eve"))}); err != nil {
		t.Fatal(err)
	}
	h.write(forgery{s: h.state(), by: eve, op: publishOp(h.content(eve, "acme/knowledge/evil@1.0.0", "evil"))}, hideState)
	bad := []oplog.Op{h.tipOp()}
	owner := w.machine(t)
	op, _ := w.revoking(t, owner, eve, bob)
	if op.DropFrom != 0 || len(op.More) != 1 || op.More[0].DropFrom != 6 {
		t.Errorf("drops %+v, want what the second key wrote from 6 on", op.Revocations())
	}
	if err := changeKeys(w, owner, By{Signer: w.ada}, op); err != nil {
		t.Fatal(err)
	}
	w.allReach(t, h, old, bad)
}
