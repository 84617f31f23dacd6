package oplog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// One key-revoke may name several keys. Otherwise two thieves with broken operations could protect
// each other's key: the catalogue cannot be derived while only one of them is dropped. All named
// keys are revoked, or none.

// KeyRevocation is the entry for one key in a key-revoke.
type KeyRevocation struct {
	Key      objects.Fingerprint
	BadFrom  uint64 // the first operation by Key that is not accepted; in DropsOf, 0 means the next
	DropFrom uint64 // the first operation by Key whose catalogue changes are dropped; 0: none
}

// compareRevoked orders the entries of a key-revoke.
func compareRevoked(a, b KeyRevocation) int { return strings.Compare(a.Key.String(), b.Key.String()) }

// RevokeOp returns a key-revoke for one or more keys. It refuses a repeated key (Usage).
func RevokeOp(reason string, keys ...KeyRevocation) (Op, error) {
	list := slices.SortedFunc(slices.Values(keys), compareRevoked)
	if len(list) == 0 || len(list) > maxRevocations {
		return Op{}, fault.New(fault.Usage, "revoke %d keys: want 1 to %d", len(list), maxRevocations)
	}
	for i := range list[1:] {
		if list[i].Key == list[i+1].Key {
			return Op{}, fault.New(fault.Usage, "revoke key %s: it is named twice", list[i].Key)
		}
	}
	return Op{Kind: OpKeyRevoke, Reason: reason}.Naming(list), nil
}

// Naming returns op as a key-revoke of the keys in list, which is sorted.
func (op Op) Naming(list []KeyRevocation) Op {
	op.Key, op.BadFrom, op.DropFrom, op.More = list[0].Key, list[0].BadFrom, list[0].DropFrom, slices.Clone(list[1:])
	return op
}

// Revocations returns the entry for each key in a key-revoke.
func (op *Op) Revocations() []KeyRevocation {
	return append([]KeyRevocation{{op.Key, op.BadFrom, op.DropFrom}}, op.More...)
}

// Drops reports whether a key-revoke drops operations.
func (op *Op) Drops() bool {
	return op.DropFrom > 0 || slices.ContainsFunc(op.More, func(k KeyRevocation) bool { return k.DropFrom > 0 })
}

// revokeKeys marks keys bad, each from a position on, with the keys that each added from there on.
// A revoked key may be named again only to drop more of its operations. Without that exception, a
// thief could revoke the stolen key first, and so keep members from dropping its operations.
func (s *State) revokeKeys(op Op) error {
	at := make(map[objects.Fingerprint]int, len(s.keys))
	for i := range s.keys {
		at[s.keys[i].Public.Fingerprint()] = i
	}
	falls := make([]KeyRevocation, len(s.keys))
	for _, k := range op.Revocations() {
		i, is := at[k.Key]
		if !is {
			i = -1
		}
		from := []KeyState{KeyActive, KeyRetired}
		if is && s.keys[i].drops(k.DropFrom) {
			from = append(from, KeyRevoked)
		}
		if err := s.mayEnd(i, k.Key, from...); err != nil {
			return err
		}
		if k.BadFrom == 0 || k.BadFrom > op.Seq {
			return fault.New(fault.Malformed, "key %s: bad from %d, want 1 to %d", k.Key, k.BadFrom, op.Seq)
		}
		if k.DropFrom != 0 && (k.DropFrom < k.BadFrom || k.DropFrom >= op.Seq) {
			return fault.New(fault.Malformed, "key %s: drop from %d, want %d to %d", k.Key, k.DropFrom, k.BadFrom, op.Seq-1)
		}
		falls[i] = k
	}
	s.keys = slices.Clone(s.keys)
	s.spoil(falls, op)
	// The old threshold agreed to this, so the remaining keys may go on with a lower one.
	s.Threshold = max(min(s.Threshold, len(s.Active())), 1)
	return nil
}

// spoil revokes the keys whose entry in falls is not zero, and every key that one of them added at
// or after its BadFrom. It visits each key once, after the key that added it, so the order in which
// a key-revoke names them makes no difference.
func (s *State) spoil(falls []KeyRevocation, op Op) {
	for _, i := range byDescent(s.keys) {
		k, f := &s.keys[i], falls[i]
		if f.BadFrom == 0 || k.State == KeyRevoked && f.BadFrom >= k.BadFrom && !k.drops(f.DropFrom) {
			continue
		}
		from, drop := f.BadFrom, f.DropFrom
		if k.State == KeyRevoked {
			from = min(from, k.BadFrom)
			if k.DropFrom > 0 {
				drop = earliest(drop, k.DropFrom)
			}
		}
		fp := k.Public.Fingerprint()
		k.State, k.Since, k.BadFrom, k.DropFrom, k.Reason = KeyRevoked, op.Seq, from, drop, op.Reason
		for j := range s.keys {
			if o := &s.keys[j]; o.By == fp && o.Added >= from && j != i {
				falls[j].fallsWith(f, o.Added)
			}
		}
	}
}

// fallsWith includes a key, added at a position, in the revocation of the key that added it.
func (k *KeyRevocation) fallsWith(by KeyRevocation, added uint64) {
	k.BadFrom = earliest(k.BadFrom, added)
	if by.DropFrom > 0 {
		k.DropFrom = earliest(k.DropFrom, max(by.DropFrom, added))
	}
}

// earliest returns the lower of two positions; an a of 0 means none.
func earliest(a, b uint64) uint64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// byDescent returns the indexes of the keys, each after the index of the key that added it.
func byDescent(keys []Key) []int {
	order, others := make([]int, len(keys)), make([]int, len(keys))
	for i := range keys {
		if order[i] = i; keys[i].By != keys[i].Public.Fingerprint() {
			others[i] = 1 // within one operation, its signer comes first
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(keys[i].Added, keys[j].Added), others[i]-others[j])
	})
	return order
}
