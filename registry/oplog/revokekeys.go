package oplog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// One key-revoke may name several keys. Two thieves whose operations do not follow could else
// keep each other's key: nobody can derive the catalogue while only one of them is dropped. All
// keys are revoked, or none.

// KeyRevocation is what a key-revoke says of one key.
type KeyRevocation struct {
	Key      objects.Fingerprint
	BadFrom  uint64 // the first operation by Key that no longer counts; to DropsOf, 0 is the next
	DropFrom uint64 // the first operation by Key that changes nothing of the catalogue; 0: none
}

// compareRevoked orders them as a key-revoke names them.
func compareRevoked(a, b KeyRevocation) int { return strings.Compare(a.Key.String(), b.Key.String()) }

// RevokeOp returns the key-revoke that names these keys, at least one, and none twice (Usage).
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

// Naming returns a key-revoke of these keys, which are sorted.
func (op Op) Naming(list []KeyRevocation) Op {
	op.Key, op.BadFrom, op.DropFrom, op.More = list[0].Key, list[0].BadFrom, list[0].DropFrom, slices.Clone(list[1:])
	return op
}

// Revocations returns what a key-revoke says of each key that it names.
func (op *Op) Revocations() []KeyRevocation {
	return append([]KeyRevocation{{op.Key, op.BadFrom, op.DropFrom}}, op.More...)
}

// Drops reports whether a key-revoke drops operations.
func (op *Op) Drops() bool {
	return op.DropFrom > 0 || slices.ContainsFunc(op.More, func(k KeyRevocation) bool { return k.DropFrom > 0 })
}

// revokeKeys marks keys bad, each from a position on, and with each the keys that it added since.
// A key that is revoked already may be named again only where more of its operations are dropped:
// otherwise a thief who revoked the stolen key would keep every member from doing that.
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
	// As many as were needed before agreed to this, so that they may go on with fewer.
	s.Threshold = max(min(s.Threshold, len(s.Active())), 1)
	return nil
}

// spoil revokes the keys that fall, a zero KeyRevocation being of one that stands, and every key
// that one of them added at or after the position from which it is bad. A key is met once, after
// the one that added it, so it makes no difference which of them is named first.
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

// fallsWith lets a key that was added at a position fall with the one that added it.
func (k *KeyRevocation) fallsWith(by KeyRevocation, added uint64) {
	k.BadFrom = earliest(k.BadFrom, added)
	if by.DropFrom > 0 {
		k.DropFrom = earliest(k.DropFrom, max(by.DropFrom, added))
	}
}

// earliest returns the lower of a position, 0 being none, and another.
func earliest(a, b uint64) uint64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// byDescent returns the keys' indexes, each after that of the key that added it.
func byDescent(keys []Key) []int {
	order, others := make([]int, len(keys)), make([]int, len(keys))
	for i := range keys {
		if order[i] = i; keys[i].By != keys[i].Public.Fingerprint() {
			others[i] = 1 // of one operation, who signed it comes first
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(keys[i].Added, keys[j].Added), others[i]-others[j])
	})
	return order
}
