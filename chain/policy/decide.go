package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Verdict is the outcome of a decision. The zero value is Deny.
type Verdict uint8

// The verdicts.
const (
	Deny Verdict = iota
	Ask          // a person must agree
	Allow
)

// String returns "deny", "ask" or "allow".
func (v Verdict) String() string { return [...]string{"deny", "ask", "allow"}[min(v, Allow)] }

// Request is one act that a caller requests.
type Request struct {
	Verb   string // execute, search, load, sign
	Ref    objects.Ref
	Digest objects.Digest // of the item's file
	Now    Subject        // what would run, compared with approvals; no approval covers zero

	Caller string // by this name policy.callers may narrow Caps
	Caps   Caps
	Denied Caps   // wins over Caps
	Inside bool   // started within a run, whose caller is unknown
	Thread string // id of the calling agent thread; "" for every other caller
	Person bool   // a person typed this very command at a terminal
	Child  bool   // on behalf of a thread's child: sub_agent_policy applies

	Declared command.Tier // in the item; T0 when it declares none
	Floor    command.Tier // the least tier of its primitive in its sandbox
	Reach    command.Tier // the tier of its chain's needs; see the function
	Reaches  string
	Findings []command.Finding
}

// Decision is the answer, with an explanation.
type Decision struct {
	Verdict Verdict
	Tier    command.Tier // the effective one
	Rule    string       // deciding rule: "capability", "tier", "pattern: recursive delete", ...
	Reason  string       // one sentence
}

// Err returns nil for Allow, and a Denied error otherwise. For Ask the error reports that consent
// is missing.
func (d Decision) Err(r Request) error {
	switch d.Verdict {
	case Allow:
		return nil
	case Ask:
		return fault.New(fault.Denied, "%s %s needs consent: %s", r.Verb, r.Ref, d.Reason).Mend("rye policy allow %s", r.Ref)
	}
	return fault.New(fault.Denied, "%s %s: %s", r.Verb, r.Ref, d.Reason)
}

// Decide answers a request. It checks the capability first, and then the tier. The tier is the
// highest of the item's declared tier, its primitive's floor, its needs' reach, and the tiers of
// all rules that its command matched. A user's override replaces the first three.
func (r Rules) Decide(q Request) Decision {
	d := r.Permit(q)
	if d.Verdict != Allow || q.Verb != "execute" {
		return d
	}
	tier, rule := r.tier(q)
	return r.judge(q, tier, rule)
}

// Permit checks the capability alone, before anything is known about the item. It allows or
// denies and never asks.
func (r Rules) Permit(q Request) Decision {
	need, caps := Need(q.Verb, q.Ref), r.held(q)
	if !caps.Covers(need) {
		return Decision{Deny, command.T4, "capability", r.missing(q, need, caps)}
	}
	for _, d := range q.Denied {
		if d.Contains(need) {
			return Decision{Deny, command.T4, "capability", q.denial(d)}
		}
	}
	for _, d := range r.Deny {
		if d.Contains(need) {
			return Decision{Deny, command.T4, "deny: " + string(d), fmt.Sprintf("the policy refuses %s to everyone", d)}
		}
	}
	return Decision{Allow, command.T0, "capability", fmt.Sprintf("%s is held", need)}
}

// names returns the names whose policy narrows a caller. A call from within a run is also limited
// like an MCP client's. Otherwise a client could do more through a run than by itself. The same
// holds for an agent thread, which a client may have started, and which is also a model.
func (q Request) names() []string {
	if q.Inside || q.Thread != "" {
		return []string{q.Caller, "mcp"}
	}
	return []string{q.Caller}
}

func (q Request) denial(d Cap) string { return fmt.Sprintf("%s is denied to %s", d, q.Caller) }

// held returns the caller's capabilities, narrowed by the policy.
func (r Rules) held(q Request) Caps {
	caps := q.Caps
	for _, name := range q.names() {
		if limit, ok := r.Callers[name]; ok {
			caps = Narrow(limit, caps)
		}
	}
	return caps
}

func (r Rules) missing(q Request, need Cap, caps Caps) string {
	if len(q.Caps) == 0 {
		return fmt.Sprintf("no capabilities declared, so %s is refused", need)
	}
	return fmt.Sprintf("%s is not covered by the capabilities [%s]", need, strings.Join(caps.Strings(), " "))
}

// tier returns the effective tier and the rule that set it.
func (r Rules) tier(q Request) (command.Tier, string) {
	tier, rule := q.Floor, "primitive"
	if q.Declared > tier {
		tier, rule = q.Declared, "declared"
	}
	if q.Reach > tier {
		tier, rule = q.Reach, "needs: "+q.Reaches
	}
	for _, o := range r.Tools {
		if !glob(dots(o.ID), q.Ref.ID.Dots()) {
			continue
		}
		if o.set || o.Tier > tier {
			tier, rule = o.Tier, "tool_overrides: "+o.ID
		}
	}
	for _, f := range q.Findings {
		if f.Tier > tier || f.Tier == tier && !strings.HasPrefix(rule, "pattern") {
			tier, rule = f.Tier, "pattern: "+f.Label
		}
	}
	return tier, rule
}

// judge turns a tier into a verdict.
func (r Rules) judge(q Request, tier command.Tier, rule string) Decision {
	auto, deny := r.AutoApprove, r.DenyFrom
	if q.Child {
		auto, deny = min(auto, r.SubAgents.AutoApprove), min(deny, r.SubAgents.DenyFrom)
	}
	d := Decision{Tier: tier, Rule: rule}
	why := fmt.Sprintf("%s by %s", tier, rule)
	for _, f := range q.Findings {
		why += fmt.Sprintf("; %s: %s", f.Label, words.Printable(f.Text)) // decoded text may hold anything
	}
	// A person who types a command has read it, but has not asked for what a rule found.
	typed := q.Person && len(q.Findings) == 0
	switch {
	case tier >= deny:
		d.Verdict, d.Reason = Deny, "refused from "+deny.String()+" on: "+why
	case tier <= auto:
		d.Verdict, d.Reason = Allow, why
	case typed && tier <= command.T3:
		d.Verdict, d.Rule, d.Reason = Allow, "typed", why+", typed at a terminal"
	case r.remembered(q, tier):
		d.Verdict, d.Rule, d.Reason = Allow, "approval", why+", allowed by you"
	default:
		d.Verdict, d.Reason = Ask, why
	}
	return d
}

// remembered reports whether the user allowed exactly this run, up to this tier.
func (r Rules) remembered(q Request, tier command.Tier) bool {
	return !q.Now.Plan.IsZero() && slices.ContainsFunc(r.Allowed, func(a Approval) bool {
		return a.Ref == q.Ref && tier <= a.Tier && a.covers(q)
	})
}

// Remembers reports whether the user allowed an item with this plan and these parameters here, up to
// this tier.
func (r Rules) Remembers(ref objects.Ref, now Subject, tier command.Tier) bool {
	return r.remembered(Request{Ref: ref, Now: now}, tier)
}

// covers reports whether an approval is for this run in this directory. An approval for any
// parameters does not cover a finding in a parameter.
func (a Approval) covers(q Request) bool {
	if a.Plan != q.Now.Plan || !a.In.Is(q.Now.In) {
		return false
	}
	if !a.Any {
		return a.Params == q.Now.Params
	}
	return !slices.ContainsFunc(q.Findings, func(f command.Finding) bool { return f.Param != "" })
}

func dots(id string) string { return strings.ReplaceAll(id, "/", ".") }
