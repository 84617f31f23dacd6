package cli

import (
	"errors"

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
		long: `Merges a lock that git left in conflict, entry by entry: what one side changed
is as that side has it; where both did, the later log position, the later
version of a registry's item and the pin that fits the file that is here are
taken. With three files it is a merge driver, and git need not ask:

    git config merge.rye-lock.driver 'rye lock merge %O %A %B'`,
		examples: "rye lock merge\nrye lock merge --prefer theirs\nrye lock merge base.lock ours.lock theirs.lock --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Drift, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "prefer", Destination: &q.Prefer, Usage: "`side`, ours or theirs, for what no rule decides"},
			dryRun(&q.DryRun),
		},
		max: 3,
		run: func(t *task) error {
			if err := lockSides(t, &q); err != nil {
				return err
			}
			rep, err := call(t, func(w *workspace.Workspace) (*rye.LockMergeReport, error) {
				return w.Locks().Merge(t.ctx, rye.Terminal(), q)
			})
			if rep == nil {
				return err
			}
			perr := t.out.show(rep, func() {
				if err == nil {
					t.out.didf(q.DryRun, "%s: %s\n", rep.Path, words.Plural(rep.Items, "item"))
				}
				for _, c := range rep.Conflicts {
					t.out.printf("%s  %s\n", bad("conflict"), c)
				}
			})
			return errors.Join(err, perr)
		},
	}
}

// lockSides reads the three locks: the files that git hands to a merge driver, or
// what git keeps in its index while a merge is unfinished.
func lockSides(t *task, q *rye.LockMergeRequest) error {
	sides := []*[]byte{&q.Base, &q.Ours, &q.Theirs}
	switch len(t.args) {
	case 3:
		for i, arg := range t.args {
			p, err := t.path(arg)
			if err == nil {
				*sides[i], err = app.ReadSide(p)
			}
			if err != nil {
				return err
			}
			if i == 1 {
				q.Path = p
			}
		}
		return nil
	case 0:
	default:
		return fault.New(fault.Usage, "lock merge: %d files, want three or none", len(t.args)).Advise("rye lock merge <base> <ours> <theirs>")
	}
	a, err := t.env()
	if err != nil {
		return err
	}
	texts, err := a.Unmerged(t.ctx, workspace.LockFile)
	for i := range texts {
		*sides[i] = texts[i]
	}
	return err
}

func lockImportCommand() *spec {
	var dry bool
	return &spec{
		name: "import", args: "[path…]",
		short: "Lock what RYE OS had locked",
		long: `Reads the ancestor's lock files (.ai/lockfiles, or the paths given), compares each
with the tool as it is here, and locks those that agree. What differs is drift and
stays as it is. The files are not touched; rye has no use for them afterwards.`,
		examples: "rye lock import --dry-run\nrye lock import\nrye lock import old/.ai/lockfiles/acme/hello@1.0.0.lock.json",
		exits:    []fault.Code{fault.NotFound, fault.Integrity, fault.Untrusted, fault.Drift, fault.Malformed, fault.Limit},
		flags:    []cli.Flag{dryRun(&dry)},
		max:      many,
		run: func(t *task) error {
			paths := make([]string, len(t.args))
			for i, arg := range t.args {
				var err error
				if paths[i], err = t.path(arg); err != nil {
					return err
				}
			}
			rep, err := call(t, func(w *workspace.Workspace) (*rye.LockImport, error) {
				return w.Locks().Import(t.ctx, rye.Terminal(), rye.LockImportRequest{Paths: paths, DryRun: dry})
			})
			if rep == nil {
				return err
			}
			perr := t.out.show(rep, func() {
				var rows [][]any
				for _, f := range rep.Files {
					status, text := good(f.Status), ""
					if f.Error != "" {
						status, text = bad(f.Status), f.Error
					}
					rows = append(rows, []any{status, f.Ref, text, faint(f.File)})
				}
				t.out.table(rows)
			})
			return errors.Join(err, perr)
		},
	}
}
