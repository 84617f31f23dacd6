package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace"
)

func lockMergeCommand() *spec {
	var q rye.LockMergeRequest
	return &spec{
		name: "merge", args: "[<base> <ours> <theirs>]",
		short: "Merge the locks of two people",
		long: `Merges a lock that git left in conflict, entry by entry. A change on one side only is
taken as it is. If both sides changed, rye takes the later log position, the later
version of a registry's item, and the pin that matches the file here. The merge
driver that rye init sets up does the same within git merge.`,
		examples: "rye lock merge\nrye lock merge --prefer theirs\nrye lock merge base.lock ours.lock theirs.lock --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Drift, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "prefer", Destination: &q.Prefer, Usage: "the `side`, ours or theirs, that wins where no rule decides"},
			dryRun(&q.DryRun),
		},
		max: 3,
		run: func(t *task) error {
			if err := t.lockSides(&q); err != nil {
				return err
			}
			return answerAlways(t, t.w.Locks().Merge, q, func(p *printer, rep *rye.LockMergeReport, ok bool) {
				if ok {
					p.resultf(q.DryRun, "%s: %s\n", rep.Path, words.Plural(rep.Items, "item"))
				}
				for _, c := range rep.Conflicts {
					p.printf("%s  %s\n", bad("conflict"), prose(c))
				}
			})
		},
	}
}

// lockSides reads the three locks: from the files that git passes to a merge driver,
// or from git's index during an unfinished merge.
func (t *task) lockSides(q *rye.LockMergeRequest) error {
	sides := []*[]byte{&q.Base, &q.Ours, &q.Theirs}
	switch len(t.args) {
	case 3:
		for i, arg := range t.args {
			var err error
			if *sides[i], err = app.ReadSide(t.path(arg)); err != nil {
				return err
			}
		}
		q.Path = t.path(t.args[1])
		return nil
	case 0:
	default:
		return fault.New(fault.Usage, "lock merge: %d files, want three or none", len(t.args)).Advise("rye lock merge <base> <ours> <theirs>")
	}
	texts, err := t.env.Unmerged(t.ctx, workspace.LockFile)
	for i := range texts {
		*sides[i] = texts[i]
	}
	return err
}

func lockImportCommand() *spec {
	var q rye.LockImportRequest
	return &spec{
		name: "import", args: "[path…]",
		short: "Lock the tools that RYE OS had locked",
		long: `Reads the lock files of RYE OS (.ai/lockfiles, or the given paths), compares each with
the tool here, and locks those that match. A tool that differs is reported as drift and
not locked. The files are not changed; rye does not use them afterwards.`,
		examples: "rye lock import --dry-run\nrye lock import\nrye lock import old/.ai/lockfiles/acme/hello@1.0.0.lock.json",
		exits:    []fault.Code{fault.NotFound, fault.Integrity, fault.Untrusted, fault.Drift, fault.Malformed, fault.Limit},
		flags:    []cli.Flag{dryRun(&q.DryRun)},
		max:      many,
		run: func(t *task) error {
			q.Paths = t.paths(t.args)
			return answerAlways(t, t.w.Locks().Import, q, func(p *printer, rep *rye.LockImport, _ bool) {
				var rows [][]any
				for _, f := range rep.Files {
					rows = append(rows, []any{statusMark(f.Status, f.Error), f.Ref, prose(f.Error), faint(f.File)})
				}
				p.table(rows)
			})
		},
	}
}
