// Package policy decides whether a caller may do a thing: by what it holds
// (capabilities), by how dangerous the thing is (tiers and rules) and by what
// package command found in the lines it would run. It decides and never acts, reads nothing
// but its arguments, and the same arguments always give the same answer.
package policy

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Cap is a capability: rye.<verb>.<kind>.<id with dots>, where "*" stands for any
// text, dots too. docs/format/capability.md is its grammar. Only ParseCap and Need
// make one.
type Cap string

// ParseCap refuses everything that is not a capability of our grammar, "?" and "[" among it.
func ParseCap(s string) (Cap, error) {
	if why := objects.CheckCapability(s); why != "" {
		return "", fault.New(fault.Malformed, "capability %q: %s", words.Brief(s), why).Advise("write rye.<verb>.<kind>.<id with dots>, for example rye.execute.tool.acme.*")
	}
	return Cap(s), nil
}

// Need returns the capability that doing verb to ref takes. Searching is asked for
// per kind, because its results are many items.
func Need(verb string, ref objects.Ref) Cap {
	if verb == "search" || ref.ID == "" {
		return Cap("rye." + verb + "." + string(ref.Kind))
	}
	return Cap("rye." + verb + "." + string(ref.Kind) + "." + ref.ID.Dots())
}

// Contains reports whether everything that need stands for is included in c. It
// is exact for patterns with "*": a star of need must lie within a star of c,
// since it can stand for a letter that nothing else in c matches.
func (c Cap) Contains(need Cap) bool { return glob(string(c), string(need)) }

// glob matches text against pattern, "*" being any run of bytes; a star in text is a letter
// that only a star matches.
func glob(pattern, text string) bool { return objects.Covers(pattern, text) }

// Caps is what a caller holds. nil holds nothing.
type Caps []Cap

// ParseCaps parses a list of a policy, and refuses it for the first that is malformed. What
// is done with threads is no act on an item, and the policy has no part in it: written here
// it would look as if it held.
func ParseCaps(list []string) (Caps, error) {
	var out Caps
	for _, s := range list {
		c, err := ParseCap(s)
		if err == nil && objects.AboutThreads(s) {
			err = fault.New(fault.Malformed, "capability %q: a policy is about items, and not about threads", s)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Covers reports whether one capability contains need. Several that contain it
// only together do not count.
func (cs Caps) Covers(need Cap) bool {
	for _, c := range cs {
		if c.Contains(need) {
			return true
		}
	}
	return false
}

// Strings returns the capabilities as they are written.
func (cs Caps) Strings() []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = string(c)
	}
	return out
}

// Attenuate returns what a child gets that asks for want under a parent that
// holds parent: exactly want, when the parent holds all of it, and a Denied error
// naming the first excess otherwise. A child that asks for nothing gets nothing.
// It is the rule for every link of a chain that may only narrow, such as the blocks
// of a token; Narrow is for where less than what was asked is an answer too.
func Attenuate(parent, want Caps) (Caps, error) {
	for _, w := range want {
		if !parent.Covers(w) {
			return nil, fault.New(fault.Denied, "capability %s: the parent does not hold it, so its child cannot have it", w)
		}
	}
	return append(Caps(nil), want...), nil
}

// Narrow returns the part of want that parent allows: what is covered stays, what
// is wider is replaced by the parent's capabilities within it. It never errs, so
// it serves limits (a policy) and not requests (a child).
func Narrow(parent, want Caps) Caps {
	var out Caps
	add := func(c Cap) {
		if !out.Covers(c) {
			out = append(out, c)
		}
	}
	for _, w := range want {
		for _, c := range objects.Within(parent, w) {
			add(c)
		}
	}
	return out
}
