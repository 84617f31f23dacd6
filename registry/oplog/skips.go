package oplog

import (
	"cmp"
	"slices"
)

// MaxSkipped bounds the operations of one namespace in that list; more are counted.
const MaxSkipped = 1024

// Skips are the operations of a namespace that have no effect.
type Skips struct {
	List []Skipped // by position
	More uint64    // that are not in the list
	UpTo uint64    // the position up to which the log was looked at
}

// Find returns where the operation at a position is in the list, or would be.
func (k *Skips) Find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(k.List, seq, func(s Skipped, seq uint64) int { return cmp.Compare(s.Seq, seq) })
}

// Add adds an operation that follows those in the list.
func (k *Skips) Add(s Skipped) {
	if len(k.List) < MaxSkipped {
		k.List = append(k.List, s)
	} else {
		k.More++
	}
}

// Void notes that the operation by voids another. It reports false where that is not in the
// list.
func (k *Skips) Void(what Voided, by uint64) bool {
	if i, found := k.Find(what.Seq); found && k.List[i].Sum == what.Sum {
		k.List[i].Voided = by
		return true
	}
	if k.More > 0 && what.Seq > k.List[len(k.List)-1].Seq {
		k.More--
		return true
	}
	return false
}

// Open returns the operations that nobody voided yet.
func (k Skips) Open() (open []Skipped) {
	for _, s := range k.List {
		if s.Voided == 0 {
			open = append(open, s)
		}
	}
	return open
}
