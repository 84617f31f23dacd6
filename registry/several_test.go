package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// twoThieves makes acme with two members, bob and eve, whose keys are stolen. Each thief wrote what
// nobody can derive: operations 6 and 7, the second of which last spoils. old saw what was before.
func twoThieves(t *testing.T, last func(*Op)) (w *world, h *host, old *machine, bob, eve *testKey, bad []Op) {
	t.Helper()
	w, h, old, bob = blocking(t)
	eve = newKey("eve")
	if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, Op{Kind: OpKeyAdd, Keys: grants(t, h.state(), eve)}); err != nil {
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
func hideList(op *Op) { op.Changes.Address = addressOf([]byte("nowhere, " + op.Changes.First)) }

// hideState lets an operation name a state that nobody serves, too.
func hideState(op *Op) {
	hideList(op)
	nowhere := addressOf([]byte("nowhere"))
	op.State, op.Kept = nowhere, nowhere.ID
}

// revoking returns what revokes keys of acme, with what has to be dropped for it.
func (w *world) revoking(t *testing.T, m *machine, keys ...*testKey) (Op, []Drop) {
	t.Helper()
	var list []KeyRevocation
	for _, k := range keys {
		list = append(list, KeyRevocation{Key: k.fp()})
	}
	op, err := RevokeOp("stolen", list...)
	if err != nil {
		t.Fatal(err)
	}
	op, drops, err := DropsOf(w.ctx, m.Registry, "acme", op)
	if err != nil {
		t.Fatal(err)
	}
	return op, drops
}

// revocationOf returns what a key-revoke says of a key.
func revocationOf(op Op, key *testKey) KeyRevocation {
	list := op.Revocations()
	i := slices.IndexFunc(list, func(k KeyRevocation) bool { return k.Key == key.fp() })
	if i < 0 {
		return KeyRevocation{}
	}
	return list[i]
}

// allReach lets every reader follow acme, whatever a host hides from it, and compares what they
// derive with the state that its log states.
func (w *world) allReach(t *testing.T, h *host, old *machine, bad []Op) {
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
		if s, err := Examine(w.ctx, m.Registry, "acme"); err != nil || s.Digest() != want.Digest() {
			t.Errorf("%s: examined: ends at %d, %v", who, s.Seq, err)
		}
		if got, err := Verify(w.ctx, m.Registry, "acme", true); err != nil || len(got.Missing) > 0 {
			t.Errorf("%s: verified: %v, %v", who, got.Missing, err)
		}
		for _, op := range bad {
			ref, _, err := ParseName(op.Changes.First)
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
	for name, last := range map[string]func(*Op){"hidden change lists": hideList, "and a hidden state": hideState} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, old, bob, eve, bad := twoThieves(t, last)
			owner := w.machine(t)
			for _, k := range []struct{ one, other *testKey }{{bob, eve}, {eve, bob}} {
				_, _, err := DropsOf(w.ctx, owner.Registry, "acme", Op{Kind: OpKeyRevoke, Key: k.one.fp(), Reason: "stolen"})
				var at *BlockedError
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
			if s := h.state(); len(active(&s)) != 1 {
				t.Errorf("%d active keys, want ada's", len(active(&s)))
			}
		})
	}
}
