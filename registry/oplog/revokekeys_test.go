package oplog

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"slices"
	"testing"
)

// TestRevocationsInAnyOrder: which key is named first makes no difference, nor whether one that
// falls with another is named.
func TestRevocationsInAnyOrder(t *testing.T) {
	ada, bob, cyd, dan := newKey("ada"), newKey("bob"), newKey("cyd"), newKey("dan")
	r := newRig(t, ClaimsGranted, ada)
	r.claim(ada)
	r.do(ada, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, bob)})
	r.do(bob, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, cyd)}) // 3
	r.do(cyd, Op{Kind: OpKeyAdd, Keys: grants(t, r.s, dan)}) // 4
	for range 4 {
		r.do(ada, Op{Kind: OpVoid, Void: Voided{Seq: 2, Sum: r.s.Tip}})
	}
	list := []KeyRevocation{{dan.fp(), 8, 8}, {bob.fp(), 3, 7}, {cyd.fp(), 6, 6}}
	want := map[objects.Fingerprint][2]uint64{bob.fp(): {3, 7}, cyd.fp(): {3, 6}, dan.fp(): {4, 6}}
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var some []KeyRevocation
		for _, i := range order {
			some = append(some, list[i])
		}
		s := r.s
		if err := s.revokeKeys(Op{Kind: OpKeyRevoke, Seq: 9, Reason: "stolen"}.Naming(some)); err != nil {
			t.Fatal(err)
		}
		for fp, w := range want {
			if k, _ := s.Key(fp); k.State != KeyRevoked || k.BadFrom != w[0] || k.DropFrom != w[1] {
				t.Errorf("order %d: %s is bad from %d, dropped from %d; want %d", order, fp, k.BadFrom, k.DropFrom, w)
			}
		}
	}
}

// TestRevokeOp: keys are sorted, none is named twice.
func TestRevokeOp(t *testing.T) {
	var list []KeyRevocation
	for _, name := range []string{"ada", "bob", "cyd", "eve"} {
		list = append(list, KeyRevocation{Key: newKey(name).fp(), BadFrom: 1})
	}
	op, err := RevokeOp("lost", list...)
	if got := op.Revocations(); err != nil || len(got) != 4 || !slices.IsSortedFunc(got, compareRevoked) {
		t.Errorf("RevokeOp = %v, %v", got, err)
	}
	for name, list := range map[string][]KeyRevocation{"no key": nil, "one key twice": append(list, list[0]), "too many": make([]KeyRevocation, maxRevocations+1)} {
		_, err := RevokeOp("lost", list...)
		if !fault.Is(err, fault.Usage) {
			t.Errorf("RevokeOp of %s: %v", name, err)
		}
	}
}
