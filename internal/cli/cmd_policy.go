package cli

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func policyCommand() *spec {
	return &spec{
		name: "policy", group: "Trust",
		short:    "Show the policy for a tool, and record your approvals",
		examples: "rye policy explain tool:acme/deploy\nrye policy allow tool:acme/deploy",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed},
		subs: []*spec{
			policyExplain(),
			policyAccept(),
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
		name: "explain", args: "[ref]",
		short: "Show the decision about an item, and its rule; or the project's policy",
		long: `Without a name it shows .ai/policy.yaml of the project: its digest, what it demands of items,
and whether it is the policy that was accepted in this directory.`,
		examples: "rye policy explain tool:acme/deploy\nrye policy explain",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed},
		max:      2, ref: &q.Ref,
		run: func(t *task) error {
			if len(t.args) == 0 {
				return answer(t, bare(t.w.Policy().Project), none, printProjectPolicy)
			}
			return answer(t, t.w.Policy().Explain, q, printPolicy)
		},
	}
}

func policyAccept() *spec {
	var q rye.AcceptPolicyRequest
	return &spec{
		name: "accept", short: "Accept the project's policy as it is now",
		long: `rye remembers the policy of a project, .ai/policy.yaml, as it was last seen in this directory.
A policy that demands more is remembered by itself. One that is gone or allows more is
refused (16) by every command that runs, adds, updates or exports, until a person accepts
it here. The question shows each difference.

On a build machine, --from takes the policy of another commit, such as the base of a pull
request, and --sha256 names the digest that it must have. Both accept without a question
on a machine that remembers no stricter policy. If the file here then allows more, the
status is 16.`,
		examples: "rye policy accept\nrye policy accept --from origin/main\nrye policy accept --sha256 sha256:2f05d4b6…",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied, fault.Malformed},
		rights:   func() bool { return true },
		flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Destination: &q.From, Usage: "the policy of this `commit`, branch or tag"},
			&cli.StringFlag{Name: "sha256", Destination: &q.SHA256, Usage: "the `digest` that the policy must have; none for no policy"},
		},
		run: func(t *task) error {
			return answerAlways(t, t.w.Policy().Accept, q, func(p *printer, rep *rye.ProjectPolicy, _ bool) { printProjectPolicy(p, rep) })
		},
	}
}

func printProjectPolicy(p *printer, rep *rye.ProjectPolicy) {
	p.printf("%s  .ai/policy.yaml  %s\n", bold(rep.State), rep.SHA256)
	if rep.Accepted != "" && rep.Accepted != rep.SHA256 {
		p.printf("  %-13s  %s\n", "accepted", rep.Accepted)
	}
	for _, l := range rep.Looser {
		p.printf("  %-13s  %s\n", bad("looser"), prose(l))
	}
	for _, d := range rep.Demands {
		p.printf("  %-13s  %s\n", "demands", prose(d))
	}
}

func policyLog() *spec {
	q := rye.PolicyLogRequest{Limit: 20}
	return &spec{
		name: "log", short: "Show the past decisions about executions on this machine",
		long: `Newest last. Each line is one decision: the caller, the tool, whether it was allowed, the
tier and the rule. A line with "reached" names the hosts that a run reached, and the bytes that
it sent and received. Parameters are not kept. With --json every decision is one object with
the digest of the item.`,
		examples: "rye policy log\nrye policy log --limit 0 --json",
		exits:    []fault.Code{fault.NotFound},
		flags:    []cli.Flag{&cli.IntFlag{Name: "limit", Destination: &q.Limit, Usage: "at most `N` decisions; 0 for all"}},
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
				if v.Verb == "reach" {
					by = "reached " + reachedHosts(v.Hosts)
				}
				return []any{v.Time, verdict, v.Tier, v.Ref, v.Caller, by}
			})
		},
	}
}

// reachedHosts describes the traffic of a run with each host.
func reachedHosts(all []rye.HostUse) string {
	var text []string
	for _, u := range all {
		text = append(text, fmt.Sprintf("%s (%d bytes sent, %d received)", net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port))), u.Sent, u.Received))
	}
	return strings.Join(text, ", ")
}

func policyAllow() *spec {
	var q rye.AllowRequest
	var c rye.PolicyConsentRequest
	var params string
	var pairs cli.StringSlice
	return &spec{
		name: "allow", args: "<ref>",
		short: "Allow a tool in its present form to run without a question",
		long: `The approval is valid in this project for the present form of the tool: its runtimes, the
files that it can load, and its interpreter. It covers the parameters from -p and --params,
or with --any all parameters. After a change, or in another directory, rye asks again.

--env and --interpreter approve unsigned files that the tool would use, not the tool: .env
files with variables that it declares, and an interpreter in the project, such as
.venv/bin/python. The approval covers their present bytes; after a change rye asks again. It
does not cover the packages that an interpreter loads. --secrets approves the environment
variables that another signer's web tool sends: these names, for the present bytes of the
tool. --host approves a host. For a web tool it is for the project's requests that no person
typed. For a program that another person signed it is for this tool in its present form, and
'*' stands for any host, where this system cannot limit it to less. --patched lets
clients and threads use the present bytes of a tool with parts that no owner signed.`,
		examples: "rye policy allow tool:acme/deploy -p to=staging\nrye policy allow tool:acme/deploy --any\nrye policy allow tool:acme/deploy --env\nrye policy allow tool:acme/deploy --interpreter --forget\nrye policy allow tool:acme/weather --secrets\nrye policy allow tool:acme/deploy --patched --forget",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed, fault.Auth},
		rights:   func() bool { return !c.Forget },
		flags: []cli.Flag{
			&cli.StringFlag{Name: "params", Destination: &params, Usage: "exactly these parameters: a JSON `object`, @file, or - for standard input"},
			&cli.StringSliceFlag{Name: "param", Aliases: []string{"p"}, Destination: &pairs, Usage: "one of them, `name=value`; repeatable"},
			&cli.BoolFlag{Name: "any", Destination: &q.Any, Usage: "any parameters"},
			&cli.BoolFlag{Name: "env", Destination: &c.Env, Usage: "the .env files with its variables"},
			&cli.BoolFlag{Name: "interpreter", Destination: &c.Interpreter, Usage: "the interpreter in the project that runs it"},
			&cli.BoolFlag{Name: "patched", Destination: &c.Patched, Usage: "the patches that it uses, for clients and threads"},
			&cli.BoolFlag{Name: "secrets", Destination: &c.Secrets, Usage: "the variables of your environment that it sends"},
			repeated("host", &c.Hosts, "`host[:port]` that this tool, or requests of this project, may contact; repeatable"),
			&cli.BoolFlag{Name: "forget", Destination: &c.Forget, Usage: "remove the approval"},
		},
		min: 1, max: 2, ref: &q.Ref,
		run: func(t *task) (err error) {
			c.Ref = q.Ref
			switch {
			case c.Env || c.Interpreter || c.Patched || c.Secrets || len(c.Hosts) > 0:
				return answerEach(t, t.w.Policy().Consent, c, printConsent)
			case c.Forget:
				again := slices.Concat([]string{"rye", "policy", "allow"}, t.args, []string{"--forget", "--env"})
				return fault.New(fault.Usage, "policy allow --forget: want --env, --interpreter, --patched, --secrets or --host").With(fault.Advice("%s; for the tool itself: rye policy forget %s", strings.Join(again, " "), q.Ref))
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
		name: "list", short: "List the tools that run without a question, and the hosts that they may contact",
		long: `Each line is one approval: whether it is valid here, has lapsed because the directory was
replaced, or is for another directory. rye policy explain shows whether a tool has changed
since its approval and would be asked about again.`,
		examples: "rye policy list\nrye policy list --json",
		exits:    []fault.Code{fault.Malformed, fault.Auth},
		run: func(t *task) error {
			return answerRows(t, bare(t.w.Policy().List), none, "approval", func(a rye.ApprovalInfo) []any {
				return []any{a.Status, a.Tier, bold(a.Ref), briefCover(a), a.Directory}
			})
		},
	}
}

func policyForget() *spec {
	var q rye.ForgetRequest
	return &spec{
		name: "forget", args: "<ref>",
		short:    "Remove your approval of a tool, and of its hosts",
		examples: "rye policy forget tool:acme/deploy\nrye policy forget tool:acme/deploy --everywhere",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed, fault.Auth},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "everywhere", Destination: &q.Everywhere, Usage: "also in other directories"}},
		min:      1, max: 2, ref: &q.Ref,
		run: func(t *task) error {
			return answerEach(t, t.w.Policy().Forget, q, func(p *printer, a rye.ApprovalInfo) { printApproval(p, &a) })
		},
	}
}

// briefCover says what an approval covers.
func briefCover(a rye.ApprovalInfo) string {
	switch a.Host {
	case "":
	case "*":
		return "connections to any host"
	default:
		return "connections to " + a.Host
	}
	if a.Params == "any" {
		return "any parameters"
	}
	return "parameters " + a.Params[:min(len(a.Params), 23)] + "…"
}

func printApproval(p *printer, a *rye.ApprovalInfo) {
	covers := briefCover(*a)
	if a.Tier != "" {
		covers = "up to " + a.Tier + ", " + covers
	}
	p.printf("%s  %s  %s\n  %-13s  %s\n", a.Status, bold(a.Ref), prose(covers), "plan", a.Plan)
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
		{"needs", rep.Needs}, {"limits", rep.Limits}, {"sandbox", rep.Sandbox}, {"demands", strings.Join(rep.Demands, "; ")}, {"refused", rep.Refused},
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
