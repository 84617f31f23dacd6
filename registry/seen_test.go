package registry

import (
	"context"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// TestMemoryOnlyMovesForward: processes that end in another order than they began take
// nothing back of what was verified, and two that verified different histories say so.
func TestMemoryOnlyMovesForward(t *testing.T) {
	w, _, m := attacked(t)
	at := func() Point {
		t.Helper()
		all, err := readMemory(m.o.StateDir, m.o.ID)
		if err != nil {
			t.Fatal(err)
		}
		return all["acme"]
	}
	here := at()
	ahead, behind, aside := here, here, here
	ahead.Seq, ahead.Sum = here.Seq+2, objects.DigestOf([]byte("ahead"))
	behind.Seq, behind.Sum = ahead.Seq-1, objects.DigestOf([]byte("behind"))
	aside.Seq, aside.Sum = ahead.Seq, objects.DigestOf([]byte("aside"))
	for _, step := range []struct {
		name string
		to   Point
		code fault.Code
		want Point
	}{
		{"forward", ahead, "", ahead},
		{"the same again", ahead, "", ahead},
		{"back", behind, "", ahead},
		{"sideways", aside, fault.Fork, ahead},
	} {
		if err := m.remember(w.ctx, "acme", step.to); fault.CodeOf(err) != step.code {
			t.Errorf("%s: %v, want code %q", step.name, err, step.code)
		}
		if got := at(); got != step.want {
			t.Errorf("%s: remembers %+v, want %+v", step.name, got, step.want)
		}
	}
}

// TestCachedRootIsTheVerifiedOne: a cache is a directory that others may write to. Only what
// the memory names, of the registry that is asked for, is built from it.
func TestCachedRootIsTheVerifiedOne(t *testing.T) {
	w, _, m := attacked(t)
	all, err := readMemory(m.o.StateDir, m.o.ID)
	if err != nil {
		t.Fatal(err)
	}
	cached, here := &m.reading().Reader, all[""]
	if root, err := trustedRoot(w.ctx, cached, here, m.o.ID); err != nil || root.Seq != here.Seq {
		t.Fatalf("as verified: %+v, %v", root, err)
	}
	other := objects.DigestOf([]byte("another"))
	further, changed := here, here
	further.Seq++
	changed.Sum = other
	for name, try := range map[string]func() (Root, error){
		"of another registry":    func() (Root, error) { return trustedRoot(w.ctx, cached, here, other) },
		"of another position":    func() (Root, error) { return trustedRoot(w.ctx, cached, further, m.o.ID) },
		"with another operation": func() (Root, error) { return trustedRoot(w.ctx, cached, changed, m.o.ID) },
	} {
		if _, err := try(); !fault.Is(err, fault.Integrity) {
			t.Errorf("a cached root %s: %v", name, err)
		}
	}
}

// TestOneApprovalTwice: a key agrees once, however often its approval is written down.
func TestOneApprovalTwice(t *testing.T) {
	ctx := context.Background()
	a, b, c := newKey("a"), newKey("b"), newKey("c")
	op, err := penOf(a).rootOperation(Root{}, RootOp{Kind: OpGenesis, Name: "Three", Claims: ClaimsGranted, Threshold: 3,
		Keys: []trust.PublicKey{a.pub, b.pub, c.pub}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*testKey{b, c} {
		if err := op.Approve(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	_, root, err := penOf(a).sealRoot(ctx, Root{}, op)
	if err != nil {
		t.Fatal(err)
	}
	op, err = penOf(a).rootOperation(root, RootOp{Kind: OpGrant, Namespace: "acme", Keys: []trust.PublicKey{a.pub}})
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
