package registry

import (
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
)

// The attacks on keys, owners and statuses: 60 to 69, and those on the root.

func TestAttack60RetiredKey(t *testing.T) {
	w, h, m := attacked(t)
	bob := newKey("bob")
	pub := w.machine(t)
	proof, _ := oplog.Prove(w.ctx, bob, w.id.ID, "acme", h.state().Genesis)
	by := By{Signer: w.ada}
	if err := changeKeys(w, pub, by, oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: bob.pub, Proof: proof}}}); err != nil {
		t.Fatal(err)
	}
	if err := changeKeys(w, pub, by, oplog.Op{Kind: oplog.OpKeyRetire, Key: bob.fp()}); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	s := h.state()
	for _, wrote := range []*testKey{bob, w.ada} { // what it wrote itself is in TestAttackLineByAnEndedKey
		e := h.content(wrote, "acme/knowledge/c@1.0.0", "c")
		h.write(forgery{s: s, by: bob, op: publishOp(e)}, nil) // its time is one that bob was active at
		m.refuses(t, w, "revoked")
	}
}

func TestAttack61to65CompromisedKey(t *testing.T) {
	w, h, m := attacked(t)
	bob, eve := newKey("bob"), newKey("eve")
	pub, by := w.machine(t), By{Signer: w.ada}
	proof, _ := oplog.Prove(w.ctx, bob, w.id.ID, "acme", h.state().Genesis)
	if err := changeKeys(w, pub, by, oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: bob.pub, Proof: proof}}}); err != nil { // operation 4
		t.Fatal(err)
	}
	w.publish(pub, bob, "acme/knowledge/good@1.0.0") // 5
	w.publish(pub, bob, "acme/knowledge/bad@1.0.0")  // 6
	w.sync(m, "acme")
	before := h.ref(branchPrefix + "acme")
	bad, err := m.Select(mustRef("acme/knowledge/bad"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(w.ctx, bad); err != nil {
		t.Fatal(err)
	}
	if err := changeKeys(w, pub, by, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 6, Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	if _, err := m.Select(mustRef("acme/knowledge/good"), mustRange("*")); err != nil {
		t.Errorf("61, below: %v", err)
	}
	_, err = m.Select(mustRef("acme/knowledge/bad"), mustRange("*"))
	wantCode(t, err, fault.Revoked) // 61, above
	if list, err := m.Revoked("acme"); err != nil || len(list) != 1 || list[0].Digest != bad.Sum {
		t.Errorf("revoked = %v, %v", list, err)
	}
	if b, err := m.Binding("acme"); err != nil || b.Bound()[1] != (trust.BoundKey{Key: bob.pub, State: trust.Retired}) {
		t.Errorf("bound = %+v, %v", b.Bound(), err)
	}
	off := m.reopen(w, func(o *Options) { o.Offline = true })
	rel, err := off.Release(mustRef("acme/knowledge/bad"), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = off.Fetch(w.ctx, rel)
	wantCode(t, err, fault.Revoked) // 68
	m = off.reopen(w, func(o *Options) { o.Offline = false })

	tip := h.ref(branchPrefix + "acme")
	h.set(branchPrefix+"acme", before)
	m.refuses(t, w, "rollback") // 65
	h.set(branchPrefix+"acme", tip)
	h.write(forgery{s: h.state(), by: bob, op: oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: bob.pub}}}}, nil)
	m.refuses(t, w, "untrusted") // 63
	h.set(branchPrefix+"acme", tip)
	h.write(forgery{s: h.state(), by: w.ada, op: oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: eve.pub}}}}, nil)
	m.skips(t, w, "no proof that its owner agreed") // 64
	stolen, _ := oplog.Prove(w.ctx, eve, w.id.ID, "other", h.stateAt(tip).Genesis)
	h.write(forgery{s: h.state(), by: w.ada, op: oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: eve.pub, Proof: stolen}}}}, nil)
	w.sync(m, "acme")
	m.reports(t, "no proof", "no proof") // 64, a proof for another namespace
}

func TestAttack52And66Root(t *testing.T) {
	eve := newKey("eve")
	for name, op := range map[string]oplog.RootOp{
		"66 new roots":  {Kind: oplog.OpRoots, Name: "Mine", Claims: oplog.ClaimsOpen, Threshold: 1, Keys: []trust.PublicKey{eve.pub}},
		"45 a grant":    {Kind: oplog.OpGrant, Namespace: "acme", Keys: []trust.PublicKey{eve.pub}},
		"52 checkpoint": {Kind: oplog.OpCheckpoint},
	} {
		t.Run(name, func(t *testing.T) {
			w, h, m := attacked(t)
			if op.Kind == oplog.OpCheckpoint {
				s := h.state()
				op.Checkpoints = []oplog.Checkpoint{{Namespace: "acme", Seq: s.Seq, Sum: s.Tip, ID: s.At, State: s.Digest()}}
			}
			h.rootOp(eve, op)
			m.refuses(t, w, "untrusted")
			w.machine(t).refuses(t, w, "untrusted")
		})
	}
}

// News of the root judges a namespace that did not move: here its checkpoint contradicts the log.
func TestNewsOfTheRootJudgesAllNamespaces(t *testing.T) {
	w, h, m := attacked(t)
	s := h.state()
	h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpCheckpoint, Checkpoints: []oplog.Checkpoint{
		{Namespace: "acme", Seq: s.Seq, Sum: objects.DigestOf([]byte("another operation")), ID: s.At, State: s.Digest()}}})
	for range 3 { // the root's news is kept, and what it contradicts stays refused
		if err := m.Sync(w.ctx, "acme"); codeOf(err) != "fork" {
			t.Errorf("sync = %v, want a fork", err)
		}
	}
	// A checkpoint of an earlier operation is compared when it is news.
	w, h, m = attacked(t)
	s = h.state()
	h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpCheckpoint, Checkpoints: []oplog.Checkpoint{
		{Namespace: "acme", Seq: s.Seq - 1, Sum: objects.DigestOf([]byte("another operation")), ID: s.At, State: s.Digest()}}})
	if err := m.Sync(w.ctx, "acme"); codeOf(err) != "fork" {
		t.Errorf("sync = %v, want a fork", err)
	}
}

func TestAttackRootSetBack(t *testing.T) {
	w, h, m := attacked(t)
	old := h.ref(mainBranch)
	admin := w.machine(t)
	if err := admin.Grant(w.ctx, By{Signer: w.root}, "other", w.ada.pub); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	h.set(mainBranch, old)
	m.refuses(t, w, "rollback")
	h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "third", Keys: []trust.PublicKey{w.ada.pub}})
	m.refuses(t, w, "fork")
}

func TestAttack67Transfer(t *testing.T) {
	w, h, m := attacked(t)
	carol := newKey("carol")
	admin := w.machine(t)
	if err := admin.Grant(w.ctx, By{Signer: w.root}, "acme", carol.pub); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme") // the root said so, nothing happened yet
	if err := changeKeys(w, w.machine(t), By{Signer: carol}, oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: carol.pub}}}); err != nil {
		t.Fatal(err)
	}
	m.refuses(t, w, "untrusted")
	var owner *OwnerError
	if err := m.Sync(w.ctx, "acme"); !asError(err, &owner) || owner.Seq != 4 || len(owner.Keys) != 2 {
		t.Fatalf("error = %v, want an OwnerError for operation 4", err)
	}
	m = m.reopen(w, func(o *Options) { o.AcceptOwners = map[string]uint64{"acme": 4} })
	w.sync(m, "acme")
	m = m.reopen(w, func(o *Options) { o.AcceptOwners = nil })
	w.sync(m, "acme")
	if err := changeKeys(w, m, By{Signer: carol}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: w.ada.fp(), BadFrom: h.state().Seq, Reason: "left"}); err != nil {
		t.Fatal(err)
	}
	w.sync(w.machine(t), "acme") // a newcomer asks nobody: the root vouches
}

func TestAttack69Statuses(t *testing.T) {
	w, _, m := attacked(t)
	pub, by := w.machine(t), By{Signer: w.ada}
	w.publish(pub, w.ada, "acme/knowledge/a@1.1.0", "acme/knowledge/a@1.2.0", "acme/knowledge/a@1.3.0")
	change := func(f func(StatusChange) error, version string) {
		t.Helper()
		if err := f(StatusChange{Names: []string{"acme/knowledge/a@" + version}, Reason: "because", By: by}); err != nil {
			t.Fatal(err)
		}
	}
	change(func(c StatusChange) error { return pub.Mark(w.ctx, oplog.OpYank, c) }, "1.3.0")
	change(func(c StatusChange) error { return pub.Mark(w.ctx, oplog.OpRevoke, c) }, "1.2.0")
	change(func(c StatusChange) error { return pub.Mark(w.ctx, oplog.OpDeprecate, c) }, "1.1.0")
	w.sync(m, "acme")
	rel, err := m.Select(mustRef("acme/knowledge/a"), mustRange("^1.0.0"))
	if err != nil || rel.Version != "1.1.0" || rel.Status != oplog.StatusDeprecated || rel.Reason != "because" {
		t.Errorf("selected %s %s (%v), want 1.1.0 deprecated", rel.Version, rel.Status, err)
	}
	yanked, err := m.Release(mustRef("acme/knowledge/a"), "1.3.0")
	if err != nil || yanked.Status != oplog.StatusYanked {
		t.Errorf("locked 1.3.0 is %s, %v", yanked.Status, err)
	}
	if _, err := m.Fetch(w.ctx, yanked); err != nil {
		t.Errorf("a lock of a yanked version: %v", err)
	}
	_, err = m.Select(mustRef("acme/knowledge/a"), mustRange("1.2.0"))
	wantCode(t, err, fault.Revoked)
	revoked, _ := m.Release(mustRef("acme/knowledge/a"), "1.2.0")
	_, err = m.Fetch(w.ctx, revoked)
	wantCode(t, err, fault.Revoked)
	_, err = m.Select(mustRef("acme/knowledge/a"), mustRange("1.3.0"))
	wantCode(t, err, fault.Conflict)
}

// TestAttack67TransferByOwners: owners hand the namespace on by their own log. Nobody else
// can, and readers who knew the old owners stop until they are asked.
func TestAttack67TransferByOwners(t *testing.T) {
	w, h, m := attacked(t)
	carol, eve := newKey("carol"), newKey("eve")
	genesis := h.state().Genesis
	give := func(k *testKey, ns string) oplog.Op {
		proof, _ := oplog.Prove(w.ctx, k, w.id.ID, ns, genesis)
		return oplog.Op{Kind: oplog.OpTransfer, Keys: []oplog.KeyGrant{{Public: k.pub, Proof: proof}}}
	}
	tip := h.ref(branchPrefix + "acme")
	h.write(forgery{s: h.stateAt(tip), by: eve, op: oplog.Op{Kind: oplog.OpTransfer, Keys: []oplog.KeyGrant{{Public: eve.pub}}}}, nil)
	m.refuses(t, w, "untrusted")
	for name, op := range map[string]oplog.Op{
		"without proof":                  {Kind: oplog.OpTransfer, Keys: []oplog.KeyGrant{{Public: carol.pub}}},
		"a proof for another namespace":  give(carol, "other"),
		"to a key that is there already": {Kind: oplog.OpTransfer, Keys: []oplog.KeyGrant{{Public: w.ada.pub}}},
	} {
		h.write(forgery{s: h.stateAt(tip), by: w.ada, op: op}, nil)
		fresh := w.machine(t)
		w.sync(fresh, "acme")
		if s, err := fresh.View("acme"); err != nil || s.Owners != 1 || len(s.Keys()) != 1 {
			t.Errorf("%s: owners since %d, %d keys, %v; want as before", name, s.Owners, len(s.Keys()), err)
		}
	}
	h.set(branchPrefix+"acme", tip)
	if err := changeKeys(w, w.machine(t), By{Signer: w.ada}, give(carol, "acme")); err != nil {
		t.Fatal(err)
	}
	m.refuses(t, w, "untrusted")
	var owner *OwnerError
	if err := m.Sync(w.ctx, "acme"); !asError(err, &owner) || owner.Seq != 4 || len(owner.Keys) != 1 || owner.Keys[0] != carol.pub {
		t.Fatalf("error = %v, want an OwnerError for operation 4", err)
	}
	m = m.reopen(w, func(o *Options) { o.AcceptOwners = map[string]uint64{"acme": 4} })
	w.sync(m, "acme")
	s, err := m.View("acme")
	if err != nil || s.Keys()[0].State != oplog.KeyRetired || s.Keys()[1].State != oplog.KeyActive {
		t.Errorf("keys = %+v, %v", s.Keys(), err)
	}
	_, err = w.machine(t).Publish(w.ctx, publication(t, w.ada, "acme/knowledge/late@1.0.0"))
	wantCode(t, err, fault.Revoked)
	if _, err := m.Select(mustRef("acme/knowledge/a"), mustRange("*")); err != nil {
		t.Errorf("what the old owners published: %v", err)
	}
	// Old owners by the root's later word: it rescues, and again nobody follows unasked.
	if err := w.machine(t).Grant(w.ctx, By{Signer: w.root}, "acme", eve.pub); err != nil {
		t.Fatal(err)
	}
	w.sync(m) // the root said so, nothing happened yet
	if err := changeKeys(w, w.machine(t), By{Signer: eve}, oplog.Op{Kind: oplog.OpTransfer, Keys: []oplog.KeyGrant{{Public: eve.pub}}}); err != nil {
		t.Fatal(err)
	}
	m.refuses(t, w, "untrusted")
}
