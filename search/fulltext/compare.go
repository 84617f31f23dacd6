package fulltext

import (
	"github.com/rye-os/rye/search"
)

// With more changes, or a larger part of a layer changed, the next index is made.
const (
	manyChanges = 200
	partChanges = 20 // one in twenty: 5 %
	fewChanges  = 8  // never count as many
)

// difference holds the differences between a listing and an index.
type difference struct {
	entry []int32 // by document of the index; -1: not listed
	fresh []int   // entries that the index lacks
	gone  int     // number of documents that are no longer listed
}

// many reports whether it is time for the next index.
func (d *difference) many(listed int) bool {
	n := max(len(d.fresh), d.gone)
	return n > manyChanges || n > max(fewChanges, listed/partChanges)
}

// compare compares an index with a listing; both are sorted alike. A nil handle is an empty index.
func (h *handle) compare(l *search.Listing) *difference {
	d := &difference{}
	if h == nil {
		for i := range l.Len {
			d.fresh = append(d.fresh, i)
		}
		return d
	}
	d.entry = make([]int32, h.docs)
	for doc := range d.entry {
		d.entry[doc] = -1
	}
	known, matched := 0, 0
	for i := range l.Len {
		path, sum := l.At(i)
		order := -1
		for known < h.rows.len() {
			if order = search.CompareEntries(h.rows.path(known), path); order >= 0 {
				break
			}
			known++
		}
		if order == 0 && h.rows.sum(known) == sum {
			d.entry[h.rows.doc(known)] = int32(i)
			matched++
		} else {
			d.fresh = append(d.fresh, i)
		}
	}
	d.gone = h.docs - matched
	return d
}
