package policy

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Cap is a capability: rye.<verb>.<kind>.<id with dots>, where "*" stands for any text, with or
// without dots. docs/format/capability.md is its grammar. Only ParseCap and Need make one.
type Cap string

// ParseCap refuses everything outside of rye's grammar, including "?" and "[".
func ParseCap(s string) (Cap, error) {
	if why := objects.CheckCapability(s); why != "" {
		return "", fault.New(fault.Malformed, "capability %q: %s", words.Brief(s), why).Advise("write rye.<verb>.<kind>.<id with dots>, for example rye.execute.tool.acme.*")
	}
	return Cap(s), nil
}

// Need returns the capability that verb on ref requires. Search requires one for the whole kind,
// because its results are many items.
func Need(verb string, ref objects.Ref) Cap {
	if verb == "search" || ref.ID == "" {
		return Cap("rye." + verb + "." + string(ref.Kind))
	}
	return Cap("rye." + verb + "." + string(ref.Kind) + "." + ref.ID.Dots())
}

// Contains reports whether c includes everything that need stands for. It is exact for patterns
// with "*". A star in need must lie within a star of c, because it can stand for a letter that
// nothing else in c matches.
func (c Cap) Contains(need Cap) bool { return glob(string(c), string(need)) }

// glob matches text against pattern, where "*" is any run of bytes. A star in text is a letter
// that only a star matches.
func glob(pattern, text string) bool { return objects.Covers(pattern, text) }

// Caps are the capabilities that a caller holds. nil holds nothing.
type Caps []Cap

// ParseCaps parses a list in a policy. The first malformed capability is an error. So is a
// capability about threads: the policy does not check those, and an entry would have no effect.
func ParseCaps(list []string) (Caps, error) {
	var out Caps
	for _, s := range list {
		c, err := ParseCap(s)
		if err == nil && objects.AboutThreads(s) {
			err = fault.New(fault.Malformed, "capability %q: a policy covers items, not threads", s)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Covers reports whether one capability contains need. Several that contain it only together are
// not enough.
func (cs Caps) Covers(need Cap) bool {
	for _, c := range cs {
		if c.Contains(need) {
			return true
		}
	}
	return false
}

// Strings returns the capabilities as texts.
func (cs Caps) Strings() []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = string(c)
	}
	return out
}

// Attenuate returns the capabilities of a child that requests want under a parent that holds
// parent. They are exactly want when the parent holds all of it. Otherwise the error is Denied
// and names the first excess. A child that requests nothing gets nothing. This rule holds for
// every link of a chain that may only narrow, such as the blocks of a token. Narrow also accepts
// a part of want.
func Attenuate(parent, want Caps) (Caps, error) {
	for _, w := range want {
		if !parent.Covers(w) {
			return nil, fault.New(fault.Denied, "capability %s: the parent does not hold it, so its child cannot have it", w)
		}
	}
	return append(Caps(nil), want...), nil
}

// Narrow returns the part of want that parent allows. A covered capability stays; a wider one is
// replaced by the parent's capabilities within it. Narrow returns no error, so it serves limits
// (a policy) and not requests (a child).
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
