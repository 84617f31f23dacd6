package policy

import (
	"fmt"
	"slices"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/objects"
)

// Searching returns a filter for the items of the kind q.Ref.Kind that the caller may search; nil
// allows all of them. rye.search.<kind> covers the kind, as in RYE OS, and so does
// rye.search.<kind>.*. A longer pattern covers a part. Items that the policy or the caller's own
// denials deny are excluded. If the Decision is not Allow, the caller may search nothing.
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
			return nil, Decision{Deny, command.T4, "deny: " + string(c), fmt.Sprintf("the policy refuses %s to everyone", c)}
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

// touches reports whether any text matches both c and a member of cs.
func touches(cs []Cap, c Cap) bool {
	for _, x := range cs {
		if objects.Overlap(string(x), string(c)) {
			return true
		}
	}
	return false
}
