package registry

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
)

// TestAgreementForetellsApply: what Agreement calls complete is committed, and what
// it does not is refused, whoever approved and whoever signs.
func TestAgreementForetellsApply(t *testing.T) {
	ctx := context.Background()
	all := []*testKey{newKey("a"), newKey("b"), newKey("c"), newKey("d")}
	a, b, c, d := all[0], all[1], all[2], all[3]
	genesis, err := penOf(a).rootOperation(Root{}, RootOp{Kind: OpGenesis, Name: "Two of three", Claims: ClaimsGranted, Threshold: 2,
		Keys: []trust.PublicKey{a.pub, b.pub, c.pub}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*testKey{b, c} {
		if err := genesis.Approve(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	_, root, err := penOf(a).sealRoot(ctx, Root{}, genesis)
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
			op, err := penOf(signer).rootOperation(root, plan)
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
			_, _, err = penOf(signer).sealRoot(ctx, root, op.Without(signer.fp()))
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
	good, err := penOf(admin).rootOperation(r.root, plan)
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
