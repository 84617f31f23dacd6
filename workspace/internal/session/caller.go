package session

import (
	"errors"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// A caller is checked before anything else happens, in one of two ways:
//
//   - Search, Load, Execute and Sign are about items, and need a capability for the item:
//     rye.load.tool.acme.hello. Host.Require refuses the zero Caller, and an expired one,
//     when the verb begins. Session.Allow (for Search the policy's Searching) decides when
//     the item is known: the caller must hold the capability, not be denied it, the
//     policy's callers.<name> must not narrow it away, and no rule of the policy may deny
//     it.
//   - Every other verb takes the capability rye.<verb>, such as rye.key.new. Host.Permit
//     decides before a file is read, so the policy has no part in it.
//
// Verbs ask for a person's further consent with Host.Ask.

// Require refuses, when a verb begins, a caller that no verb takes: see rye.Caller.Check.
func (h *Host) Require(c rye.Caller, verb string) error { return c.Check(verb, h.Now()) }

// Permit refuses a caller that may not use a verb: see rye.Caller.May. It also refuses a
// configuration that another user could have written (fault.Auth).
func (h *Host) Permit(c rye.Caller, verb string) error {
	if err := c.May(verb, h.Now()); err != nil {
		if denied, ok := errors.AsType[*fault.Error](err); ok && c.IsInside() && denied.Code == fault.Denied {
			return denied.Advise("a tool started this rye; a person must run it at a terminal of their own")
		}
		return err
	}
	if verb == "doctor" { // it reports the problem itself
		return nil
	}
	return CheckConfig(h)
}

// Allow refuses a caller that may not do verb (load, execute or sign) to an item. The further
// conditions of execute are checked once the plan is known.
func (s *Session) Allow(c rye.Caller, verb string, ref objects.Ref) error {
	q := RequestFor(c, verb, ref)
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

// RequestFor returns the policy's request for a caller that wants to do verb to an item.
func RequestFor(c rye.Caller, verb string, ref objects.Ref) policy.Request {
	return policy.Request{Verb: verb, Ref: ref, Caller: c.Name(), Person: c.IsPerson(), Inside: c.IsInside(), Thread: c.Thread(), Child: c.Parent() != "",
		Caps: capabilities(c.Capabilities()), Denied: capabilities(c.Denied())}
}

// capabilities are the patterns of docs/format/capability.md, and plain names of other verbs,
// which are about no item and match none. Caller.Check validated them.
func capabilities(list []string) (all policy.Caps) {
	for _, text := range list {
		all = append(all, policy.Cap(text))
	}
	return all
}
