package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

func logCommand() *spec {
	var q rye.LogRequest
	return &spec{
		name: "log", aliases: []string{"history"}, args: "[ref]", group: "Look",
		short: "Show the recorded changes of an item, or of the project",
		long: `Each directory has its own record: a copy, a second clone or a worktree records its own
changes. The log lists those of the same project too. The log of a bundle from another
source names the commit there that each version came from. With --patch each change is shown
line by line, in the unified format.`,
		examples: "rye log\nrye log tool:acme/hello -n 5\nrye log -p tool:acme/hello",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Denied, fault.Limit},
		flags: []cli.Flag{
			spaceOf(&q.Space),
			&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Destination: &q.Limit, Usage: "show at most `n` (default 50)"},
			&cli.BoolFlag{Name: "patch", Aliases: []string{"p"}, Destination: &q.Patch, Usage: "show the changed lines"},
		},
		max: 2, ref: &q.Ref,
		heavy: func([]string) bool { return q.Patch },
		run: func(t *task) error {
			if !q.Patch {
				return answerRows(t, t.w.History().Log, q, "", logRow)
			}
			n := 0
			return answerEach(t, t.w.History().Log, q, func(p *printer, e rye.LogEntry) {
				if n++; n > 1 {
					p.printf("\n")
				}
				p.printf("%s  %s  %s  %s%s\n", warning(short(e.Commit)), e.When, e.Author, e.Subject, prose(prefixed("  ", cameFrom(e))))
				for _, c := range e.Changes {
					p.printChange(c)
				}
			})
		},
	}
}

func logRow(e rye.LogEntry) []any {
	return []any{warning(short(e.Commit)), e.When, e.Author, e.Subject, prose(cameFrom(e))}
}

// cameFrom says where the version of a bundle in a commit came from; "" where it came from nowhere.
func cameFrom(e rye.LogEntry) string {
	if e.Origin == nil {
		return ""
	}
	from := originText(e.Origin)
	if !e.Signed {
		from += ", not signed"
	}
	return "from " + from
}

// short clips an object id for people; --json has the full one.
func short(id string) string { return id[:min(12, len(id))] }

// printChange prints the changes of a commit to a file, in the form of patch(1). A file that
// was only renamed has no hunks.
func (p *printer) printChange(c rye.FileChange) {
	if len(c.Lines) == 0 && c.From != "" && c.To != "" && c.From != c.To {
		p.printf("%s\n", bold(prose("renamed "+words.Quote(c.From)+" to "+words.Quote(c.To))))
		return
	}
	name := func(prefix, path string) string {
		if path == "" {
			return "/dev/null"
		}
		return prefix + path
	}
	p.printHunks(name("a/", c.From), name("b/", c.To), c.Lines)
}

func blameCommand() *spec {
	var q rye.BlameRequest
	return &spec{
		name: "blame", args: "<ref>", group: "Look",
		short: "Show who signed each line of an item, and since when",
		long: `Shows the last recorded version, or the one of --at. For each line: the commit that added
it, the date and author of the record, the first signer of the line, and the version of
the item that added it. If the signature is no longer valid, its state is shown instead;
without a signature, the author of the commit, in brackets. The signature line itself is
new in every version.`,
		examples: "rye blame tool:acme/hello\nrye blame tool:acme/hello --at 1f2e3d4c     # see rye log tool:acme/hello",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Denied, fault.Malformed, fault.Limit},
		flags:    []cli.Flag{&cli.StringFlag{Name: "at", Destination: &q.At, Usage: "the version recorded at `commit`"}},
		min:      1, max: 2, ref: &q.Ref,
		heavy: func([]string) bool { return true },
		run:   func(t *task) error { return answerRows(t, t.w.History().Blame, q, "", blameRow) },
	}
}

func blameRow(l rye.BlameLine) []any {
	return []any{warning(short(l.Commit)), l.When, l.Author, blameSigner(l), l.Version, prose(fmt.Sprintf("%4d", l.Line)), prose(l.Text)}
}

// blameSigner returns the signer of a line, or the state of its version, in one word.
func blameSigner(l rye.BlameLine) style {
	const enough = len("SHA256:") + 12
	clip := func(fp string) string { return fp[:min(enough, len(fp))] }
	switch {
	case l.State == objects.Signed:
		return style{text: clip(l.Signer)}
	case l.State != "":
		return stateStyle(l.State)
	case l.RecordedBy != "":
		return faint("(" + clip(l.RecordedBy) + ")")
	}
	return faint("-")
}
