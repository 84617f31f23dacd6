package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
)

// mergeDriverCommand is the command that git starts for each file that both sides changed.
func mergeDriverCommand() *spec {
	return &spec{
		name: "merge-driver", args: "<base> <ours> <theirs> <marker-size> <path>", group: "Serve and maintain", hidden: true, alone: true,
		short: "Merge one file for git",
		long: `git calls this command, with %O %A %B %L %P of gitattributes(5). The result is in <ours>. The
answer is the word merged, or the word conflict with exit status 1.`,
		exits: []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Malformed, fault.Limit},
		min:   5, max: 5,
		run: func(t *task) error {
			answer, err := app.MergeDriver(t.args)
			if err != nil {
				return err
			}
			if answer == app.DriverConflict {
				t.exit = 1
			}
			t.out.printf("%s\n", answer)
			return nil
		},
	}
}

func resolveCommand() *spec {
	var q rye.ResolveRequest
	return &spec{
		name: "resolve", args: "[ref|path…]", group: "Items",
		short: "Merge the items that git left in conflict",
		long: `Two people who edit one item always differ in its signature line. Where git did not start
rye (a merge of three branches, another strategy, a web site's merge button, a clone that
was never trusted), git stops at that line. This command merges such files from git's
index as rye would have: without the signature lines, the bundles' manifests and rye.lock
entry by entry. Real conflicts stay between git's marks.

Nothing is signed, staged or committed. A merged text is unsigned until you run
rye sign. A file that you edited since git stopped is left as it is.`,
		examples: "rye resolve\nrye resolve tool:acme/hello\nrye resolve --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Malformed, fault.Limit},
		flags:    []cli.Flag{dryRun(&q.DryRun)},
		max:      many,
		run: func(t *task) error {
			q.Targets = t.refs()
			return answerAlways(t, t.w.Resolve, q, func(p *printer, rep *rye.ResolveReport, _ bool) { printResolved(p, q, rep) })
		},
	}
}

func printResolved(p *printer, q rye.ResolveRequest, rep *rye.ResolveReport) {
	var rows [][]any
	for _, f := range rep.Files {
		mark := good(f.Status)
		switch f.Status {
		case "merged":
			mark = warning(f.Status)
		case "conflict", "left":
			mark = bad(f.Status)
		}
		rows = append(rows, []any{mark, prose(f.Path), prose(f.Why)})
	}
	p.table(rows)
	switch {
	case len(rep.Files) == 0:
		p.infof("git reports no conflict in .ai")
	case q.DryRun || rep.Left > 0:
	default:
		for _, ref := range rep.Sign {
			p.infof("next: rye sign %s", prose(ref))
		}
		p.infof("next: git add .ai")
		if rep.Next != "" {
			p.infof("next: %s", rep.Next)
		}
	}
}
