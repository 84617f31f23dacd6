package oplog

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// grants returns keys with the proofs that they want to be in a namespace.
func grants(t testing.TB, s State, keys ...*testKey) (list []KeyGrant) {
	t.Helper()
	for _, k := range keys {
		proof, err := Prove(context.Background(), k, s.Registry, s.Namespace, s.Genesis)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, KeyGrant{k.pub, proof})
	}
	return list
}

// proposed fills in an operation as by would propose it, and lets others approve it.
func (r *rig) proposed(by *testKey, op Op, others ...*testKey) Op {
	r.t.Helper()
	op.Root, op.Terms = r.s.root.Seq, Terms{Roles: r.s.Roles, Until: testTime.Add(time.Hour)}
	op, _, err := r.s.Foresee(op, by.pub, testTime)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, k := range others {
		if err := op.Approve(context.Background(), k); err != nil {
			r.t.Fatal(err)
		}
	}
	return op
}

// quorumRig is acme with ada, bob and eve, two of whom must agree.
func quorumRig(t testing.TB) (r *rig, ada, bob, eve *testKey) {
	ada, bob, eve = newKey("ada"), newKey("bob"), newKey("eve")
	r = newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	r.do(ada, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, bob, eve)})
	r.publish(ada, "acme/tool/hi@1.0.0", "acme/tool/ho@1.0.0")
	r.do(ada, Op{Kind: OpThreshold, Threshold: 2})
	return r, ada, bob, eve
}

func TestQuorumOfTwo(t *testing.T) {
	r, ada, bob, eve := quorumRig(t)
	if r.s.Threshold != 2 || r.s.Roles != r.s.Seq || !bytes.Contains(r.s.EncodeNamespace(), []byte("\nthreshold: 2\nroles: 4\nkeys:\n")) {
		t.Fatalf("threshold %d since %d:\n%s", r.s.Threshold, r.s.Roles, r.s.EncodeNamespace())
	}
	new, tool := newKey("new"), testEntry(ada, "acme/tool/hi@1.0.0", "body of acme/tool/hi@1.0.0")
	for _, op := range []Op{
		{Kind: OpKeyAdd, Keys: grants(t, r.s, new)},
		{Kind: OpKeyRetire, Key: eve.fp()},
		{Kind: OpKeyRevoke, Key: eve.fp(), BadFrom: 1, Reason: "lost"},
		{Kind: OpTransfer, Keys: grants(t, r.s, new)},
		{Kind: OpThreshold, Threshold: 1},
		{Kind: OpRevoke, Reason: "bad", Items: []Entry{tool}},
		{Kind: OpRedact, Reason: "bad", Items: []Entry{tool}},
	} {
		if !r.s.NeedsOthers(r.root, op, ada.pub) {
			t.Errorf("%s: does not need others", op.Kind)
		}
		if err := r.try(ada, op); !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s by one: %v", op.Kind, err)
		}
		again := *r
		again.do(ada, again.proposed(ada, op, bob))
		again = *r
		again.do(eve, again.proposed(ada, op, ada)) // committed by another than who proposed it
	}
	for _, op := range []Op{
		{Kind: OpPublish, Items: []Entry{testEntry(bob, "acme/tool/new@1.0.0", "new")}},
		{Kind: OpYank, Reason: "old", Items: []Entry{tool}},
		{Kind: OpUnyank, Items: []Entry{tool}},
		{Kind: OpDeprecate, Reason: "old", Items: []Entry{tool}},
	} {
		if r.s.NeedsOthers(r.root, op, bob.pub) {
			t.Errorf("%s: needs others", op.Kind)
		}
		r.do(bob, op)
	}
	if s, err := r.replay(); err != nil || s.Threshold != 2 || s.Roles != 4 {
		t.Errorf("replayed: %d since %d, %v", s.Threshold, s.Roles, err)
	}
}

func TestQuorumRefuses(t *testing.T) {
	r, ada, bob, eve := quorumRig(t)
	old := newKey("old")
	r.do(ada, r.proposed(ada, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, old)}, bob))
	r.do(ada, r.proposed(ada, Op{Kind: OpKeyRetire, Key: old.fp()}, bob))
	plan := Op{Kind: OpKeyRetire, Key: eve.fp()}
	other := r.proposed(ada, Op{Kind: OpThreshold, Threshold: 3}, bob)
	for name, c := range map[string]struct {
		op   Op
		want fault.Code
	}{
		"nobody else":           {r.proposed(ada, plan), fault.Untrusted},
		"the signer twice":      {r.proposed(ada, plan, ada), fault.Untrusted},
		"a stranger":            {r.proposed(ada, plan, newKey("stranger")), fault.Untrusted},
		"a retired key":         {r.proposed(ada, plan, old), fault.Revoked},
		"a retired key beside":  {r.proposed(ada, plan, bob, old), fault.Revoked},
		"for another operation": {func() Op { op := r.proposed(ada, plan); op.Approvals = other.Approvals; return op }(), fault.Integrity},
		"changed afterwards":    {func() Op { op := r.proposed(ada, plan, bob); op.Key = bob.fp(); return op }(), fault.Integrity},
		"a later end":           {func() Op { op := r.proposed(ada, plan, bob); op.Terms.Until = testTime.Add(2 * time.Hour); return op }(), fault.Integrity},
		"too late": {func() Op {
			op := r.proposed(ada, plan)
			op.Terms.Until = testTime.Add(-time.Second)
			_ = op.Approve(t.Context(), bob)
			return op
		}(), fault.Untrusted},
		"among other keys":      {func() Op { op := r.proposed(ada, plan); op.Terms.Roles--; _ = op.Approve(t.Context(), bob); return op }(), fault.Untrusted},
		"a forged approval":     {func() Op { op := r.proposed(ada, plan, bob); op.Approvals[0].Sig[0] ^= 1; return op }(), fault.Integrity},
		"one to many approvals": {r.proposed(ada, Op{Kind: OpThreshold, Threshold: 3}, ada, bob), fault.Untrusted},
		"a key without a proof": {Op{Kind: OpKeyAdd, Keys: []KeyGrant{{Public: newKey("x").pub, Proof: make([]byte, 64)}}, Root: r.root.Seq, Terms: other.Terms}, fault.Untrusted},
		"more than there are":   {Op{Kind: OpThreshold, Threshold: 4, Root: r.root.Seq, Terms: other.Terms}, fault.Untrusted},
	} {
		if err := r.try(ada, c.op); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	// Terms where nobody else need agree are no operation of any reader's.
	one := newRig(t, ClaimsGranted, ada)
	one.claim(ada)
	if err := one.try(ada, one.proposed(ada, Op{Kind: OpKeyAdd, Keys: grants(t, one.s, bob)})); !fault.Is(err, fault.Malformed) {
		t.Errorf("terms of one: %v", err)
	}
	for _, n := range []int{1, 2} {
		if err := one.try(ada, Op{Kind: OpThreshold, Threshold: n}); !fault.Is(err, fault.Conflict) {
			t.Errorf("threshold %d of one: %v", n, err)
		}
	}
}

// TestQuorumLeavesNobodyOut: fewer keys than must agree are never left by a word that could
// have been said otherwise, and a revocation goes on with those that are left.
func TestQuorumLeavesNobodyOut(t *testing.T) {
	r, ada, bob, eve := quorumRig(t)
	r.do(ada, r.proposed(ada, Op{Kind: OpKeyRetire, Key: eve.fp()}, bob))
	again := *r
	again.do(ada, again.proposed(ada, Op{Kind: OpKeyRevoke, Key: bob.fp(), BadFrom: 1, Reason: "lost"}, bob))
	if again.s.Threshold != 1 || again.s.Roles != 0 || strings.Contains(string(again.s.EncodeNamespace()), "threshold") {
		t.Errorf("after the revocation: %d since %d", again.s.Threshold, again.s.Roles)
	}
	again.do(ada, Op{Kind: OpKeyAdd, Keys: grants(t, again.s, newKey("new"))})
	op := Op{Kind: OpKeyRetire, Key: bob.fp(), Root: r.root.Seq, Terms: Terms{Roles: r.s.Roles, Until: testTime}}
	if _, _, err := r.s.Foresee(op, ada.pub, testTime); !fault.Is(err, fault.Conflict) {
		t.Errorf("retire one of two of two: %v", err)
	}
}

// TestQuorumAddsWhoStays: a key that several agreed to does not fall with the one that signed.
func TestQuorumAddsWhoStays(t *testing.T) {
	r, ada, bob, eve := quorumRig(t)
	new := newKey("new")
	r.do(eve, r.proposed(eve, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, new)}, bob))
	r.do(ada, r.proposed(ada, Op{Kind: OpKeyRevoke, Key: eve.fp(), BadFrom: 1, Reason: "stolen"}, bob))
	if k, _ := r.s.Key(new.fp()); k.State != KeyActive || k.By != new.fp() {
		t.Errorf("the new key: %+v", k)
	}
}

// TestQuorumRescue: the root's word stands in for keys that are lost, and readers are asked.
func TestQuorumRescue(t *testing.T) {
	admin, new := newKey("admin"), newKey("new")
	grant := func(k *testKey) (*rig, *testKey) {
		r, ada, _, _ := quorumRig(t)
		r.rootOp(admin, RootOp{Kind: OpGrant, Namespace: "acme", Genesis: r.s.Genesis, Keys: []trust.PublicKey{k.pub}})
		return r, ada
	}
	r, ada := grant(new)
	self := []KeyGrant{{Public: new.pub}}
	if r.s.NeedsOthers(r.root, Op{Kind: OpKeyAdd, Keys: self}, new.pub) {
		t.Error("a key that the root granted needs others")
	}
	if err := r.try(ada, Op{Kind: OpThreshold, Threshold: 1}); !fault.Is(err, fault.Untrusted) {
		t.Errorf("a member without the root's word: %v", err)
	}
	r.do(new, Op{Kind: OpKeyAdd, Keys: self})
	if r.s.Threshold != 2 || r.s.Owners != r.s.Seq || r.s.Roles != r.s.Seq {
		t.Errorf("joined: %d since %d, owners %d", r.s.Threshold, r.s.Roles, r.s.Owners)
	}
	if err := r.try(new, Op{Kind: OpThreshold, Threshold: 1}); !fault.Is(err, fault.Untrusted) {
		t.Errorf("the root's word, used twice: %v", err)
	}
	r, _ = grant(new)
	r.do(new, Op{Kind: OpTransfer, Keys: self})
	if r.s.Threshold != 1 || r.s.Owners != r.s.Seq || len(r.s.Active()) != 1 {
		t.Errorf("transferred: %d, %d keys", r.s.Threshold, len(r.s.Active()))
	}
	bob := newKey("bob")
	r, _ = grant(bob)
	if r.s.NeedsOthers(r.root, Op{Kind: OpThreshold, Threshold: 1}, bob.pub) {
		t.Error("the last member, with the root's word, needs others")
	}
	for _, op := range []Op{{Kind: OpKeyRetire, Key: ada.fp()}, {Kind: OpKeyAdd, Keys: grants(t, r.s, new)}} {
		if err := r.try(bob, op); !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s on the root's word: %v", op.Kind, err)
		}
	}
	r.do(bob, Op{Kind: OpThreshold, Threshold: 1})
	if r.s.Threshold != 1 || r.s.Owners != r.s.Seq {
		t.Errorf("rescued: %d, owners %d", r.s.Threshold, r.s.Owners)
	}
	r.do(bob, Op{Kind: OpKeyRetire, Key: ada.fp()})
	if _, err := r.replay(); err != nil {
		t.Error(err)
	}
}

// TestQuorumFromTheStart: who claims a namespace, or takes it over, may say how many must agree.
func TestQuorumFromTheStart(t *testing.T) {
	ada, bob, eve := newKey("ada"), newKey("bob"), newKey("eve")
	r := newRig(t, ClaimsGranted, ada)
	both := append(grants(t, r.s, bob), KeyGrant{Public: ada.pub})
	for _, n := range []int{1, 3} {
		if err := r.try(ada, Op{Kind: OpClaim, Keys: both, Threshold: n}); n == 3 && !fault.Is(err, fault.Malformed) {
			t.Errorf("claim of %d of 2: %v", n, err)
		}
		r = newRig(t, ClaimsGranted, ada)
	}
	r.do(ada, Op{Kind: OpClaim, Keys: both, Threshold: 2})
	if r.s.Threshold != 2 || r.s.Roles != 1 {
		t.Errorf("claimed: %d since %d", r.s.Threshold, r.s.Roles)
	}
	r.do(bob, r.proposed(bob, Op{Kind: OpTransfer, Keys: grants(t, r.s, eve, newKey("x")), Threshold: 2}, ada))
	if r.s.Threshold != 2 || r.s.Roles != 2 {
		t.Errorf("transferred: %d since %d", r.s.Threshold, r.s.Roles)
	}
	if _, err := r.replay(); err != nil {
		t.Error(err)
	}
}

// TestNamespaceAgreementForetellsApply: what Agreement calls complete is committed, and what
// it does not is refused, whoever approved and whoever signs.
func TestNamespaceAgreementForetellsApply(t *testing.T) {
	r, ada, bob, eve := quorumRig(t)
	all := []*testKey{ada, bob, eve, newKey("stranger")}
	tool := testEntry(ada, "acme/tool/hi@1.0.0", "body of acme/tool/hi@1.0.0")
	complete := 0
	for signed := range 1 << 3 {
		var who []*testKey
		for i, k := range all[:3] {
			if signed&(1<<i) != 0 {
				who = append(who, k)
			}
		}
		for _, signer := range all {
			op, err := ParseOpProposal(ptr(r.proposed(ada, Op{Kind: OpRevoke, Reason: "bad", Items: []Entry{tool}}, who...)).Proposal())
			if err != nil {
				t.Fatal(err)
			}
			got, bad := r.s.Agreement(op, signer.pub, testTime)
			again := *r
			err = again.try(signer, op.Without(signer.fp()))
			if want := bad == nil && got.Complete(); want != (err == nil) {
				t.Errorf("approved by %b, signed by %s: %+v %v, committed: %v", signed, signer.fp(), got, bad, err)
			}
			if err == nil {
				complete++
			}
		}
	}
	if complete == 0 {
		t.Error("nothing was ever complete")
	}
}

func ptr[T any](v T) *T { return &v }

func TestNamespaceAgreementRefuses(t *testing.T) {
	r, ada, bob, eve := quorumRig(t)
	tool := testEntry(ada, "acme/tool/hi@1.0.0", "body of acme/tool/hi@1.0.0")
	for name, c := range map[string]struct {
		change func(*Op)
		signer *testKey
		want   fault.Code
	}{
		"as it is":                    {func(*Op) {}, bob, ""},
		"a stranger":                  {func(*Op) {}, newKey("stranger"), fault.Untrusted},
		"another registry":            {func(op *Op) { op.Registry[0] ^= 1 }, bob, fault.Integrity},
		"another namespace":           {func(op *Op) { op.Namespace = "beta" }, bob, fault.Integrity},
		"a position later":            {func(op *Op) { op.Seq++ }, bob, fault.Conflict},
		"another predecessor":         {func(op *Op) { op.Prev[0] ^= 1 }, bob, fault.Conflict},
		"another state":               {func(op *Op) { op.State.Sum[0] ^= 1 }, bob, fault.Integrity},
		"another version":             {func(op *Op) { op.Items[0].Ref = mustRef("acme/tool/ho") }, bob, fault.Integrity},
		"a version that is not there": {func(op *Op) { op.Items[0].Version = "9.0.0" }, bob, fault.NotFound},
		"another reason":              {func(op *Op) { op.Reason = "worse" }, bob, fault.Integrity},
		"a later end":                 {func(op *Op) { op.Terms.Until = op.Terms.Until.Add(time.Hour) }, bob, fault.Integrity},
		"no root so far":              {func(op *Op) { op.Root = 9 }, bob, fault.Rollback},
	} {
		op := r.proposed(ada, Op{Kind: OpRevoke, Reason: "bad", Items: []Entry{tool}}, eve)
		op.Items = slices.Clone(op.Items)
		c.change(&op)
		if _, err := r.s.Agreement(op, c.signer.pub, testTime); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	late := r.proposed(ada, Op{Kind: OpRevoke, Reason: "bad", Items: []Entry{tool}}, eve)
	if _, err := r.s.Agreement(late, bob.pub, testTime.Add(2*time.Hour)); !fault.Is(err, fault.Untrusted) {
		t.Errorf("too late: %v", err)
	}
}

// TestProposalText: a proposal has one spelling, and is no operation that a log may hold.
func TestProposalText(t *testing.T) {
	r, ada, bob, eve := quorumRig(t)
	tool := testEntry(ada, "acme/tool/hi@1.0.0", "body of acme/tool/hi@1.0.0")
	op := r.proposed(ada, Op{Kind: OpRedact, Reason: "a password", Items: []Entry{tool}}, bob)
	text := op.Proposal()
	if !strings.HasSuffix(text, "\n\nacme/tool/hi@1.0.0\n") || !OfNamespace(text) {
		t.Errorf("proposal:\n%s", text)
	}
	for name, bad := range map[string]string{
		"nothing":              "",
		"no names":             strings.TrimSuffix(text, "\nacme/tool/hi@1.0.0\n"),
		"another name more":    text + "acme/tool/ho@1.0.0\n",
		"a name twice":         text + "acme/tool/hi@1.0.0\n",
		"no line feed":         strings.TrimSuffix(text, "\n"),
		"a file of the root":   messageOf(t, r.roots[1]),
		"a committed one":      messageOf(t, r.raws[3]),
		"names of a threshold": ptr(r.proposed(ada, Op{Kind: OpThreshold, Threshold: 3})).Proposal() + "\nacme/tool/hi@1.0.0\n",
		"too long":             text + strings.Repeat("acme/tool/hi@1.0.0\n", MaxProposal/10),
	} {
		if _, err := ParseOpProposal(bad); err == nil {
			t.Errorf("%s: is read", name)
		}
	}
	// Signed as it is, it stands in no log: it does not say what keeps its state.
	c, err := penOf(eve).Commit(t.Context(), emptyTree, op.Parents, op.Message(), testTime)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(c); !fault.Is(err, fault.Malformed) {
		t.Errorf("a signed proposal: %v", err)
	}
}

func messageOf(t *testing.T, raw []byte) string {
	t.Helper()
	c, err := store.ParseCommit(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c.Message
}
