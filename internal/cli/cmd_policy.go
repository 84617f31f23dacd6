package cli

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/fault"
)

func policyCommand() *spec {
	return &spec{
		name: "policy", group: "Trust",
		short:    "See what policy makes of a tool, and remember your approval",
		examples: "rye policy explain tool:acme/deploy\nrye policy allow tool:acme/deploy",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Denied, fault.Malformed},
		subs: []*spec{
			policyVerb("explain", "Say what would be decided, and by which rule", func(r *rye.Rye, t *task, ref string) (*rye.PolicyReport, error) {
				return r.PolicyExplain(t.ctx, ref)
			}),
			policyVerb("allow", "Allow a tool, as its bytes are now, without being asked", func(r *rye.Rye, t *task, ref string) (*rye.PolicyReport, error) {
				return r.PolicyAllow(t.ctx, ref)
			}),
		},
	}
}

func policyVerb(name, short string, verb func(*rye.Rye, *task, string) (*rye.PolicyReport, error)) *spec {
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
			rep, err := call(t, func(r *rye.Rye) (*rye.PolicyReport, error) { return verb(r, t, ref) })
			if err != nil {
				return err
			}
			return t.out.show(rep, func() { printPolicy(t.out, rep) })
		},
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
