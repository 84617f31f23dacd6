package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func registryMirror() *spec {
	return &spec{
		name:  "mirror",
		short: "Manage the mirrors of a registry",
		long: `A registry is one identity and may have several addresses. rye uses the first that answers,
and reports an address that is down or behind. It verifies everything from every address,
and never asks another registry instead. rye fetch compares all addresses: one with another
history is refused (15), and both operations are kept.`,
		examples: "rye registry mirror add main https://mirror.example.org/registry.git\nrye registry mirror list\nrye registry mirror push main",
		exits:    sharing,
		subs:     []*spec{mirrorAdd(), mirrorList(), mirrorRemove(), mirrorPush()},
	}
}

// mirrorArgs reads <registry> <url>.
func (t *task) mirrorArgs(q *rye.MirrorRequest) {
	q.Registry = t.args[0]
	if len(t.args) > 1 {
		q.URL = t.remote(t.args[1])
	}
}

func mirrorAdd() *spec {
	var q rye.MirrorRequest
	return &spec{
		name: "add", args: "<registry> <url>",
		short: "Add an address to a registry",
		long: `The registry there must have the same identity (else 11). The address goes into rye.yaml.
Other people in the project are asked before they use it: rye trust.`,
		examples: "rye registry mirror add main https://mirror.example.org/registry.git",
		exits:    sharing,
		flags:    []cli.Flag{dryRun(&q.DryRun)},
		min:      2, max: 2,
		run: func(t *task) error {
			t.mirrorArgs(&q)
			return answer(t, t.w.Registry().Mirrors().Add, q, printMirrors)
		},
	}
}

func mirrorList() *spec {
	var q rye.MirrorRequest
	return &spec{
		name: "list", aliases: []string{"ls"}, args: "[registry]",
		short:    "List the addresses of a registry, in the order of use",
		examples: "rye registry mirror list\nrye registry mirror list main --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		max:      1, arg: &q.Registry,
		run: func(t *task) error { return answer(t, t.w.Registry().Mirrors().List, q, printMirrors) },
	}
}

func mirrorRemove() *spec {
	var q rye.MirrorRequest
	return &spec{
		name: "remove", aliases: []string{"rm"}, args: "<registry> <url>",
		short:    "Remove an address from a registry",
		examples: "rye registry mirror remove main https://mirror.example.org/registry.git",
		exits:    sharing,
		flags:    []cli.Flag{dryRun(&q.DryRun)},
		min:      2, max: 2,
		run: func(t *task) error {
			t.mirrorArgs(&q)
			return answer(t, t.w.Registry().Mirrors().Remove, q, printMirrors)
		},
	}
}

func mirrorPush() *spec {
	var q rye.MirrorRequest
	return &spec{
		name: "push", args: "[registry]",
		short: "Update the addresses of a registry to the newest state of any",
		long: `Updates the root, the logs and the branches that these name. The root and the logs only
move forward. The branches are those that git push --mirror sends, each verified first.
--to names one address, which may be an empty repository. --namespace copies a namespace to
another repository, before rye registry grant --repository names it.`,
		examples: "rye registry mirror push\nrye registry mirror push main --to https://mirror.example.org/registry.git --dry-run",
		exits:    sharing,
		flags: []cli.Flag{&cli.StringFlag{Name: "to", Destination: &q.URL, Usage: "only this `address` (default all)"},
			repeated("namespace", &q.Namespaces, "copy only this `namespace` to that address; repeatable"),
			dryRun(&q.DryRun)},
		max: 1, arg: &q.Registry,
		run: func(t *task) error {
			q.URL = t.remote(q.URL)
			return answerAlways(t, t.w.Registry().Mirrors().Push, q, func(p *printer, rep *rye.MirrorReport, _ bool) { printMirrors(p, rep) })
		},
	}
}

func printMirrors(p *printer, rep *rye.MirrorReport) {
	p.resultf(rep.DryRun, "%s  %s\n", bold(rep.Registry), rep.ID)
	for i, at := range rep.Addresses {
		what := "mirror "
		if i == 0 && rep.Status != "pushed" && rep.Status != "would-push" {
			what = "first  "
		}
		said := ""
		if !at.Agreed {
			said = "  not accepted yet: rye trust"
		}
		p.resultf(rep.DryRun, "  %s %s%s\n", prose(what), at.URL, faint(prose(said)))
		for _, name := range at.Moved {
			p.resultf(rep.DryRun, "    %s %s\n", moved.mark(rep.DryRun), name)
		}
		if at.Problem != "" {
			p.errorf("warning: %s", prose(at.Problem))
		}
	}
}
