package cli

import (
	"cmp"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func auditCommand() *spec {
	var ci, sarif bool
	return &spec{
		name: "audit", slow: true, group: "Look",
		short: "Look for dangerous content in the project's items and its lock",
		long: `Reports items that are revoked, yanked, unsigned, drifted or stale. In every text, item or
not, it looks for hidden characters, downloads that are run, commands that cannot be read,
programs started in their latest version, prose that makes its reader fetch a program, and
secrets. Every file is read to its end. The states of registries are those last seen; rye
fetch asks the registries again.

A finding in a text can be accepted, with a reason, by the signed item config:local/audit
(docs/format/audit.md); it is still reported. A text without findings can still be harmful.`,
		examples: "rye audit\nrye audit --ci\nrye audit --sarif",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "ci", Destination: &ci, Usage: "one line for each finding, and 16 where one is high"},
			&cli.BoolFlag{Name: "sarif", Destination: &sarif, Usage: "print SARIF 2.1.0, for code scanning"},
		},
		run: func(t *task) error {
			rep, err := t.w.Upkeep().Audit(t.ctx, t.env.Caller, rye.AuditRequest{})
			if err != nil {
				return err
			}
			switch {
			case sarif:
				err = t.out.object(sarifOf(rep))
			case t.out.json:
				err = cmp.Or(each(t.out, rep.Findings, nil), each(t.out, rep.Accepted, nil))
			case ci:
				t.out.printFindings(rep)
			default:
				t.out.printAudit(rep)
			}
			high := countHigh(rep.Findings)
			if err != nil || !ci || high == 0 {
				return err
			}
			return errPrinted{fault.New(fault.Denied, "audit: %s of high severity", words.Plural(high, "finding")).
				Advise("rye audit prints a remedy for each")}
		},
	}
}

func countHigh(all []rye.AuditFinding) (n int) {
	for _, f := range all {
		if f.Severity == "high" {
			n++
		}
	}
	return n
}

// printFindings prints lines for programs, like a compiler: place, severity, rule, text.
func (p *printer) printFindings(rep *rye.AuditReport) {
	for _, f := range rep.Findings {
		p.exactf("%s: %s: %s: %s%s\n", where(f), f.Severity, f.Rule, prose(f.Says), prose(prefixed(": ", f.Excerpt)))
	}
}

// where returns the place of a finding: a file and a line, or an item.
func where(f rye.AuditFinding) prose {
	at := words.Quote(cmp.Or(f.Path, f.Item, "project"))
	if f.Line > 0 {
		at += fmt.Sprintf(":%d", f.Line)
	}
	return prose(at)
}

func (p *printer) printAudit(rep *rye.AuditReport) {
	end := p.list()
	for _, f := range rep.Findings {
		mark := faint(f.Severity)
		switch f.Severity {
		case "high":
			mark = bad(f.Severity)
		case "medium":
			mark = warning(f.Severity)
		}
		p.printf("%s  %s  %s: %s\n", mark, bold(f.Rule), where(f), prose(f.Says))
		if f.Excerpt != "" {
			p.exactf("      %s\n", prose(f.Excerpt))
		}
		p.hint(f.Mend)
	}
	end()
	for _, f := range rep.Accepted {
		p.printf("%s  %s  %s: %s\n", faint("accepted"), f.Rule, where(f), prose(f.Reason))
	}
	p.infof("%s: %d high, of %s and %s", words.Plural(len(rep.Findings), "finding"), countHigh(rep.Findings),
		words.Plural(rep.Items, "item"), words.Plural(rep.Files, "text"))
}
