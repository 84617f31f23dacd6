package oplog

import (
	"cmp"
	"slices"
)

// MaxSkipped bounds the list of skipped operations of one namespace; more are only counted.
const MaxSkipped = 1024

// Skips holds the operations of a namespace that have no effect.
type Skips struct {
	List []Skipped // by position
	More uint64    // number of further operations
	UpTo uint64    // the position up to which the log was examined
}

// Find returns the index in the list of the operation at a position, or where it would be inserted.
func (k *Skips) Find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(k.List, seq, func(s Skipped, seq uint64) int { return cmp.Compare(s.Seq, seq) })
}

// Add adds an operation later than all in the list.
func (k *Skips) Add(s Skipped) {
	if len(k.List) < MaxSkipped {
		k.List = append(k.List, s)
	} else {
		k.More++
	}
}

// Void records that operation by voids another. It returns false if that one is not in the list and
// too early to be one of the More.
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

// Open returns the operations that are not voided yet.
func (k Skips) Open() (open []Skipped) {
	for _, s := range k.List {
		if s.Voided == 0 {
			open = append(open, s)
		}
	}
	return open
}
