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
	return &spec{
		name: "restore", args: "<ref…>", group: "Items",
		short:    "Restore items from their history",
		long:     "Without --at, rye restores the last recorded version, even of an item that was removed\nsince. A different file in its place is recorded first.",
		examples: "rye restore tool:acme/hello\nrye restore tool:acme/hello --at 1f2e3d4c     # see rye log tool:acme/hello",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity},
		flags: []cli.Flag{
			changedSpace(&q.Space),
			&cli.StringFlag{Name: "at", Destination: &q.At, Usage: "the version recorded at `commit`"},
			dryRun(&q.DryRun),
		},
		min: 1, max: many,
		run: func(t *task) error {
			return eachRef(t, t.w.History().Restore, restored, q.DryRun, func(target rye.Target, dry bool) rye.RestoreRequest {
				return rye.RestoreRequest{Target: target, Space: q.Space, At: q.At, DryRun: dry}
			})
		},
	}
}

func moveCommand() *spec {
	var q rye.MoveRequest
	return &spec{
		name: "mv", aliases: []string{"move", "rename"}, args: "<ref> <new ref>", group: "Items",
		short: "Rename an item",
		long: `Moves the file. A signature covers the id, so the line is removed and you must sign the item
again. The old file is recorded first, for rye log and rye restore.`,
		examples: "rye mv tool:acme/hello tool:acme/greet\nrye mv tool:acme/hello acme/greet --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Denied, fault.Malformed},
		flags:    []cli.Flag{changedSpace(&q.Space), dryRun(&q.DryRun)},
		min:      2, max: 4,
		run: func(t *task) error {
			refs := t.refs()
			if len(refs) != 2 {
				return fault.New(fault.Usage, "mv: want two refs, got %d", len(refs)).Advise("rye mv <ref> <new ref>")
			}
			q.From, q.To = refs[0], string(refs[1])
			return answer(t, t.w.Move, q, printMove)
		},
	}
}

func printMove(p *printer, rep *rye.MoveReport) {
	p.resultf(rep.DryRun, "%s %s to %s\n", moved.word(rep.DryRun), rep.From, rep.Ref)
	for _, problem := range rep.Problems {
		p.infof("%v", problem)
	}
	p.infof("next: %s", rep.Next)
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
		examples: "rye diff\nrye diff tool:acme/hello\nrye diff .ai/tools/acme/pack\nrye diff tool:acme/hello --from 1f2e3d4c --to 5a6b7c8d     # see rye log tool:acme/hello",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity},
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
