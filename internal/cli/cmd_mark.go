package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
)

func deprecateCommand() *spec {
	return markCommand("deprecate", "Warn of published versions", "They keep working; who adds or locks them is warned.")
}

func yankCommand() *spec {
	return markCommand("yank", "Take published versions out of new selections", "Locks that have them keep working.")
}

func unyankCommand() *spec {
	return markCommand("unyank", "Take a yank or a deprecation back", "")
}

func revokeCommand() *spec {
	return markCommand("revoke", "Forbid published versions for good, even where they are locked",
		"Whoever has seen the revocation refuses them from then on, also without network.")
}

func registryRedact() *spec {
	s := markCommand("redact", "Revoke published versions whose bytes have to go",
		"As rye revoke, and rye registry rebuild then takes them out of the host's branches. Who fetched\nthem before may have kept them: a secret that was published has to be changed, too.")
	s.examples = `rye registry redact acme/tool/hello@1.0.0 --reason "holds a password"`
	s.group = ""
	return s
}

// markCommand returns a command that marks versions with a reason, in one operation.
func markCommand(do, short, long string) *spec {
	q := rye.MarkRequest{Do: do}
	s := &spec{
		name: do, args: "<version...>", group: "Share",
		short: short, long: long,
		examples: "rye " + do + " acme/tool/hello@1.0.0",
		exits:    sharing,
		min:      1, max: many,
		run: func(t *task) error {
			q.Names = t.args
			if q.Out != "" {
				q.Out = t.path(q.Out)
			}
			return answer(t, t.w.Registry().Mark, q, func(p *printer, rep *rye.MarkReport) {
				if rep.Proposal != nil {
					printRootChange(p, rep.Proposal)
					return
				}
				for _, n := range rep.Names {
					p.resultf(false, "%-9s  %s\n", rep.Done, n)
				}
			})
		},
	}
	if do != "unyank" {
		s.examples += ` --reason "reads files outside the project"`
		s.flags = []cli.Flag{&cli.StringFlag{Name: "reason", Destination: &q.Reason, Usage: "`why`, for everybody who meets the version (required)"}}
	}
	if do == "revoke" || do == "redact" {
		s.flags = append(s.flags, proposalFile(&q.Out))
	}
	return s
}
