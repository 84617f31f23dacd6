package cli

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// maxPrograms bounds the programs that one list shows; --json has all.
const maxPrograms = 100

// printPrograms lists programs of a bundle with their kinds.
func (p *printer) printPrograms(all []rye.BundleProgram) {
	for i, b := range all {
		if i == maxPrograms {
			p.resultf(false, "    and %s\n", words.Plural(len(all)-i, "more program"))
			return
		}
		change := b.Change
		if change == "" {
			change = "program"
		}
		p.resultf(false, "    %-7s  %s  %s\n", change, b.Path, faint(prose(b.Kind+": "+b.Why)))
	}
}

// printRunNames lists the programs of a bundle with the commands that run them.
func (p *printer) printRunNames(all []rye.BundleProgram) {
	if len(all) == 0 {
		return
	}
	p.printf("%s\n", bold("programs"))
	var rows [][]any
	for i, b := range all {
		if i == maxPrograms {
			rows = append(rows, []any{prose("  and " + words.Plural(len(all)-i, "more program"))})
			break
		}
		run := "not run by rye: " + words.Quote(b.Path)
		if b.Run != "" {
			run = fault.CommandOf("rye", "run", b.Run).String()
		}
		rows = append(rows, []any{prose("  " + run), b.Kind, faint(prose(b.Why))})
	}
	p.table(rows)
}
