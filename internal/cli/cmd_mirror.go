package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func registryMirror() *spec {
	return &spec{
		name:  "mirror",
		short: "Say at which further addresses a registry is asked, and bring them up to date",
		long: `A registry is one identity and may have several addresses. The first that answers is
used; one that is down or behind is passed over, and that is said. Everything is verified
wherever it comes from, and no other registry is ever asked instead. rye fetch compares all
of them: one that shows another history is refused (15), and both operations are kept.`,
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
		short: "Let a registry be asked at a further address",
		long: `The registry there must have the same identity (else 11). The address goes into rye.yaml,
where others of the project are asked before they use it: rye trust.`,
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
		short:    "List the addresses of a registry, in the order in which they are asked",
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
		short:    "Ask a registry at this address no more",
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
		short: "Bring the addresses of a registry up to the newest that any of them shows",
		long: `Its root and the logs only move forward, and what they name goes along: the same branches
that git push --mirror sends, each verified before. --to names one address, which may be an
empty repository. With --namespace, what moves a namespace to another repository, before
rye registry grant --repository says so.`,
		examples: "rye registry mirror push\nrye registry mirror push main --to https://mirror.example.org/registry.git --dry-run",
		exits:    sharing,
		flags: []cli.Flag{&cli.StringFlag{Name: "to", Destination: &q.URL, Usage: "this `address` alone (default all)"},
			repeated("namespace", &q.Namespaces, "bring this `name` to that address, and nothing else; repeatable"),
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
			said = "  not agreed to: rye trust"
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
