package policy

import (
	"fmt"

	"github.com/rye-os/rye/objects"
)

// Searching says which items of the kind q.Ref.Kind the caller may search. may is
// nil when that is all of them. rye.search.<kind> covers the kind, as it did in RYE OS;
// so does rye.search.<kind>.*, and a longer pattern the part that it
// names. What the policy denies is left out. A Decision that is not Allow means
// that nothing may be searched.
func (r Rules) Searching(q Request) (may func(objects.ID) bool, d Decision) {
	kind := Need("search", objects.Ref{Kind: q.Ref.Kind})
	whole := kind + ".*"
	caps := q.Caps
	if limit, ok := r.Callers[q.Caller]; ok {
		caps = Narrow(limit, caps)
	}
	all := caps.Covers(kind) || caps.Covers(whole)
	if !all && !touches(caps, whole) {
		return nil, Decision{Deny, T4, "capability", r.missing(q, kind, caps) +
			fmt.Sprintf("; %s or %s would be, and for a part of them %s.<namespace>.*", kind, whole, kind)}
	}
	for _, c := range r.Deny {
		if c.Contains(kind) || c.Contains(whole) {
			return nil, Decision{Deny, T4, "deny: " + string(c), fmt.Sprintf("the policy refuses %s to everybody", c)}
		}
	}
	d = Decision{Allow, T0, "capability", fmt.Sprintf("%s is held", kind)}
	if all && !touches(r.Deny, whole) {
		return nil, d
	}
	return func(id objects.ID) bool {
		one := Cap(string(kind) + "." + id.Dots())
		return (all || caps.Covers(one)) && !Caps(r.Deny).Covers(one)
	}, d
}

// touches reports whether a member of cs and c have any text in common.
func touches(cs []Cap, c Cap) bool {
	for _, x := range cs {
		if overlap(string(x), string(c)) {
			return true
		}
	}
	return false
}

// overlap reports whether some text is matched by both patterns. It takes time of
// the product of their lengths.
func overlap(a, b string) bool {
	// row[j]: a from i on and b from j on have a text in common.
	row := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		below := row
		row = make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && a[i] == '*':
				row[j] = below[j] || j < len(b) && row[j+1]
			case j < len(b) && b[j] == '*':
				row[j] = row[j+1] || i < len(a) && below[j]
			default:
				row[j] = i < len(a) && j < len(b) && a[i] == b[j] && below[j+1]
			}
		}
	}
	return row[0]
}
