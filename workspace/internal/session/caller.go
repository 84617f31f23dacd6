package session

import (
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// A caller is checked before anything else happens, in one of two ways:
//
//   - Search, Load, Execute and Sign are about items, and what they take names the item:
//     rye.load.tool.acme.hello. RequireCaller refuses the zero Caller when the verb
//     begins. Session.Allow (for Search the policy's Searching) decides when the item is
//     known: the caller must hold the capability, the policy's callers.<name> must not
//     narrow it away, and no rule of the policy may deny it.
//   - Every other verb takes the capability rye.<verb>, such as rye.key.new. Host.Permit
//     decides before a file is read, so the policy has no part in it.
//
// What a person has to agree to besides, the verb asks with Host.Ask.

// RequireCaller refuses the zero Caller with fault.Denied.
func RequireCaller(c rye.Caller, verb string) error {
	if c.IsZero() {
		return fault.New(fault.Denied, "%s: no caller was named: pass rye.Terminal(), rye.Client() or rye.Program(...)", verb)
	}
	return nil
}

// Permit refuses with fault.Denied the zero Caller and one that does not hold rye.<verb>, and
// with fault.Malformed one whose list has an entry that is not a capability. It refuses, too,
// to go on with a configuration that somebody else could have written (fault.Auth).
func (h *Host) Permit(c rye.Caller, verb string) error {
	if err := RequireCaller(c, verb); err != nil {
		return err
	}
	caps, err := capabilities(c)
	if err != nil {
		return err
	}
	if !caps.Covers(policy.Cap("rye." + verb)) {
		err := fault.New(fault.Denied, "%s: the caller %s does not hold the capability rye.%s", verb, c.Name(), verb)
		if c.IsInside() {
			return err.Advise("this rye was started by something that rye runs; a person does it at a terminal of their own")
		}
		return err
	}
	if verb == "doctor" { // which says what is wrong with it
		return nil
	}
	return CheckConfig(h)
}

// Allow refuses a caller that may not do verb (load, execute or sign) to an item. What
// executing takes besides is decided when the plan is known.
func (s *Session) Allow(c rye.Caller, verb string, ref objects.Ref) error {
	q, err := RequestFor(c, verb, ref)
	if err != nil {
		return err
	}
	rules, err := s.Rules()
	if err != nil {
		return err
	}
	d := rules.Permit(q)
	if err = d.Err(q); err != nil || verb != "execute" {
		s.RecordVerdict(q, d, false, err, verb == "execute")
	}
	return err
}

// RequestFor returns what the policy is asked when a caller wants to do verb to an item.
func RequestFor(c rye.Caller, verb string, ref objects.Ref) (policy.Request, error) {
	caps, err := capabilities(c)
	if err != nil {
		return policy.Request{}, err
	}
	return policy.Request{Verb: verb, Ref: ref, Caller: c.Name(), Caps: caps, Person: c.IsPerson(), Inside: c.IsInside()}, nil
}

// capabilities reads what a caller holds: patterns of docs/format/capability.md, which are
// about items, and plain names of other verbs, such as rye.add and rye.key.list, which
// stand for exactly that verb.
func capabilities(c rye.Caller) (policy.Caps, error) {
	var all policy.Caps
	for _, text := range c.Capabilities() {
		one, err := policy.ParseCap(text)
		if namesVerb(text) {
			one = policy.Cap(text)
		} else if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// namesVerb reports whether text is rye. and a verb, spelled out: words with dots between.
func namesVerb(text string) bool {
	verb, ok := strings.CutPrefix(text, "rye.")
	return ok && !slices.ContainsFunc(strings.Split(verb, "."), func(word string) bool {
		return word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != ""
	})
}
