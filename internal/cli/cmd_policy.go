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
		flags:    []cli.Flag{&cli.IntFlag{Name: "limit", Value: q.Limit, Destination: &q.Limit, Usage: "at most `N` decisions; 0 for all that are kept"}},
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
	var q rye.PolicyConsentRequest
	return &spec{
		name: "allow", args: "<ref>",
		short: "Allow a tool, as its bytes are now, without being asked",
		long: `With --env or --interpreter it is not about the tool, but about what the tool would
use although nobody signed it: .env files that set variables which it declares, and an
interpreter that lies in the project, as .venv/bin/python. What is agreed to are their
bytes as they are now; after a change you are asked again. Not covered are the
packages that an interpreter loads. With --secrets it is about the variables of your
environment that a tool for the web names, when somebody else signed it: these names,
for its bytes as they are now. With --host it is about a host that requests of this project
may go to when no person typed them.`,
		examples: "rye policy allow tool:acme/deploy\nrye policy allow tool:acme/deploy --env\nrye policy allow tool:acme/deploy --interpreter --forget\nrye policy allow tool:acme/weather --secrets",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed, fault.Auth},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "env", Destination: &q.Env, Usage: "the .env files that it takes variables from"},
			&cli.BoolFlag{Name: "interpreter", Destination: &q.Interpreter, Usage: "the project's interpreter that it runs with"},
			&cli.BoolFlag{Name: "secrets", Destination: &q.Secrets, Usage: "the variables of your environment that it sends"},
			repeated("host", &q.Hosts, "`name[:port]` that requests of this project may go to; repeatable"),
			&cli.BoolFlag{Name: "forget", Destination: &q.Forget, Usage: "take that back"},
		},
		min: 1, max: 2, ref: &q.Ref,
		run: func(t *task) error {
			switch {
			case q.Env || q.Interpreter || q.Secrets || len(q.Hosts) > 0:
				return answerEach(t, t.w.Policy().Consent, q, printConsent)
			case q.Forget:
				again := slices.Concat([]string{"rye", "policy", "allow"}, t.args, []string{"--forget", "--env"})
				return fault.New(fault.Usage, "policy allow --forget: what?").With(fault.Advice("%s", strings.Join(again, " ")))
			}
			return answer(t, t.w.Policy().Allow, rye.ItemRequest{Ref: q.Ref}, printPolicy)
		},
	}
}

func printConsent(p *printer, c rye.ConsentReport) {
	p.printf("%s  %s  %s\n", c.Status, c.What, bold(c.Path))
	if len(c.Names) > 0 {
		p.printf("  %-13s  %s\n", "names", strings.Join(c.Names, ", "))
	}
	if len(c.Changed) > 0 {
		p.printf("  %-13s  %s\n", "changed", strings.Join(c.Changed, ", "))
	}
}

func printPolicy(p *printer, rep *rye.PolicyReport) {
	p.printf("%s  %s\n", bold(rep.Ref), rep.SHA256)
	for _, f := range [...]struct{ name, value string }{
		{"you", rep.Verdict}, {"an MCP client", rep.Client}, {"tier", rep.Tier}, {"sandbox", rep.Sandbox}, {"rule", rep.Rule}, {"because", rep.Reason},
	} {
		if f.value != "" {
			p.printf("  %-13s  %s\n", f.name, f.value)
		}
	}
}
