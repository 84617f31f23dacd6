package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
)

func deprecateCommand() *spec {
	return markCommand("deprecate", "Warn of published versions", "They keep working; rye warns when they are added or locked. --undo takes the mark back.")
}

func yankCommand() *spec {
	return markCommand("yank", "Exclude published versions from new selections", "Existing locks keep working. --undo takes a yank or a deprecation back.")
}

func revokeCommand() *spec {
	return markCommand("revoke", "Forbid published versions for good, even where they are locked",
		"Every reader that has seen the revocation refuses them, also without network.")
}

func registryRedact() *spec {
	s := markCommand("redact", "Revoke published versions whose content must be deleted",
		"Like rye revoke; rye registry rebuild then removes them from the host's branches. Earlier\nreaders may still have them, so change every secret that was published.")
	s.examples = `rye registry redact acme/tool/hello@1.0.0 --reason "holds a password"`
	s.group = ""
	return s
}

// markCommand returns a command that marks versions with a reason, in one operation.
func markCommand(do, short, long string) *spec {
	q := rye.MarkRequest{Do: do}
	undo := false
	s := &spec{
		name: do, args: "<version...>", group: "Share",
		short: short, long: long,
		examples: "rye " + do + " acme/tool/hello@1.0.0",
		exits:    sharing,
		min:      1, max: many,
		run: func(t *task) error {
			q.Names = t.args
			if undo {
				q.Do = "unyank"
			}
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
	s.examples += ` --reason "reads files outside the project"`
	s.flags = []cli.Flag{&cli.StringFlag{Name: "reason", Destination: &q.Reason, Usage: "`text`, shown to every reader of the version (required, but not with --undo)"}}
	if do == "yank" || do == "deprecate" {
		s.examples += "\nrye " + do + " acme/tool/hello@1.0.0 --undo"
		s.flags = append(s.flags, &cli.BoolFlag{Name: "undo", Destination: &undo, Usage: "take the mark back"})
	}
	if do == "revoke" || do == "redact" {
		s.flags = append(s.flags, proposalFile(&q.Out))
	}
	return s
}
