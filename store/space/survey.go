package space

import (
	"slices"
	"sort"

	"github.com/rye-os/rye/objects"
)

// Look is the result of one look at a space: its rows, numbered from 0, in the order of Scan.
// It is safe for concurrent use.
type Look struct{ u *update }

// LookAt returns a Look at the given rows, and keeps them.
func LookAt(rows []Row) *Look {
	u := &update{rows: rows, old: &catalogue{}}
	u.merge()
	return &Look{u}
}

// With returns k with rows merged in. k does not change.
func (k *Look) With(rows []Row) *Look {
	if len(rows) == 0 {
		return k
	}
	u := *k.u
	u.rows, u.order = slices.Concat(u.rows, rows), slices.Clone(u.order)
	u.mergeIn(len(k.u.rows))
	return &Look{&u}
}

// Rows returns every row.
func (k *Look) Rows() []Row {
	rows := make([]Row, k.Len())
	for i := range rows {
		rows[i] = k.Row(i)
	}
	return rows
}

// Len returns the number of rows.
func (k *Look) Len() int { return len(k.u.order) }

// Row returns row i.
func (k *Look) Row(i int) Row {
	if e := k.u.order[i]; e >= 0 {
		return k.u.old.row(e)
	}
	return k.u.rows[-1-k.u.order[i]]
}

// Ref returns the ref of row i.
func (k *Look) Ref(i int) objects.Ref { return k.u.ref(k.u.order[i]) }

// Clean reports whether row i needs no action: it is signed and recorded, not only by a RYE OS
// line, and no other file has its ref.
func (k *Look) Clean(i int) bool {
	clean := false
	if e := k.u.order[i]; e >= 0 {
		clean = k.u.old.state(e) == objects.Signed && k.u.old.has(e, flagRecorded)
	} else {
		r := &k.u.rows[-1-e]
		clean = r.State == objects.Signed && r.Recorded && r.Covers == "" && (r.Ref.Kind != "" || r.Manifest)
	}
	return clean && !k.twins(i-1, i) && !k.twins(i, i+1)
}

// twins reports whether rows i and j have the same ref.
func (k *Look) twins(i, j int) bool {
	if i < 0 || j >= k.Len() {
		return false
	}
	a, b := k.u.order[i], k.u.order[j]
	if a >= 0 && b >= 0 {
		return k.u.old.twins(a, b)
	}
	return k.u.ref(a) == k.u.ref(b) && k.u.ref(a).Kind != ""
}

// Holds reports whether a row has the ref.
func (k *Look) Holds(ref objects.Ref) bool {
	_, ok := k.Find(ref)
	return ok
}

// Find returns the first row with the ref.
func (k *Look) Find(ref objects.Ref) (i int, ok bool) {
	i = sort.Search(k.Len(), func(i int) bool { return byRef(k.Ref(i), ref, "", "") >= 0 })
	return i, i < k.Len() && k.Ref(i) == ref
}
