package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func policyCommand() *spec {
	return &spec{
		name: "policy", group: "Trust",
		short:    "See what policy makes of a tool, and remember your approval",
		examples: "rye policy explain tool:acme/deploy\nrye policy allow tool:acme/deploy",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed},
		subs: []*spec{
			policyExplain(),
			policyAllow(),
			policyList(),
			policyForget(),
			policyLog(),
		},
	}
}

func policyExplain() *spec {
	var q rye.ItemRequest
	return &spec{
		name: "explain", args: "<ref>",
		short:    "Say what would be decided, and by which rule",
		examples: "rye policy explain tool:acme/deploy",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed},
		min:      1, max: 2, ref: &q.Ref,
		run: func(t *task) error { return answer(t, t.w.Policy().Explain, q, printPolicy) },
	}
}

func policyLog() *spec {
	q := rye.PolicyLogRequest{Limit: 20}
	return &spec{
		name: "log", short: "Show what was decided about executions on this machine",
		long: `Newest last. Each line is one decision: who wanted to run what, whether it was
allowed, in which tier, and by which rule. Parameters are not kept. With --json
every decision is one object with the digest of what it was about.`,
		examples: "rye policy log\nrye policy log --limit 0 --json",
		exits:    []fault.Code{fault.NotFound},
		flags:    []cli.Flag{&cli.IntFlag{Name: "limit", Destination: &q.Limit, Usage: "at most `N` decisions; 0 for all that are kept"}},
		run: func(t *task) error {
			if q.Limit < 0 {
				return fault.New(fault.Usage, "policy log: --limit %d", q.Limit)
			}
			return answerRows(t, t.w.Policy().Log, q, "", func(v rye.Verdict) []any {
				verdict, by := good(v.Verdict), v.Rule
				if v.Verdict != "allow" {
					verdict = bad(v.Verdict)
				}
				if v.Asked {
					by += ", asked"
				}
				return []any{v.Time, verdict, v.Tier, v.Ref, v.Caller, by}
			})
		},
	}
}

func policyAllow() *spec {
	var q rye.AllowRequest
	var c rye.PolicyConsentRequest
	var params string
	var pairs cli.StringSlice
	return &spec{
		name: "allow", args: "<ref>",
		short: "Allow a tool, as everything of it is now, without being asked",
		long: `What is remembered holds in this project, for the tool, everything that it runs by,
every file that it can load, and its interpreter, as they are now; and for the
parameters that -p and --params give, or with --any for any. What changes is asked
about again, and so is the same in another directory.

With --env or --interpreter it is not about the tool, but about what the tool would
use although nobody signed it: .env files that set variables which it declares, and an
interpreter that lies in the project, as .venv/bin/python. What is agreed to are their
bytes as they are now; after a change you are asked again. Not covered are the
packages that an interpreter loads. With --secrets it is about the variables of your
environment that a tool for the web names, when somebody else signed it: these names,
for its bytes as they are now. With --host it is about a host that requests of this project
may go to when no person typed them.`,
		examples: "rye policy allow tool:acme/deploy -p to=staging\nrye policy allow tool:acme/deploy --any\nrye policy allow tool:acme/deploy --env\nrye policy allow tool:acme/deploy --interpreter --forget\nrye policy allow tool:acme/weather --secrets",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed, fault.Auth},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "params", Destination: &params, Usage: "exactly these parameters: a JSON `object`, @file, or - for standard input"},
			&cli.StringSliceFlag{Name: "param", Aliases: []string{"p"}, Destination: &pairs, Usage: "one of them, `name=value`; repeatable"},
			&cli.BoolFlag{Name: "any", Destination: &q.Any, Usage: "any parameters"},
			&cli.BoolFlag{Name: "env", Destination: &c.Env, Usage: "the .env files that it takes variables from"},
			&cli.BoolFlag{Name: "interpreter", Destination: &c.Interpreter, Usage: "the project's interpreter that it runs with"},
			&cli.BoolFlag{Name: "secrets", Destination: &c.Secrets, Usage: "the variables of your environment that it sends"},
			repeated("host", &c.Hosts, "`name[:port]` that requests of this project may go to; repeatable"),
			&cli.BoolFlag{Name: "forget", Destination: &c.Forget, Usage: "take that back"},
		},
		min: 1, max: 2, ref: &q.Ref,
		run: func(t *task) (err error) {
			c.Ref = q.Ref
			switch {
			case c.Env || c.Interpreter || c.Secrets || len(c.Hosts) > 0:
				return answerEach(t, t.w.Policy().Consent, c, printConsent)
			case c.Forget:
				again := slices.Concat([]string{"rye", "policy", "allow"}, t.args, []string{"--forget", "--env"})
				return fault.New(fault.Usage, "policy allow --forget: what?").With(fault.Advice("%s; what the tool itself may: rye policy forget %s", strings.Join(again, " "), q.Ref))
			}
			if params != "" || len(pairs.Value()) > 0 {
				if q.Params, err = t.parameters(params, pairs.Value()); err != nil {
					return err
				}
			}
			return answer(t, t.w.Policy().Allow, q, printApproval)
		},
	}
}

func policyList() *spec {
	return &spec{
		name: "list", short: "Show what you allowed to run without being asked",
		long: `One line for each: what of it holds here, what lapsed because the directory is another
one than it was, and what was allowed elsewhere. Whether a tool has changed since, and
is asked about again, rye policy explain says.`,
		examples: "rye policy list\nrye policy list --json",
		exits:    []fault.Code{fault.Malformed, fault.Auth},
		run: func(t *task) error {
			return answerRows(t, bare(t.w.Policy().List), none, "approval", func(a rye.ApprovalInfo) []any {
				return []any{a.Status, a.Tier, bold(a.Ref), briefParams(a), a.Directory}
			})
		},
	}
}

func policyForget() *spec {
	var q rye.ForgetRequest
	return &spec{
		name: "forget", args: "<ref>",
		short:    "Take back what you allowed of a tool",
		examples: "rye policy forget tool:acme/deploy\nrye policy forget tool:acme/deploy --everywhere",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed, fault.Auth},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "everywhere", Destination: &q.Everywhere, Usage: "in other directories, too"}},
		min:      1, max: 2, ref: &q.Ref,
		run: func(t *task) error {
			return answerEach(t, t.w.Policy().Forget, q, func(p *printer, a rye.ApprovalInfo) { printApproval(p, &a) })
		},
	}
}

func briefParams(a rye.ApprovalInfo) string {
	if a.Params == "any" {
		return "any parameters"
	}
	return "parameters " + a.Params[:min(len(a.Params), 23)] + "…"
}

func printApproval(p *printer, a *rye.ApprovalInfo) {
	p.printf("%s  %s  up to %s, %s\n  %-13s  %s\n", a.Status, bold(a.Ref), a.Tier, briefParams(*a), "plan", a.Plan)
	if a.Directory != "" {
		p.printf("  %-13s  %s\n", "in", a.Directory)
	}
	for _, u := range a.Uncovered {
		p.printf("  %-13s  %s\n", "not covered", prose(u))
	}
}

func printConsent(p *printer, c rye.ConsentReport) {
	p.printf("%s  %s  %s\n", c.Status, c.What, bold(c.Path))
	if len(c.Names) > 0 {
		p.printf("  %-13s  %s\n", "names", listed(c.Names))
	}
	if len(c.Changed) > 0 {
		p.printf("  %-13s  %s\n", "changed", listed(c.Changed))
	}
}

func printPolicy(p *printer, rep *rye.PolicyReport) {
	p.printf("%s  %s\n", bold(rep.Ref), rep.SHA256)
	for _, f := range [...]struct{ name, value string }{
		{"you", rep.Verdict}, {"an MCP client", rep.Client}, {"tier", rep.Tier}, {"rule", rep.Rule}, {"because", rep.Reason},
		{"needs", rep.Needs}, {"limits", rep.Limits}, {"sandbox", rep.Sandbox},
	} {
		if f.value != "" {
			p.printf("  %-13s  %s\n", f.name, prose(f.value))
		}
	}
	head := "not limited"
	for _, u := range rep.Unbound {
		p.printf("  %-13s  %s\n", head, prose(u))
		head = ""
	}
}
