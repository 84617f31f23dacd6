package registry

import (
	"errors"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// blocking makes acme with a second member, whose key is stolen, and a machine that saw it.
func blocking(t *testing.T) (w *world, h *host, old *machine, bob *testKey) {
	t.Helper()
	w, h, old = attacked(t)
	bob = newKey("bob")
	if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyAdd, Keys: grants(t, h.state(), bob)}); err != nil {
		t.Fatal(err)
	}
	w.sync(old, "acme")
	w.look(old)
	return w, h, old, bob
}

// rewriting returns a change of a state that puts other bytes under a version of ada's.
func rewriting(t *testing.T) func(*oplog.State, oplog.TestOnlyDraft) {
	return func(_ *oplog.State, d oplog.TestOnlyDraft) {
		was, err := d.Get(mustRef("acme/knowledge/a"), "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		e := *was
		e.Sum = objects.DigestOf([]byte("other"))
		if err := d.Put(&e); err != nil {
			t.Fatal(err)
		}
	}
}

// hides returns everything that an operation of a thief names.
func hides(op oplog.Op) map[store.OID][]byte {
	return map[store.OID][]byte{op.State.ID: nil, op.Kept: nil, op.Changes.ID: nil}
}

// tipOp reads the last operation.
func (h *host) tipOp() oplog.Op {
	h.w.t.Helper()
	_, raw, err := h.repo.Object(h.ref(branchPrefix+"acme"), 0)
	if err != nil {
		h.w.t.Fatal(err)
	}
	op, err := oplog.Parse(raw)
	if err != nil {
		h.w.t.Fatal(err)
	}
	return op
}

// revokes lets ada revoke bob's key, with what it has to drop.
func (w *world) revokes(t *testing.T, m *machine, key objects.Fingerprint) (oplog.Op, []oplog.Drop, oplog.State) {
	t.Helper()
	op, drops, err := m.DropsOf(w.ctx, "acme", oplog.Op{Kind: oplog.OpKeyRevoke, Key: key, Reason: "stolen"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.ChangeKeys(w.ctx, "acme", By{Signer: w.ada}, false, op)
	if err != nil {
		t.Fatal(err)
	}
	return op, drops, s
}

// TestNobodyBlocksARevocation: a thief with the key of one member publishes what does not
// follow, or is nowhere. The owner revokes the key all the same, and everybody reaches one state.
func TestNobodyBlocksARevocation(t *testing.T) {
	nowhere := oplog.AddressOf([]byte("nowhere"))
	for name, tt := range map[string]struct {
		spoil  func(*host, *oplog.Op)
		change func(*testing.T) func(*oplog.State, oplog.TestOnlyDraft)
		stops  bool // readers do not go on
	}{
		"a hidden change list": {spoil: func(_ *host, op *oplog.Op) { op.Changes.Address = nowhere }},
		"a change list that does not follow": {spoil: func(h *host, op *oplog.Op) {
			e := testEntry(h.w.ada, "acme/knowledge/a@1.0.0", "other")
			e.Publisher, e.Seq, e.Time, e.Status = op.Signer.Fingerprint(), op.Seq, op.Time, oplog.StatusOK
			raw := e.AppendLine(nil)
			op.Changes = oplog.Changes{Count: 1, First: e.Name(), Address: oplog.AddressOf(raw)}
			if _, err := h.put(store.TypeBlob, raw); err != nil {
				h.w.t.Fatal(err)
			}
		}},
		"a state that does not follow": {change: rewriting},
		"a state of other keys": {stops: true, change: func(*testing.T) func(*oplog.State, oplog.TestOnlyDraft) {
			return func(s *oplog.State, _ oplog.TestOnlyDraft) { *s = s.WithKeys(s.Keys()[:1]) }
		}},
		"a hidden state": {stops: true, spoil: func(_ *host, op *oplog.Op) { op.State, op.Kept = nowhere, nowhere.ID }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, old, bob := blocking(t)
			evil := publishOp(h.content(bob, "acme/knowledge/evil@1.0.0", "evil"))
			if tt.change != nil {
				h.forgeState(bob, evil, tt.change(t))
			} else {
				h.write(forgery{s: h.state(), by: bob, op: evil}, func(op *oplog.Op) { tt.spoil(h, op) })
			}
			hidden := hides(h.tipOp())
			owner, seen := w.machine(t), w.machine(t)
			if !tt.stops {
				w.sync(seen, "acme")
				w.look(seen) // and has what the thief wrote
				w.publish(owner, w.ada, "acme/knowledge/after@1.0.0")
			} else if err := seen.Sync(w.ctx, "acme"); err == nil {
				t.Fatal("synced with a state that nobody can read")
			}
			plain := oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, Reason: "stolen"}
			if err := changeKeys(w, owner, By{Signer: w.ada}, plain); err == nil {
				t.Fatal("revoked without what drops the operation")
			}
			op, drops, after := w.revokes(t, owner, bob.fp())
			if op.DropFrom != 5 || op.BadFrom != 5 || len(drops) != 1 || drops[0].Seq != 5 || drops[0].By != bob.fp() {
				t.Errorf("drops %+v from %d, bad from %d; want operation 5", drops, op.DropFrom, op.BadFrom)
			}
			w.publish(owner, w.ada, "acme/knowledge/next@1.0.0")
			blind := w.lying(w.machine(t), hidden)
			want := h.state()
			for who, m := range map[string]*machine{"who saw it before": old, "who saw it within": seen, "who reads it anew": w.machine(t), "whom the host hides it from": blind} {
				if err := m.Sync(w.ctx, "acme"); err != nil {
					t.Errorf("%s: %v", who, err)
					continue
				}
				if s, err := m.View("acme"); err != nil || s.Digest() != want.Digest() {
					t.Errorf("%s: ends at %d, %v", who, s.Seq, err)
				}
				w.look(m)
				got, err := m.Examine(w.ctx, "acme")
				if err != nil || got.Digest() != want.Digest() || got.Seq != after.Seq+1 {
					t.Errorf("%s: examined: %d, %v", who, got.Seq, err)
				}
				_, err = m.Select(mustRef("acme/knowledge/evil"), mustRange("*"))
				wantCode(t, err, fault.NotFound)
				rel, err := m.Select(mustRef("acme/knowledge/a"), mustRange("*"))
				if err != nil || rel.Sum == objects.DigestOf([]byte("other")) {
					t.Errorf("%s: a@1.0.0: %v", who, err)
				}
				if _, err := m.Select(mustRef("acme/knowledge/after"), mustRange("*")); err != nil && !tt.stops {
					t.Errorf("%s: what another member published between: %v", who, err)
				}
				if got, err := m.Verify(w.ctx, "acme", true); err != nil || len(got.Missing) > 0 {
					t.Errorf("%s: verified: %v, %v", who, got.Missing, err)
				}
			}
			if _, err := owner.Rebuild(w.ctx, By{Signer: w.ada}, "acme", false); err != nil {
				t.Errorf("rebuilt: %v", err)
			}
		})
	}
}

// TestForgedDrops: what drops operations binds nobody where its signers may not do that, and drops
// nothing of another member.
func TestForgedDrops(t *testing.T) {
	for name, tt := range map[string]struct {
		from      uint64
		text      func(string) string
		threshold bool
		why       string
	}{
		"a member alone where two must agree": {from: 5, threshold: true, why: "1 of 2 keys"},
		"from a position that is to come":     {from: 7, why: "drop from 7"},
		"from its own position":               {from: 6, why: "drop from 6"},
		"from nowhere":                        {from: 5, text: changed("Rye-Drop-From: 5", "Rye-Drop-From: 0"), why: "canonical form"},
		"from before the key was bad":         {from: 4, why: "drop from 4, want 5 to 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, m, bob := blocking(t)
			op := oplog.Op{Kind: oplog.OpKeyRevoke, Key: w.ada.fp(), BadFrom: 5, DropFrom: tt.from, Reason: "mine now"}
			if tt.threshold {
				if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, oplog.Op{Kind: oplog.OpThreshold, Threshold: 2}); err != nil {
					t.Fatal(err)
				}
			} else {
				w.publish(w.machine(t), w.ada, "acme/knowledge/c@1.0.0")
			}
			w.sync(m, "acme")
			h.write(forgery{s: h.state(), by: bob, op: op, text: tt.text}, nil)
			m.skips(t, w, tt.why)
			if s := h.state(); s.Dropped(w.ada.fp(), 5) || len(s.Active()) != 2 {
				t.Errorf("it had effect: %+v", s.Keys())
			}
		})
	}
	t.Run("from an operation of another", func(t *testing.T) {
		w, _, m, bob := blocking(t)
		pub := w.machine(t)
		w.publish(pub, w.ada, "acme/knowledge/c@1.0.0") // 5
		w.publish(pub, bob, "acme/knowledge/d@1.0.0")   // 6
		w.sync(m, "acme")
		w.look(m)
		if _, err := m.Verify(w.ctx, "acme", false); err != nil { // and goes on from there
			t.Fatal(err)
		}
		op := oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, DropFrom: 5, Reason: "stolen"}
		if err := changeKeys(w, pub, By{Signer: w.ada}, op); err != nil {
			t.Fatal(err)
		}
		for who, m := range map[string]*machine{"who saw both": m, "who reads it anew": w.machine(t)} {
			w.sync(m, "acme")
			if _, err := m.Select(mustRef("acme/knowledge/c"), mustRange("*")); err != nil {
				t.Errorf("%s: what another member published: %v", who, err)
			}
			_, err := m.Select(mustRef("acme/knowledge/d"), mustRange("*"))
			wantCode(t, err, fault.NotFound)
			if got, err := m.Verify(w.ctx, "acme", false); err != nil || len(got.Missing) > 0 {
				t.Errorf("%s: verified: %v, %v", who, got.Missing, err)
			}
		}
	})
	t.Run("with a line that was dropped", func(t *testing.T) {
		w, h, m, bob := blocking(t)
		pub := w.machine(t)
		w.publish(pub, bob, "acme/knowledge/d@1.0.0") // 5
		line, err := h.state().Entry(mustRef("acme/knowledge/d"), "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, DropFrom: 5, Reason: "stolen"}); err != nil {
			t.Fatal(err)
		}
		line.Status, line.Reason = oplog.StatusRevoked, "stolen"
		h.forge(publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c")), func(_ oplog.State, d oplog.TestOnlyDraft) { d.Put(&line) })
		w.sync(m, "acme")
		_, err = m.Release(line.Ref, "1.0.0")
		wantCode(t, err, fault.Integrity)
	})
	t.Run("with a state that lacks more", func(t *testing.T) {
		w, h, m, bob := blocking(t)
		w.publish(w.machine(t), w.ada, "acme/knowledge/c@1.0.0") // 5
		w.sync(m, "acme")
		w.look(m)
		lost := mustRef("acme/knowledge/c")
		h.forgeState(w.ada, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, DropFrom: 5, Reason: "stolen"}, func(s *oplog.State, d oplog.TestOnlyDraft) {
			e, err := d.Get(lost, "1.0.0")
			if err != nil {
				t.Fatal(err)
			}
			other := *e
			other.Sum = objects.DigestOf([]byte("other"))
			d.Put(&other)
		})
		w.sync(m, "acme")
		wantCode(t, m.look(lost), fault.Integrity)
		fresh := w.machine(t)
		w.sync(fresh, "acme")
		_, err := fresh.Examine(w.ctx, "acme")
		wantCode(t, err, fault.Integrity)
	})
}

// TestDroppedRevocation: a revocation that is dropped with its key is remembered by everybody who
// can read it, and by who begins after it, too: no member takes back what another revoked.
func TestDroppedRevocation(t *testing.T) {
	w, h, old, bob := blocking(t)
	pub := w.machine(t)
	err := pub.Mark(w.ctx, oplog.OpRevoke, StatusChange{Names: []string{"acme/knowledge/a@1.0.0"}, Reason: "steals", By: By{Signer: bob}})
	if err != nil {
		t.Fatal(err)
	}
	w.sync(old, "acme")
	w.look(old)
	if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, DropFrom: 5, Reason: "mine now"}); err != nil {
		t.Fatal(err)
	}
	s := h.state()
	h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpCheckpoint, Checkpoints: []oplog.Checkpoint{{Namespace: "acme", Seq: s.Seq, Sum: s.Tip, ID: s.At, State: s.Digest()}}})
	for who, m := range map[string]*machine{"who saw it": old, "who begins at a checkpoint": w.machine(t)} {
		w.sync(m, "acme")
		w.look(m)
		if list, err := m.Revoked("acme"); err != nil || len(list) != 1 || list[0].Name != "acme/knowledge/a@1.0.0" {
			t.Errorf("%s: revoked = %v, %v", who, list, err)
		}
	}
}

// TestDropsOfAnEndedKey: a thief who ends the stolen key after the operation that blocks keeps
// nobody from dropping it, nor does a key that the thief added.
func TestDropsOfAnEndedKey(t *testing.T) {
	for name, end := range map[string]func(bob objects.Fingerprint) oplog.Op{
		"revoked": func(bob objects.Fingerprint) oplog.Op {
			return oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob, BadFrom: 8, Reason: "x"}
		},
		"retired": func(bob objects.Fingerprint) oplog.Op { return oplog.Op{Kind: oplog.OpKeyRetire, Key: bob} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, old, bob := blocking(t)
			eve := newKey("eve")
			hide := func(op *oplog.Op) { op.Changes.Address = oplog.AddressOf([]byte("nowhere")) }
			h.write(forgery{s: h.state(), by: bob, op: publishOp(h.content(bob, "acme/knowledge/bad@1.0.0", "bad"))}, hide)
			h.write(forgery{s: h.state(), by: bob, op: oplog.Op{Kind: oplog.OpKeyAdd, Keys: grants(t, h.state(), eve)}}, nil)
			h.write(forgery{s: h.state(), by: eve, op: publishOp(h.content(eve, "acme/knowledge/evil@1.0.0", "evil"))}, hide)
			h.write(forgery{s: h.state(), by: bob, op: end(bob.fp())}, nil)
			owner := w.machine(t)
			_, _, err := owner.DropsOf(w.ctx, "acme", oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 7, Reason: "stolen"})
			if !fault.Is(err, fault.Usage) {
				t.Fatalf("bad from after what is dropped: %v", err)
			}
			op := oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, Reason: "stolen"}
			op, drops, err := owner.DropsOf(w.ctx, "acme", op)
			if err != nil || op.DropFrom != 5 || len(drops) != 2 {
				t.Fatalf("drops %+v from %d, %v", drops, op.DropFrom, err)
			}
			if err := changeKeys(w, owner, By{Signer: w.ada}, op); err != nil {
				t.Fatal(err)
			}
			w.publish(owner, w.ada, "acme/knowledge/next@1.0.0")
			for _, m := range []*machine{old, w.machine(t)} {
				w.sync(m, "acme")
				if s, err := m.Examine(w.ctx, "acme"); err != nil || s.Digest() != h.state().Digest() || len(s.Active()) != 1 {
					t.Errorf("examined: %v, %d active keys", err, len(s.Active()))
				}
				if _, err := m.reopen(w, nil).View("acme"); err != nil { // as the next command reads it
					t.Error(err)
				}
			}
		})
	}
}

// TestDropsBetween: what other members did with versions that are dropped is left out, and the
// rest of the same operations holds.
func TestDropsBetween(t *testing.T) {
	w, h, old, bob := blocking(t)
	pub := w.machine(t)
	w.publish(pub, bob, "acme/knowledge/evil@1.0.0", "acme/knowledge/a@1.1.0") // 5
	w.publish(pub, w.ada, "acme/knowledge/a@1.2.0")                            // beside what is dropped, in one file
	err := pub.Mark(w.ctx, oplog.OpYank, StatusChange{Names: []string{"acme/knowledge/evil@1.0.0", "acme/knowledge/a@1.0.0"}, Reason: "odd", By: By{Signer: w.ada}})
	if err != nil {
		t.Fatal(err)
	}
	w.sync(old, "acme")
	w.look(old)
	if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, DropFrom: 5, Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*machine{old, w.machine(t)} {
		w.sync(m, "acme")
		w.look(m)
		s, err := m.Examine(w.ctx, "acme")
		if err != nil || s.Digest() != h.state().Digest() {
			t.Fatal(err)
		}
		if e, err := s.Entry(mustRef("acme/knowledge/a"), "1.0.0"); err != nil || e.Status != oplog.StatusYanked {
			t.Errorf("a@1.0.0: %v, %v", e.Status, err)
		}
		_, err = s.Entry(mustRef("acme/knowledge/evil"), "1.0.0")
		wantCode(t, err, fault.NotFound)
	}
}

// TestDropsByAQuorum: two of three owners agree to drop what a thief hides, state and all.
func TestDropsByAQuorum(t *testing.T) {
	w, h, old, bob := blocking(t)
	pub, eve := w.machine(t), newKey("eve")
	for _, op := range []oplog.Op{{Kind: oplog.OpKeyAdd, Keys: grants(t, h.state(), eve)}, {Kind: oplog.OpThreshold, Threshold: 2}} {
		if err := changeKeys(w, pub, By{Signer: w.ada}, op); err != nil {
			t.Fatal(err)
		}
	}
	nowhere := oplog.AddressOf([]byte("nowhere"))
	h.write(forgery{s: h.state(), by: bob, op: publishOp(h.content(bob, "acme/knowledge/evil@1.0.0", "evil"))},
		func(op *oplog.Op) { op.State, op.Kept, op.Changes.Address = nowhere, nowhere.ID, nowhere })
	op, drops, err := pub.DropsOf(w.ctx, "acme", oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), Reason: "stolen"})
	if err != nil || len(drops) != 1 {
		t.Fatal(drops, err)
	}
	if op, err = pub.ProposeOp(w.ctx, "acme", w.ada.pub, op); err != nil {
		t.Fatal(err)
	}
	if op, err = oplog.ParseOpProposal(op.Proposal()); err != nil {
		t.Fatal(err)
	}
	other := w.machine(t)
	if got, err := other.JudgeOp(w.ctx, op, eve.pub); err != nil || got.Want != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := op.Approve(w.ctx, w.ada); err != nil {
		t.Fatal(err)
	}
	if _, err := other.CommitOp(w.ctx, By{Signer: eve}, op); err != nil {
		t.Fatal(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/next@1.0.0")
	for _, m := range []*machine{old, w.machine(t)} {
		w.sync(m, "acme")
		if s, err := m.Examine(w.ctx, "acme"); err != nil || s.Digest() != h.state().Digest() {
			t.Errorf("examined: %v", err)
		}
	}
}

// TestDropsByTheRoot: a key that the root grants the namespace to takes the place of its owners
// and drops what a thief hides, in one push.
func TestDropsByTheRoot(t *testing.T) {
	w, h, _, bob := blocking(t)
	if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, oplog.Op{Kind: oplog.OpThreshold, Threshold: 2}); err != nil {
		t.Fatal(err)
	}
	nowhere, rescue := oplog.AddressOf([]byte("nowhere")), newKey("rescue")
	h.write(forgery{s: h.state(), by: bob, op: publishOp(h.content(bob, "acme/knowledge/evil@1.0.0", "evil"))},
		func(op *oplog.Op) { op.State, op.Kept = nowhere, nowhere.ID })
	h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "acme", Genesis: h.state().Genesis, Keys: []trust.PublicKey{rescue.pub}})
	m := w.machine(t)
	op, _, err := m.DropsOf(w.ctx, "acme", oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), Reason: "stolen"})
	if err != nil {
		t.Fatal(err)
	}
	take := oplog.Op{Kind: oplog.OpTransfer, Keys: []oplog.KeyGrant{{Public: rescue.pub}}}
	if _, err := m.ChangeKeys(w.ctx, "acme", By{Signer: rescue}, false, take, op); err != nil {
		t.Fatal(err)
	}
	w.publish(m, rescue, "acme/knowledge/next@1.0.0")
	fresh := w.machine(t)
	w.sync(fresh, "acme")
	if s, err := fresh.Examine(w.ctx, "acme"); err != nil || s.Digest() != h.state().Digest() || s.Threshold != 1 {
		t.Errorf("examined: %v", err)
	}
}

// TestJudgeDrops: a host that judges pushes takes a key-revoke that drops what was there before it
// judged any, and none that states what does not follow.
func TestJudgeDrops(t *testing.T) {
	nowhere := oplog.AddressOf([]byte("nowhere"))
	for name, spoil := range map[string]func(*oplog.Op){
		"a hidden change list": func(op *oplog.Op) { op.Changes.Address = nowhere },
		"a hidden state":       func(op *oplog.Op) { op.State, op.Kept = nowhere, nowhere.ID },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, _, bob := blocking(t)
			h.write(forgery{s: h.state(), by: bob, op: publishOp(h.content(bob, "acme/knowledge/evil@1.0.0", "evil"))}, spoil)
			ns, keeps := branchOf("acme"), contentOf("acme")
			before, kept := h.ref(ns), h.ref(keeps)
			owner := w.machine(t)
			w.revokes(t, owner, bob.fp())
			revoked, content := h.ref(ns), h.ref(keeps)
			if err := Judge(w.ctx, h.repo, []Move{{ns, before, revoked}, {keeps, kept, content}}, w.now); err != nil {
				t.Errorf("the key-revoke: %v", err)
			}
			w.publish(owner, w.ada, "acme/knowledge/next@1.0.0")
			if err := Judge(w.ctx, h.repo, []Move{{ns, revoked, h.ref(ns)}, {keeps, content, h.ref(keeps)}}, w.now); err != nil {
				t.Errorf("what follows it: %v", err)
			}
		})
	}
	t.Run("a state that lacks more", func(t *testing.T) {
		w, h, _, bob := blocking(t)
		before := h.ref(branchOf("acme"))
		h.forgeState(w.ada, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 4, DropFrom: 4, Reason: "stolen"}, func(s *oplog.State, d oplog.TestOnlyDraft) { rewriting(t)(s, d) })
		wantCode(t, Judge(w.ctx, h.repo, []Move{{branchOf("acme"), before, h.ref(branchOf("acme"))}}, w.now), fault.Integrity)
	})
}

// TestDropsOfAnother: where the operation that blocks is another member's, to revoke this key does
// not help, and whose it is is reported.
func TestDropsOfAnother(t *testing.T) {
	w, h, _, bob := blocking(t)
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c"))},
		func(op *oplog.Op) { op.Changes.Address = oplog.AddressOf([]byte("nowhere")) })
	_, _, err := w.machine(t).DropsOf(w.ctx, "acme", oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), Reason: "stolen"})
	var at *oplog.BlockedError
	if !errors.As(err, &at) || at.Seq != 5 || at.By != w.ada.fp() || !fault.Is(err, fault.Network) {
		t.Errorf("%v, want one about operation 5", err)
	}
}
