package policy

import (
	"fmt"
	"slices"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/objects"
)

// Searching says which items of the kind q.Ref.Kind the caller may search. may is
// nil when that is all of them. rye.search.<kind> covers the kind, as it did in RYE OS;
// so does rye.search.<kind>.*, and a longer pattern the part that it
// names. What the policy or the caller's own denials deny is left out. A Decision that is not Allow means
// that nothing may be searched.
func (r Rules) Searching(q Request) (may func(objects.ID) bool, d Decision) {
	kind := Need("search", objects.Ref{Kind: q.Ref.Kind})
	whole := kind + ".*"
	caps := r.held(q)
	all := caps.Covers(kind) || caps.Covers(whole)
	if !all && !touches(caps, whole) {
		return nil, Decision{Deny, command.T4, "capability", r.missing(q, kind, caps) +
			fmt.Sprintf("; %s or %s would be, and for a part of them %s.<namespace>.*", kind, whole, kind)}
	}
	for _, c := range q.Denied {
		if c.Contains(kind) || c.Contains(whole) {
			return nil, Decision{Deny, command.T4, "capability", q.denial(c)}
		}
	}
	for _, c := range r.Deny {
		if c.Contains(kind) || c.Contains(whole) {
			return nil, Decision{Deny, command.T4, "deny: " + string(c), fmt.Sprintf("the policy refuses %s to everybody", c)}
		}
	}
	d = Decision{Allow, command.T0, "capability", fmt.Sprintf("%s is held", kind)}
	deny := slices.Concat(r.Deny, q.Denied)
	if all && !touches(deny, whole) {
		return nil, d
	}
	return func(id objects.ID) bool {
		one := Cap(string(kind) + "." + id.Dots())
		return (all || caps.Covers(one)) && !deny.Covers(one)
	}, d
}

// touches reports whether a member of cs and c have any text in common.
func touches(cs []Cap, c Cap) bool {
	for _, x := range cs {
		if objects.Overlap(string(x), string(c)) {
			return true
		}
	}
	return false
}
