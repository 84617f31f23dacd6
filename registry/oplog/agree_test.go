package oplog

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// TestAgreementForetellsApply: what Agreement calls complete is committed, and what
// it does not is refused, whoever approved and whoever signs.
func TestAgreementForetellsApply(t *testing.T) {
	ctx := context.Background()
	all := []*testKey{newKey("a"), newKey("b"), newKey("c"), newKey("d")}
	a, b, c, d := all[0], all[1], all[2], all[3]
	genesis, err := penOf(a).RootOperation(Root{}, RootOp{Kind: OpGenesis, Name: "Two of three", Claims: ClaimsGranted, Threshold: 2,
		Keys: []trust.PublicKey{a.pub, b.pub, c.pub}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*testKey{b, c} {
		if err := genesis.Approve(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	_, root, err := penOf(a).SealRoot(ctx, Root{}, genesis)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := root.NewRoots(2, a.pub, b.pub, d.pub) // d for c
	if err != nil {
		t.Fatal(err)
	}
	complete := 0
	for signed := range 1 << len(all) {
		for _, signer := range all {
			op, err := penOf(signer).RootOperation(root, plan)
			if err != nil {
				t.Fatal(err)
			}
			who := ""
			for i, k := range all {
				if signed&(1<<i) != 0 {
					who += fmt.Sprint(" ", i)
					if err := op.Approve(ctx, k); err != nil {
						t.Fatal(err)
					}
				}
			}
			got, err := root.Agreement(op, signer.pub)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = penOf(signer).SealRoot(ctx, root, op.Without(signer.fp()))
			if want := got.Complete() && slices.Contains(root.Keys, signer.pub); want != (err == nil) {
				t.Errorf("approved by%s, signed by %s: Agreement %+v, sealRoot %v", who, signer.fp(), got, err)
			}
			if got.Complete() {
				complete++
			}
		}
	}
	if complete == 0 {
		t.Error("nothing was ever complete")
	}
}

func TestAgreementRefuses(t *testing.T) {
	ctx := context.Background()
	admin, a, b, e := newKey("admin"), newKey("a"), newKey("b"), newKey("e")
	r := newRig(t, ClaimsGranted, a)
	plan, err := r.root.NewRoots(1, a.pub, b.pub)
	if err != nil {
		t.Fatal(err)
	}
	good, err := penOf(admin).RootOperation(r.root, plan)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*RootOp)
		want   fault.Code
	}{
		"another registry":    {func(op *RootOp) { op.Registry[0] ^= 1 }, fault.Integrity},
		"a position later":    {func(op *RootOp) { op.Seq++ }, fault.Conflict},
		"another predecessor": {func(op *RootOp) { op.Prev[0] ^= 1 }, fault.Conflict},
		"another state":       {func(op *RootOp) { op.State[0] ^= 1 }, fault.Integrity},
		"other keys":          {func(op *RootOp) { op.Keys = op.Keys[:1] }, fault.Integrity},
		"a stranger":          {func(op *RootOp) { op.Approve(ctx, e) }, fault.Untrusted},
		"a forged approval":   {func(op *RootOp) { op.Approve(ctx, b); op.Approvals[0].Sig[0] ^= 1 }, fault.Integrity},
	} {
		op := good
		c.change(&op)
		if _, err := r.root.Agreement(op, admin.pub); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := r.root.NewRoots(2, a.pub, b.pub, a.pub); !fault.Is(err, fault.Untrusted) {
		t.Errorf("one key twice: %v, want untrusted", err)
	}
	if _, err := r.root.NewRoots(3, a.pub, b.pub); !fault.Is(err, fault.Usage) {
		t.Errorf("more than there are: %v, want usage", err)
	}
	if _, err := r.root.NewRoots(r.root.Threshold, r.root.Keys...); !fault.Is(err, fault.Usage) {
		t.Errorf("no change: %v, want usage", err)
	}
}

// TestRootFollowsItself: an operation that root keys agreed to, and that stands elsewhere than
// after the one before it, or goes back in time, is refused.
func TestRootFollowsItself(t *testing.T) {
	ctx := context.Background()
	a := newKey("a")
	genesis, err := penOf(a).RootOperation(Root{}, RootOp{Kind: OpGenesis, Name: "One", Claims: ClaimsGranted, Threshold: 1, Keys: []trust.PublicKey{a.pub}})
	if err != nil {
		t.Fatal(err)
	}
	_, root, err := penOf(a).SealRoot(ctx, Root{}, genesis)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*RootOp)
		ago    time.Duration
		code   fault.Code
	}{
		"as it should":        {func(*RootOp) {}, 0, ""},
		"another predecessor": {func(op *RootOp) { op.Prev = objects.DigestOf([]byte("another")) }, 0, fault.Integrity},
		"another registry":    {func(op *RootOp) { op.Registry = objects.DigestOf([]byte("another")) }, 0, fault.Integrity},
		"another position":    {func(op *RootOp) { op.Seq++ }, 0, fault.Malformed},
		"back in time":        {func(*RootOp) {}, time.Second, fault.Malformed},
	} {
		op, err := penOf(a).RootOperation(root, RootOp{Kind: OpGrant, Namespace: "acme", Keys: []trust.PublicKey{a.pub}})
		if err != nil {
			t.Fatal(err)
		}
		tc.change(&op)
		next := root
		if err := next.change(op); err != nil {
			t.Fatal(err)
		}
		p := penOf(a)
		tree, err := next.Tree(p.Format, nil)
		if err != nil {
			t.Fatal(err)
		}
		op.State = next.Digest() // so that nothing else is wrong with it
		raw, err := p.Commit(ctx, tree, op.Parents, op.Message(), root.Time.Add(-tc.ago))
		if err != nil {
			t.Fatal(err)
		}
		done, err := ParseRoot(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := root.Apply(done); fault.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want code %q", name, err, tc.code)
		}
	}
}

// TestClaimByAStranger: where the root granted a namespace to keys and names no genesis, only
// a log that one of these keys began is that namespace.
func TestClaimByAStranger(t *testing.T) {
	a, b := newKey("a"), newKey("b")
	some, other := objects.DigestOf([]byte("some")), objects.DigestOf([]byte("other"))
	root := Root{Name: "r", Claims: ClaimsGranted}
	root.put(&Grant{Namespace: "acme", Keys: []trust.PublicKey{a.pub}})
	root.put(&Grant{Namespace: "named", Keys: []trust.PublicKey{a.pub}, Genesis: some})
	for name, tc := range map[string]struct {
		namespace string
		genesis   objects.Digest
		by        *testKey
		good      bool
	}{
		"an owner's":            {"acme", some, a, true},
		"a stranger's":          {"acme", some, b, false},
		"the one that is named": {"named", some, b, true},
		"another":               {"named", other, a, false},
		"of nobody":             {"free", some, a, false},
	} {
		if err := root.Admits(tc.namespace, tc.genesis, tc.by.pub); (err == nil) != tc.good || err != nil && !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttackTermsOfAgreement: what further keys agreed to holds among the root keys of then,
// until the time that they were told, and by the commit's time alone.
func TestAttackTermsOfAgreement(t *testing.T) {
	a, b := newKey("a"), newKey("b")
	genesis, err := penOf(a).RootOperation(Root{}, RootOp{Kind: OpGenesis, Name: "Two", Claims: ClaimsGranted, Threshold: 2, Keys: []trust.PublicKey{a.pub, b.pub}})
	if err != nil {
		t.Fatal(err)
	}
	if err := genesis.Approve(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	_, root, err := penOf(a).SealRoot(t.Context(), Root{}, genesis)
	if err != nil || root.Roles != 1 {
		t.Fatalf("roles %d, %v", root.Roles, err)
	}
	grant := RootOp{Kind: OpGrant, Namespace: "acme", Keys: []trust.PublicKey{a.pub}}
	for name, tt := range map[string]struct {
		change func(*RootOp)
		late   time.Duration
		want   fault.Code
	}{
		"in time":             {func(*RootOp) {}, TermsFor, ""},
		"too late":            {func(*RootOp) {}, TermsFor + time.Second, fault.Untrusted},
		"among other roots":   {func(op *RootOp) { op.Terms.Roles = 7 }, 0, fault.Untrusted},
		"prolonged afterward": {nil, 0, fault.Integrity},
		"without terms":       {func(op *RootOp) { op.Terms = Terms{} }, 0, fault.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			op, err := penOf(a).RootOperation(root, grant)
			if err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(&op)
			}
			if err := op.Approve(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if tt.change == nil {
				op.Terms.Until = op.Terms.Until.Add(time.Hour)
			}
			p := penOf(a)
			p.Now = p.Now.Add(tt.late)
			_, _, err = p.SealRoot(t.Context(), root, op)
			if tt.want == "" && err != nil {
				t.Error(err)
			} else if tt.want != "" {
				wantCode(t, err, tt.want)
			}
		})
	}
}

// TestOneApprovalTwice: a key agrees once, however often its approval is written down.
func TestOneApprovalTwice(t *testing.T) {
	ctx := context.Background()
	a, b, c := newKey("a"), newKey("b"), newKey("c")
	op, err := penOf(a).RootOperation(Root{}, RootOp{Kind: OpGenesis, Name: "Three", Claims: ClaimsGranted, Threshold: 3,
		Keys: []trust.PublicKey{a.pub, b.pub, c.pub}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*testKey{b, c} {
		if err := op.Approve(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	_, root, err := penOf(a).SealRoot(ctx, Root{}, op)
	if err != nil {
		t.Fatal(err)
	}
	op, err = penOf(a).RootOperation(root, RootOp{Kind: OpGrant, Namespace: "acme", Keys: []trust.PublicKey{a.pub}})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Approve(ctx, b); err != nil {
		t.Fatal(err)
	}
	op.Approvals = append(op.Approvals, op.Approvals[0])
	if _, err := ParseProposal(op.Message()); !fault.Is(err, fault.Malformed) {
		t.Errorf("a message with one approval twice: %v", err)
	}
	op.Signer = a.pub
	if err := root.checkAgreement(op); !fault.Is(err, fault.Untrusted) {
		t.Errorf("two of three keys agreed, one of them twice: %v", err)
	}
}
