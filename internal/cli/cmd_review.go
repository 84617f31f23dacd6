package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func reviewCommand() *spec {
	var q rye.ReviewRequest
	return &spec{
		name: "review", slow: true, args: "[ref | path | pattern…]", group: "Items",
		short: "Look at other people's changes in your namespaces, and sign them",
		long: `For owners. Each change that no owner signed is shown beside the newest version that an
owner did: from your record, else as published, else from your git. Files beside a named
tool are shown too, and every changed file of a bundle. rye asks about each change, and signs
exactly the bytes that you saw. No flag answers these questions. If a file changes meanwhile,
nothing is signed.`,
		examples: "rye review\nrye review tool:acme/hello\nrye review --dry-run --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Untrusted, fault.Revoked, fault.Denied, fault.Offline, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "accept-denied", Destination: &q.AcceptDenied, Usage: "also review a change of a version that was denied"},
			dryRun(&q.DryRun),
		},
		max: many,
		run: func(t *task) (err error) {
			if len(t.args) > 0 {
				if q.Targets, err = t.someRefs(false); err != nil {
					return err
				}
			}
			rep, err := t.w.Review(t.ctx, t.env.Caller, q)
			if rep == nil {
				return err
			}
			if perr := t.out.show(rep, func() { t.out.printReview(rep, q.DryRun) }); perr != nil {
				return perr
			}
			failed := 0
			for _, it := range rep.Items {
				if it.Error != "" {
					failed++
				}
			}
			if failed > 0 {
				return someFailed(fault.CodeOf(err), failed, len(rep.Items), "not signed")
			}
			return err
		},
	}
}

func (p *printer) printReview(rep *rye.ReviewReport, dry bool) {
	end := p.list()
	for _, it := range rep.Items {
		if dry && it.Error == "" || it.Status == "asked" {
			for _, l := range it.Lines {
				p.printf("    %s\n", prose(l))
			}
		}
		if it.Error != "" {
			p.printf("%s  %s: %s\n", bad(it.Status), it.Ref, prose(it.Error))
			p.hint(it.Hint)
			continue
		}
		style := good(it.Status)
		if it.Status == "declined" {
			style = warning(it.Status)
		}
		p.resultf(dry, "%s  %s\n", style, it.Ref)
	}
	end()
	switch {
	case len(rep.Items) == 0:
		p.infof("rye: every item in your namespaces is signed by an owner")
	case rep.Signed > 0:
		p.infof("%s signed; next: git add .ai, git commit and git push", words.Plural(rep.Signed, "item"))
	}
}
