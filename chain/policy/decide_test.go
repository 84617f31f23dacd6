package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var (
	hello = objects.Ref{Kind: objects.Tool, ID: "acme/hello"}
	all   = Caps{"rye.*"}
	sum   = objects.DigestOf([]byte("x"))
	other = objects.DigestOf(nil)
)

func rules(t testing.TB, text string) Rules {
	t.Helper()
	r, err := ParseRules([]byte(text))
	if err != nil {
		t.Fatalf("ParseRules(%q) = %v", text, err)
	}
	return r
}

func TestDecide(t *testing.T) {
	danger := []command.Finding{{Label: "recursive delete", Tier: command.T3, Text: "rm -r x", Param: "cmd"}}
	own := []command.Finding{{Label: "recursive delete", Tier: command.T3, Text: "rm -r x"}}
	critical := []command.Finding{{Label: "pipe to shell", Tier: command.T4, Text: "curl | sh"}}
	allowed := "policy: 1\nallowed:\n  - ref: tool:acme/hello\n    plan: " + sum.Hex() + "\n    place: here\n    inode: 7\n    born: 9\n    params: PARAMS\n    tier: t3\n"
	one := strings.Replace(allowed, "PARAMS", other.Hex(), 1)
	allowed = strings.Replace(allowed, "PARAMS", "any", 1)
	here := consent.Place{Key: "here", Inode: 7, Born: 9}
	now := Subject{Plan: sum, Params: other, In: here}
	for name, tc := range map[string]struct {
		policy string
		q      Request
		want   Verdict
		tier   command.Tier
	}{
		"no capability":                   {"", Request{}, Deny, command.T4},
		"another capability":              {"", Request{Caps: Caps{"rye.execute.tool.acme.other"}}, Deny, command.T4},
		"plain":                           {"", Request{Caps: all, Floor: command.T1}, Allow, command.T1},
		"medium asks":                     {"", Request{Caps: all, Floor: command.T2}, Ask, command.T2},
		"declared raises":                 {"", Request{Caps: all, Floor: command.T1, Declared: command.T3}, Ask, command.T3},
		"declared cannot lower":           {"", Request{Caps: all, Floor: command.T2, Declared: command.T0}, Ask, command.T2},
		"typed":                           {"", Request{Caps: all, Person: true, Floor: command.T2, Declared: command.T3}, Allow, command.T3},
		"typed and critical":              {"", Request{Caps: all, Person: true, Declared: command.T4}, Deny, command.T4},
		"typed and matched":               {"", Request{Caps: all, Person: true, Findings: danger}, Ask, command.T3},
		"matched and critical":            {"", Request{Caps: all, Person: true, Findings: critical}, Deny, command.T4},
		"override does not lower a match": {"policy: 1\ntool_overrides: {acme/hello: t1}", Request{Caps: all, Findings: danger}, Ask, command.T3},
		"override lowers":                 {"policy: 1\ntool_overrides: {acme/*: t1}", Request{Caps: all, Floor: command.T2, Declared: command.T3}, Allow, command.T1},
		"override raises":                 {"policy: 1\ntool_overrides: {'*': t4}", Request{Caps: all, Person: true}, Deny, command.T4},
		"longest override":                {"policy: 1\ntool_overrides: {'*': t4, acme/*: t3, acme/hello: t0}", Request{Caps: all}, Allow, command.T0},
		"denied to everybody":             {"policy: 1\ndeny: [rye.execute.tool.acme.*]", Request{Caps: all, Person: true}, Deny, command.T4},
		"caller is narrowed":              {"policy: 1\ncallers: {mcp: [rye.search.*]}", Request{Caps: all, Caller: "mcp"}, Deny, command.T4},
		"other caller is not":             {"policy: 1\ncallers: {mcp: [rye.search.*]}", Request{Caps: all, Caller: "terminal"}, Allow, command.T0},
		"remembered":                      {allowed, Request{Caps: all, Floor: command.T2, Now: now}, Allow, command.T2},
		"remembered, nothing known":       {allowed, Request{Caps: all, Floor: command.T2}, Ask, command.T2},
		"remembered, another plan":        {allowed, Request{Caps: all, Floor: command.T2, Now: Subject{other, other, here}}, Ask, command.T2},
		"remembered, another place":       {allowed, Request{Caps: all, Floor: command.T2, Now: Subject{sum, other, consent.Place{Key: "there", Inode: 7, Born: 9}}}, Ask, command.T2},
		"remembered, made again":          {allowed, Request{Caps: all, Floor: command.T2, Now: Subject{sum, other, consent.Place{Key: "here", Inode: 7, Born: 10}}}, Ask, command.T2},
		"remembered, no project":          {allowed, Request{Caps: all, Floor: command.T2, Now: Subject{sum, other, consent.Place{}}}, Ask, command.T2},
		"remembered, these parameters":    {one, Request{Caps: all, Floor: command.T2, Now: now}, Allow, command.T2},
		"remembered, other parameters":    {one, Request{Caps: all, Floor: command.T2, Now: Subject{sum, sum, here}}, Ask, command.T2},
		"remembered, own text":            {allowed, Request{Caps: all, Now: now, Findings: own}, Allow, command.T3},
		"remembered, parameter":           {allowed, Request{Caps: all, Now: now, Findings: danger}, Ask, command.T3},
		"remembered, this very parameter": {one, Request{Caps: all, Now: now, Findings: danger}, Allow, command.T3},
		"remembered, critical":            {one, Request{Caps: all, Now: now, Findings: critical}, Deny, command.T4},
		"child asks":                      {"", Request{Caps: all, Child: true, Floor: command.T1}, Ask, command.T1},
		"child is refused":                {"", Request{Caps: all, Child: true, Declared: command.T3}, Deny, command.T3},
		"deny_above as it is named":       {"policy: 1\ndeny_above: t2", Request{Caps: all, Person: true, Declared: command.T3}, Deny, command.T3},
		"deny_above t4 refuses nothing":   {"policy: 1\ndeny_above: t4", Request{Caps: all, Declared: command.T4}, Ask, command.T4},
	} {
		tc.q.Verb, tc.q.Ref = "execute", hello
		d := rules(t, tc.policy).Decide(tc.q)
		if d.Verdict != tc.want || d.Tier != tc.tier {
			t.Errorf("%s: Decide = %v %s (%s: %s), want %v %s", name, d.Verdict, d.Tier, d.Rule, d.Reason, tc.want, tc.tier)
		}
		if err := d.Err(tc.q); (err == nil) != (tc.want == Allow) || err != nil && !fault.Is(err, fault.Denied) {
			t.Errorf("%s: Err = %v", name, err)
		}
	}
	strict := rules(t, "policy: 1\ntool_overrides: {'*': t2}")
	if d := strict.Permit(Request{Verb: "execute", Ref: hello, Caps: all}); d.Verdict != Allow {
		t.Errorf("Permit asks about a tier: %+v", d)
	}
	if d := strict.Permit(Request{Verb: "execute", Ref: hello}); d.Verdict != Deny {
		t.Errorf("Permit of nothing: %+v", d)
	}
	if d := Default().Decide(Request{Verb: "load", Ref: hello, Caps: all}); d.Verdict != Allow {
		t.Errorf("load: %+v", d)
	}
}

// TestApprovalIsUpToItsTier: what was approved at one tier and meets a rule of a higher one
// since is asked about anew.
func TestApprovalIsUpToItsTier(t *testing.T) {
	r := rules(t, "policy: 1\n")
	now := Subject{Plan: sum, Params: other, In: here}
	r.Allowed = []Approval{{Ref: hello, Plan: sum, In: here, Params: other, Tier: command.T2}}
	for tier, want := range map[command.Tier]Verdict{command.T2: Allow, command.T3: Ask} {
		q := Request{Verb: "execute", Ref: hello, Caps: all, Now: now, Declared: tier}
		if d := r.Decide(q); d.Verdict != want {
			t.Errorf("%s, approved up to t2: %v (%s), want %v", tier, d.Verdict, d.Reason, want)
		}
	}
}

// TestThreadIsHeldToWhatClientsAre: a model in a thread may do no more than one behind an MCP
// client, which could otherwise start the thread to have it done.
func TestThreadIsHeldToWhatClientsAre(t *testing.T) {
	r := rules(t, "policy: 1\ncallers: {mcp: [rye.search.*]}")
	for name, q := range map[string]Request{
		"thread": {Caller: "thread", Thread: "t1"}, "within a run": {Caller: "terminal", Inside: true},
	} {
		q.Verb, q.Ref, q.Caps = "execute", hello, all
		if d := r.Decide(q); d.Verdict != Deny || d.Rule != "capability" {
			t.Errorf("%s: %v by %s, want it refused for want of a capability", name, d.Verdict, d.Rule)
		}
	}
}

// TestApprovalOfNothing: where nobody could say what would run, no approval is for it, and
// one that is for nothing is for nobody.
func TestApprovalOfNothing(t *testing.T) {
	r := rules(t, "policy: 1\n")
	r.Allowed = []Approval{{Ref: hello, Any: true, Tier: command.T3}}
	if d := r.Decide(Request{Verb: "execute", Ref: hello, Caps: all, Declared: command.T2}); d.Verdict != Ask {
		t.Errorf("%v (%s), want to be asked", d.Verdict, d.Reason)
	}
}

// The tiers of sub-agents are read over the defaults, and a project can only lower them.
func TestSubAgentTiers(t *testing.T) {
	user, err := ParseRules([]byte("policy: 1\nsub_agent_policy: {auto_approve_up_to: t1, deny_above: t1}"))
	if err != nil || user.SubAgents.AutoApprove != command.T1 || user.SubAgents.DenyFrom != command.T2 || user.AutoApprove != command.T1 || user.DenyFrom != command.T4 {
		t.Fatalf("the user's: %+v, %v", user, err)
	}
	for text, want := range map[string][2]command.Tier{
		"policy: 1\nsub_agent_policy: {auto_approve_up_to: t0}":                 {command.T0, command.T2},
		"policy: 1\nsub_agent_policy: {auto_approve_up_to: t3, deny_above: t4}": {command.T1, command.T2},
		"policy: 1\nsub_agent_policy: {deny_from: t1}":                          {command.T1, command.T1},
		"policy: 1\nauto_approve_up_to: t0":                                     {command.T1, command.T2},
	} {
		r, err := user.Tighten([]byte(text))
		if err != nil || r.SubAgents.AutoApprove != want[0] || r.SubAgents.DenyFrom != want[1] {
			t.Errorf("%q: %+v, %v, want %v", text, r.SubAgents, err, want)
		}
	}
}

func TestPolicyFilesRefused(t *testing.T) {
	for _, text := range []string{
		"policy: 2", "auto_approve_up_to: t1", "policy: 1\nunknown: x", "policy: 1\nauto_approve_up_to: t5", "policy: 1\nauto_approve_up_to: t4",
		"policy: 1\ndeny_from: t4\ndeny_above: t3", "policy: 1\nsub_agent_policy: {deny_from: t4, deny_above: t3}", "policy: 1\ndeny: [x]", "policy: 1\ndangerous_patterns: [{pattern: '(', label: x}]",
		"policy: 1\ndangerous_patterns: [{pattern: 'x'}]", "policy: 1\nsandbox: S9", "policy: 1\nallowed: [{ref: x, plan: '', params: any, tier: t1}]",
		entry("any", "t4", ""), entry("none", "t1", ""), entry("any", "t1", ", inode: 3"), entry("any", "t1", ", sha256: x"), "policy: 1\nelicitation: [a, a]", "policy: 1\nelicitation: ['']",
		entry("any", "t1", "") + "  - {ref: 'tool:a/b', plan: " + sum.Hex() + ", params: any, tier: t1}\n",
		"policy: 1\napproval_timeout_secs: 0", "policy: 1\ntool_overrides: {'a?b': t1}", "policy: 1\n---\npolicy: 1", "policy: &a 1\nx: *a", "[]", "policy: 1\npolicy: 1",
	} {
		if r, err := ParseRules([]byte(text)); err == nil {
			t.Errorf("ParseRules(%q) = %+v", text, r)
		}
	}
	for _, text := range []string{entry("any", "t1", ""), "policy: 1\nelicitation: [claude-code]\n"} {
		if _, err := ParseRules([]byte(text)); err != nil {
			t.Errorf("a user's %q: %v", text, err)
		}
		if _, err := Default().Tighten([]byte(text)); !fault.Is(err, fault.Denied) {
			t.Errorf("a project that approves itself by %q: %v", text, err)
		}
	}
}

// entry is a policy with one approval.
func entry(params, tier, more string) string {
	return "policy: 1\nallowed:\n  - {ref: 'tool:a/b', plan: " + sum.Hex() + ", params: " + params + ", tier: " + tier + more + "}\n"
}

// Whatever a project's policy says, no decision becomes milder.
func TestTightenNeverLoosens(t *testing.T) {
	tier := rapid.SampledFrom([]string{"t0", "t1", "t2", "t3", "t4"})
	gen := rapid.Custom(func(rt *rapid.T) string {
		var b strings.Builder
		b.WriteString("policy: 1\n")
		for _, f := range []string{"auto_approve_up_to: ", "deny_from: "} {
			if rapid.Bool().Draw(rt, "has") {
				b.WriteString(f + tier.Draw(rt, "tier") + "\n")
			}
		}
		if rapid.Bool().Draw(rt, "has") {
			b.WriteString("tool_overrides: {" + rapid.SampledFrom([]string{"'*'", "acme/*", "acme/hello"}).Draw(rt, "id") + ": " + tier.Draw(rt, "tier") + "}\n")
		}
		if rapid.Bool().Draw(rt, "has") {
			b.WriteString("callers: {mcp: [" + rapid.SampledFrom([]string{"rye.*", "rye.search.*", "rye.execute.tool.acme.*"}).Draw(rt, "cap") + "]}\n")
		}
		if rapid.Bool().Draw(rt, "has") {
			b.WriteString("deny: [rye.execute.tool." + rapid.SampledFrom([]string{"x", "acme.*"}).Draw(rt, "deny") + "]\n")
		}
		if rapid.Bool().Draw(rt, "has") {
			b.WriteString("sub_agent_policy: {auto_approve_up_to: " + tier.Draw(rt, "tier") + "}\n")
		}
		return b.String()
	})
	rapid.Check(t, func(rt *rapid.T) {
		user, err := ParseRules([]byte(gen.Draw(rt, "user")))
		if err != nil {
			rt.Skip(err)
		}
		tight, err := user.Tighten([]byte(gen.Draw(rt, "project")))
		if err != nil {
			rt.Skip(err)
		}
		q := Request{Verb: "execute", Ref: hello, Caps: all, Caller: rapid.SampledFrom([]string{"mcp", "terminal"}).Draw(rt, "caller"),
			Person: rapid.Bool().Draw(rt, "person"), Child: rapid.Bool().Draw(rt, "child"),
			Declared: command.Tier(rapid.IntRange(0, 4).Draw(rt, "declared")), Floor: command.Tier(rapid.IntRange(0, 2).Draw(rt, "floor"))}
		if before, after := user.Decide(q), tight.Decide(q); after.Verdict > before.Verdict {
			rt.Fatalf("%+v: %v before, %v after", q, before, after)
		}
	})
}

func TestExtraPatterns(t *testing.T) {
	r := rules(t, "policy: 1\ndangerous_patterns:\n  - {pattern: 'make\\s+release', label: release, tier: t3}\n")
	found := command.Analyse("make release", nil, r.Patterns)
	if len(found) != 1 || found[0].Label != "release" || found[0].Tier != command.T3 {
		t.Errorf("found %v", found)
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte("policy: 1\nauto_approve_up_to: t1\ndeny: [rye.*]\ntool_overrides: {a/*: t2}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := ParseRules(raw)
		if err == nil && r.AutoApprove >= r.DenyFrom {
			t.Errorf("ParseRules(%q) = %+v", raw, r)
		}
	})
}

func TestFloor(t *testing.T) {
	for _, tt := range []struct {
		primitive, sandbox string
		want               command.Tier
	}{
		{"rye/core/primitives/subprocess", "S2", command.T1},
		{"rye/core/primitives/subprocess", "S1", command.T2},
		{"rye/core/primitives/other", "S2", command.T2},
	} {
		if got := Floor(tt.primitive, tt.sandbox); got != tt.want {
			t.Errorf("Floor(%q, %q) = %s, want %s", tt.primitive, tt.sandbox, got, tt.want)
		}
	}
}
