package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func restoreCommand() *spec {
	var q rye.RestoreRequest
	var taken, dismiss bool
	return &spec{
		name: "restore", args: "[ref | pattern… | --taken path…]", group: "Items",
		short: "Restore items from their history, or files that rye moved away after a run",
		long: `Without --at, rye restores the last recorded version, even of an item that was removed since.
A different file in the place of a named item is recorded first. A pattern ('acme/*') brings
back all removed items that match; --all brings back the items that the record has and whose
files are gone. Both leave a changed file as it is. Before rye restores more than one item
it lists them and asks.

Files that other programs run by themselves, and that appeared while a tool ran, were moved
out of the project. --taken shows them with their content. With paths it puts these back,
and overwrites nothing. --dismiss ends the notices; the files stay where rye put them.`,
		examples: "rye restore tool:acme/hello\nrye restore --all --dry-run\nrye restore tool:acme/hello --at 1f2e3d4c     # see rye log tool:acme/hello\nrye restore --taken\nrye restore --taken .vscode/tasks.json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Denied},
		flags: []cli.Flag{
			changedSpace(&q.Space),
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Destination: &q.All, Usage: "every item that the record has and whose file is gone"},
			&cli.StringFlag{Name: "at", Destination: &q.At, Usage: "the version recorded at `commit`"},
			&cli.BoolFlag{Name: "taken", Destination: &taken, Usage: "show files that rye moved away after a run; with paths, put them back"},
			&cli.BoolFlag{Name: "dismiss", Destination: &dismiss, Usage: "with --taken: end the notices, and leave the files where they are"},
			dryRun(&q.DryRun),
		},
		max: many,
		run: func(t *task) (err error) {
			switch {
			case taken && (q.All || q.At != "" || q.Space != ""):
				return fault.New(fault.Usage, "restore: --taken goes with paths, --dismiss and --dry-run only").Advise("rye restore --taken shows what there is")
			case taken:
				return answer(t, t.w.History().Taken, rye.TakenRequest{Paths: t.args, Dismiss: dismiss, DryRun: q.DryRun}, printTakenReport)
			case dismiss:
				return fault.New(fault.Usage, "restore: --dismiss needs --taken").Mend("rye restore --taken --dismiss")
			}
			if q.Targets, err = t.someRefs(q.All); err != nil {
				return err
			}
			return answerBatch(t, t.w.History().Restore, q, func(p *printer, rep rye.AddReport) { p.printAdded(restored, q.DryRun, &rep) })
		},
	}
}

// printTakenReport prints what runs left, or what was put back or dismissed.
func printTakenReport(p *printer, rep *rye.TakenReport) {
	if len(rep.Notices)+len(rep.Restored)+len(rep.Dismissed) == 0 {
		p.infof("rye: nothing was moved away after a run")
	}
	for _, n := range rep.Notices {
		state := ""
		if n.Killed {
			state = ", rye was killed"
		}
		if n.Dismissed {
			state += ", dismissed"
		}
		p.printf("while %s ran, %s%s\n", n.Tool, n.At, prose(state))
		for _, c := range n.Things {
			p.printf("  %s  %s: %s\n", c.Path, prose(c.How), prose(c.Kind))
			for _, l := range c.Lines {
				p.printf("    | %s\n", l)
			}
			if c.Where != "" {
				p.printf("    it is at %s\n", c.Where)
			}
		}
	}
	for _, c := range rep.Restored {
		p.resultf(rep.DryRun, "%s  %s\n", good("restored"), c.Path)
	}
	for _, c := range rep.Dismissed {
		p.resultf(rep.DryRun, "%s  %s\n", warning("dismissed"), c.Path)
	}
	if len(rep.Notices) > 0 {
		p.infof("next: %s puts one back; %s ends the notices", typed("rye", "restore", "--taken", rep.Notices[0].Things[0].Path), typed("rye", "restore", "--taken", "--dismiss"))
	}
}

func moveCommand() *spec {
	var q rye.MoveRequest
	var namespace string
	return &spec{
		name: "mv", aliases: []string{"move", "rename"}, args: "<ref | bundle> <new ref> | --namespace <old> <new>", group: "Items",
		short: "Rename an item, a bundle or a namespace",
		long: `Moves the file, or all files of a bundle, and writes the new id where the metadata states the
old one. rye signs again what your own signature covers, and the entry in the lock follows.
All other files move unsigned: unsigned, merged and changed texts, and texts with another
signature. rye sign asks about them as before. The old files are recorded
first, for rye log and rye restore.

With --namespace, all of your items and bundles of a namespace move, and name each other by
their new names. rye.yaml names the new namespace, if it named the old one. rye lists the moves
and asks once. If others signed or own one of the items, nothing moves.`,
		examples: "rye mv tool:acme/hello acme/greet\nrye mv bundle:acme/report acme/summary --dry-run\nrye mv --namespace acme example",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Untrusted, fault.Denied, fault.Malformed},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "namespace", Destination: &namespace, Usage: "move all items of this `namespace`"},
			changedSpace(&q.Space), dryRun(&q.DryRun),
		},
		min: 1, max: 4,
		run: func(t *task) error {
			if namespace != "" {
				return t.moveNamespace(rye.MoveNamespaceRequest{From: strings.TrimSuffix(namespace, "/"), Space: q.Space, DryRun: q.DryRun})
			}
			refs := t.refs()
			if len(refs) != 2 {
				return fault.New(fault.Usage, "mv: want two refs, got %d", len(refs)).Advise("rye mv <ref> <new ref>")
			}
			q.From, q.To = refs[0], string(refs[1])
			return answer(t, t.w.Move, q, printMove)
		},
	}
}

func (t *task) moveNamespace(q rye.MoveNamespaceRequest) error {
	if len(t.args) != 1 {
		return fault.New(fault.Usage, "mv --namespace: want one new namespace, got %d", len(t.args)).Advise("rye mv --namespace <old> <new>")
	}
	q.To = strings.TrimSuffix(t.args[0], "/")
	return answer(t, t.w.MoveNamespace, q, func(p *printer, rep *rye.MoveNamespaceReport) {
		for i := range rep.Moves {
			printMove(p, &rep.Moves[i])
		}
		if rep.Declared {
			p.resultf(rep.DryRun, "%s namespace %s to %s in rye.yaml\n", moved.word(rep.DryRun), rep.From, rep.To)
		}
		p.printRelocked(rep.Lock, rep.DryRun)
		for _, file := range rep.Mentions {
			p.infof("note: the text of %s names %s/ still", file, rep.From)
		}
	})
}

func printMove(p *printer, rep *rye.MoveReport) {
	p.resultf(rep.DryRun, "%s %s to %s%s\n", moved.word(rep.DryRun), rep.From, rep.Ref, prose(map[bool]string{true: " (signed)", false: " (unsigned)"}[rep.Signed]))
	for _, problem := range rep.Problems {
		p.infof("%v", problem)
	}
	if rep.Why != "" && len(rep.Problems) == 0 {
		p.infof("not signed: %s", prose(rep.Why))
	}
	p.printRelocked(rep.Lock, rep.DryRun)
	p.next(rep.Next)
}

// printRelocked prints the entries of the lock with their new names.
func (p *printer) printRelocked(refs []string, dry bool) {
	for _, ref := range refs {
		p.resultf(dry, "%s the entry of %s in rye.lock\n", moved.word(dry), ref)
	}
}

func printCopy(p *printer, rep *rye.CopyReport) {
	as := ""
	if rep.Ref != rep.From {
		as = " as " + words.Quote(rep.Ref)
	}
	if rep.Replaces {
		as += ", which replaces another one"
	}
	p.resultf(rep.DryRun, "%s %s to the %s space%s (%s)\n", copied.word(rep.DryRun), rep.From, rep.Space, prose(as), rep.State)
	if rep.Unsigned != "" {
		p.infof("the signature of %s is left out: it signs %s, and not another id", words.Quote(rep.Unsigned), rep.From)
	}
	p.next(rep.Next)
}

func diffCommand() *spec {
	var q rye.DiffRequest
	return &spec{
		name: "diff", slow: true, args: "[ref | bundle…]", group: "Look",
		short: "Show the changes of items since they were recorded",
		long: `Prints the unified format. Without arguments it compares all working items with the record;
with --from, one item since that commit, or up to --to. For a bundle, it shows files that
differ from the manifest, are missing, or are not in it.`,
		examples: "rye diff\nrye diff tool:acme/hello\nrye diff .ai/tools/acme/pack\nrye diff tool:acme/hello --from 1f2e3d4c --to 5a6b7c8d     # see rye log tool:acme/hello\nrye restore --taken\nrye restore --taken .vscode/tasks.json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Denied},
		flags: []cli.Flag{
			spaceOf(&q.Space),
			&cli.StringFlag{Name: "from", Destination: &q.From, Usage: "compare with the version recorded at `commit`"},
			&cli.StringFlag{Name: "to", Destination: &q.To, Usage: "show the changes up to `commit`, not the working file"},
		},
		max: many,
		run: func(t *task) error {
			q.Targets = t.refs()
			if n := len(q.Targets); n != 1 && (q.From != "" || q.To != "") {
				_, err := t.oneRef()
				return err
			}
			if q.From == "" && q.To != "" {
				return fault.New(fault.Usage, "diff: --to needs --from").Advise("rye log %s", q.Targets[0])
			}
			return answerEach(t, t.w.History().Diff, q, printDiff)
		},
	}
}

func printDiff(p *printer, d rye.ItemDiff) {
	what := "changed"
	switch {
	case d.Deleted:
		what = "deleted"
	case !d.Recorded:
		what = "new"
	case d.From != "" && d.To != "":
		what = d.From + " -> " + d.To
	case len(d.Lines) == 0 && d.From != "":
		what = "unchanged"
	case len(d.Lines) == 0:
		what = "as recorded"
	}
	p.printf("%s  %s  %s\n", bold(d.Ref), d.Path, prose(what))
	if len(d.Lines) == 0 {
		return
	}
	old, now := "a/"+d.Path, "b/"+d.Path
	if !d.Recorded {
		old = "/dev/null"
	}
	if d.Deleted {
		now = "/dev/null"
	}
	p.printHunks(old, now, d.Lines)
}

// printHunks prints the names of two files, then the hunks in the unified format.
func (p *printer) printHunks(old, now string, lines []string) {
	p.exactf("%s\n%s\n", bold(prose("--- "+words.Quote(old))), bold(prose("+++ "+words.Quote(now))))
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "+"):
			p.exactf("%s\n", good(prose(l)))
		case strings.HasPrefix(l, "-"):
			p.exactf("%s\n", bad(prose(l)))
		case strings.HasPrefix(l, "@@"):
			p.exactf("%s\n", style{"36", prose(l)})
		default:
			p.exactf("%s\n", prose(l))
		}
	}
}
