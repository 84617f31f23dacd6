package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace"
)

func policyCommand() *spec {
	return &spec{
		name: "policy", group: "Trust",
		short:    "See what policy makes of a tool, and remember your approval",
		examples: "rye policy explain tool:acme/deploy\nrye policy allow tool:acme/deploy",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed},
		subs: []*spec{
			policyVerb("explain", "Say what would be decided, and by which rule", func(w *workspace.Workspace, t *task, ref rye.Ref) (*rye.PolicyReport, error) {
				return w.Policy().Explain(t.ctx, rye.Terminal(), rye.ItemRequest{Ref: ref})
			}),
			policyAllow(),
			policyLog(),
		},
	}
}

func policyLog() *spec {
	limit := 20
	return &spec{
		name: "log", short: "Show what was decided about executions on this machine",
		long: `Newest last. Each line is one decision: who wanted to run what, whether it was
allowed, in which tier, and by which rule. Parameters are not kept. With --json
every decision is one object with the digest of what it was about.`,
		examples: "rye policy log\nrye policy log --limit 0 --json",
		exits:    []fault.Code{fault.NotFound},
		flags:    []cli.Flag{&cli.IntFlag{Name: "limit", Value: limit, Destination: &limit, Usage: "at most `N` decisions; 0 for all that are kept"}},
		run: func(t *task) error {
			if limit < 0 {
				return fault.New(fault.Usage, "policy log: --limit %d", limit)
			}
			list, err := call(t, func(w *workspace.Workspace) ([]rye.Verdict, error) {
				return w.Policy().Log(t.ctx, rye.Terminal(), rye.PolicyLogRequest{Limit: limit})
			})
			if err != nil {
				return err
			}
			return rows(t.out, list, func(v rye.Verdict) []any {
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

func policyVerb(name, short string, verb func(*workspace.Workspace, *task, rye.Ref) (*rye.PolicyReport, error)) *spec {
	return &spec{
		name: name, args: "<ref>", short: short,
		examples: "rye policy " + name + " tool:acme/deploy",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed},
		min:      1, max: 2,
		run: func(t *task) error {
			ref, err := t.oneRef("rye policy " + name)
			if err != nil {
				return err
			}
			rep, err := call(t, func(w *workspace.Workspace) (*rye.PolicyReport, error) { return verb(w, t, ref) })
			if err != nil {
				return err
			}
			return t.out.show(rep, func() { printPolicy(t.out, rep) })
		},
	}
}

func policyAllow() *spec {
	s := policyVerb("allow", "Allow a tool, as its bytes are now, without being asked", func(w *workspace.Workspace, t *task, ref rye.Ref) (*rye.PolicyReport, error) {
		return w.Policy().Allow(t.ctx, rye.Terminal(), rye.ItemRequest{Ref: ref})
	})
	s.long = `With --env or --interpreter it is not about the tool, but about what the tool would
use although nobody signed it: .env files that set variables which it declares, and an
interpreter that lies in the project, as .venv/bin/python. What is agreed to are their
bytes as they are now; after a change you are asked again. Not covered are the
packages that an interpreter loads. With --secrets it is about the variables of your
environment that a tool for the web names, when somebody else signed it: these names,
for its bytes as they are now.`
	s.examples = "rye policy allow tool:acme/deploy\nrye policy allow tool:acme/deploy --env\nrye policy allow tool:acme/deploy --interpreter --forget\nrye policy allow tool:acme/weather --secrets"
	s.exits = append(s.exits, fault.Auth)
	var q rye.PolicyConsentRequest
	s.flags = []cli.Flag{
		&cli.BoolFlag{Name: "env", Destination: &q.Env, Usage: "the .env files that it takes variables from"},
		&cli.BoolFlag{Name: "interpreter", Destination: &q.Interpreter, Usage: "the project's interpreter that it runs with"},
		&cli.BoolFlag{Name: "secrets", Destination: &q.Secrets, Usage: "the variables of your environment that it sends"},
		&cli.BoolFlag{Name: "forget", Destination: &q.Forget, Usage: "take that back"},
	}
	allow := s.run
	s.run = func(t *task) error {
		if !q.Env && !q.Interpreter && !q.Secrets {
			if q.Forget {
				return fault.New(fault.Usage, "policy allow --forget: what?").With(fault.CommandOf(append(append([]string{"rye", "policy", "allow"}, t.args...), "--forget", "--env")...))
			}
			return allow(t)
		}
		var err error
		if q.Ref, err = t.oneRef("rye policy allow"); err != nil {
			return err
		}
		all, err := call(t, func(w *workspace.Workspace) ([]rye.ConsentReport, error) {
			return w.Policy().Consent(t.ctx, rye.Terminal(), q)
		})
		if err != nil {
			return err
		}
		if t.out.json {
			return lines(t.out, all)
		}
		for _, c := range all {
			t.out.printf("%s  %s  %s\n  %-13s  %s\n", c.Status, c.What, bold(c.Path), "names", strings.Join(c.Names, ", "))
			if len(c.Changed) > 0 {
				t.out.printf("  %-13s  %s\n", "changed", strings.Join(c.Changed, ", "))
			}
		}
		return nil
	}
	return s
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
