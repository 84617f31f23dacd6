package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
)

// printer writes results to standard output and messages to standard error. Only printer makes
// lines: a command passes a format and arguments, and printer quotes or escapes them, for
// terminals and pipes. So a command cannot forget it. data.go has the output that is written
// byte for byte.
type printer struct {
	out   *bufio.Writer
	err   io.Writer
	tty   bool // standard output is a terminal
	errs  bool // standard error is a terminal
	json  bool
	quiet bool
	color bool
	dir   string // from -C: the user types a hint in another directory

	hints hints

	columns, errColumns int // the width for line breaks; 0 for none
}

func newPrinter(s *app.Screen, g app.Flags) *printer {
	return &printer{
		out: bufio.NewWriterSize(s.Out(), 32<<10), err: s.Err(),
		tty: s.OutTTY, errs: s.ErrTTY,
		json: g.JSON, quiet: g.Quiet,
		color: s.Color && !g.NoColor,
		dir:   g.Dir,

		columns: s.Columns, errColumns: s.ErrColumns,
	}
}

func (p *printer) flush() error { return p.out.Flush() }

// prose is a sentence or a line that may hold text from outside; words.Line shows it. A string
// argument is a name, an id or another text; words.Quote shows it.
type prose string

// listed returns names, ids or paths in one line.
func listed(all []string) prose {
	shown := make([]string, len(all))
	for i, s := range all {
		shown[i] = words.Quote(s)
	}
	return prose(strings.Join(shown, ", "))
}

// typed returns a command line that another person types, or that the user types later. It is
// not a hint.
func typed(line ...string) prose { return prose(fault.CommandOf(line...).String()) }

// style is text in a colour, if colours are on.
type style struct {
	code string // of SGR
	text any    // as an argument of printf
}

func good(text any) style    { return style{"32", text} }
func bad(text any) style     { return style{"31", text} }
func warning(text any) style { return style{"33", text} }
func faint(text any) style   { return style{"2", text} }
func bold(text any) style    { return style{"1", text} }

// printf writes a result. The format is a constant, and only it can contain line feeds. On a
// terminal, printf breaks long lines between words.
func (p *printer) printf(format string, args ...any) {
	text := fmt.Sprintf(format, p.shown(args)...)
	p.out.WriteString(fitted(text, p.columns))
}

// exactf is printf without line breaks, for text that people copy from the screen: a change, a
// tree.
func (p *printer) exactf(format string, args ...any) {
	fmt.Fprintf(p.out, format, p.shown(args)...)
}

// page writes a text of rye with several lines, such as help.
func (p *printer) page(text string) {
	p.out.WriteString(fitted(words.Printable(text), p.columns))
}

// example is page without line breaks, for text that people copy.
func (p *printer) example(text string) { p.out.WriteString(words.Printable(text)) }

// bar precedes each line of a text from outside that rye prints among its own lines, so that
// no line of that text looks like one of rye's.
const bar = "| "

// block writes the lines of a text from outside, each after a bar.
func (p *printer) block(text string) {
	for line := range strings.Lines(text) {
		p.out.WriteString(bar + words.Line(strings.TrimRight(line, "\r\n")) + "\n")
	}
}

// fitted breaks the lines of a text between words. The rest of a line is indented to its
// last column, if that leaves enough room.
func fitted(text string, columns int) string {
	if columns == 0 || len(text) <= columns {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		b.WriteString(words.Wrap(line, columns, hang(line, columns)))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// hang returns the indentation of the rest of a broken line.
func hang(line string, columns int) int {
	const least = 20 // the least width for the rest
	if i := strings.LastIndex(line, "  "); i >= 0 {
		if at := words.Width(line[:i+2]); at <= columns-least {
			return at
		}
	}
	return min(len(line)-len(strings.TrimLeft(line, " "))+4, max(columns-least, 2))
}

// speech returns a writer for a text from outside that comes in pieces. It writes like block.
func (p *printer) speech() *speech {
	s := &speech{p: p}
	s.safe = app.PrintableWriter(s)
	return s
}

// speech is a text that comes in pieces, which may end within a character.
type speech struct {
	p    *printer
	safe *app.EscapeWriter
	open bool // a line is not ended yet
}

func (s *speech) write(text string) {
	io.WriteString(s.safe, text)
	s.p.flush()
}

// Write receives text that is safe to show.
func (s *speech) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		if !s.open {
			s.p.out.WriteString(bar)
		}
		s.p.out.Write(line)
		s.open = line[len(line)-1] != '\n'
	}
	return len(text), nil
}

// end ends an open line.
func (s *speech) end() {
	s.safe.Flush()
	if s.open {
		s.p.out.WriteByte('\n')
		s.open = false
	}
}

// shown returns the arguments of a format in a printable form.
func (p *printer) shown(args []any) []any {
	all := make([]any, len(args))
	for i, a := range args {
		if all[i] = a; !isNumber(a) {
			all[i] = p.text(a)
		}
	}
	return all
}

// text returns the printed form of an argument: one line, without control of the terminal.
func (p *printer) text(a any) string {
	switch v := a.(type) {
	case string:
		return words.Quote(v)
	case prose:
		return words.Line(string(v))
	case fault.Hint:
		v = v.From(p.dir)
		showing(v)
		return words.Line(v.String())
	case style:
		text := p.text(v.text)
		if p.color && text != "" {
			return "\x1b[" + v.code + "m" + text + "\x1b[0m"
		}
		return text
	case error:
		return strings.Join(words.Lines(v), "; ")
	}
	return words.Quote(fmt.Sprint(a))
}

// isNumber reports whether a is a number or a bool, which needs no quoting and keeps its verb.
func isNumber(a any) bool {
	k := reflect.ValueOf(a).Kind()
	return k >= reflect.Bool && k <= reflect.Float64
}

// resultf writes the result of a verb. --quiet silences it, except for a dry run, whose
// result is the answer.
func (p *printer) resultf(dry bool, format string, args ...any) {
	if dry || !p.quiet {
		p.printf(format, args...)
	}
}

// outcome holds the words for an action that was done, and for one that would be done.
type outcome struct{ did, would string }

var (
	added     = outcome{"added", "would add"}
	removed   = outcome{"removed", "would remove"}
	restored  = outcome{"restored", "would restore"}
	moved     = outcome{"moved", "would move"}
	copied    = outcome{"copied", "would copy"}
	published = outcome{"published", "would publish"}
	installed = outcome{"installed", "would install"}
	fetched   = outcome{"fetched", "would fetch"}
	updated   = outcome{"updated", "would update"}
	rebuilt   = outcome{"rebuilt", "would rebuild"}
	granted   = outcome{"granted", "would grant"}
	returned  = outcome{"returned", "would return"}
	shortened = outcome{"shortened", "would shorten"}
)

func (o outcome) word(dry bool) string {
	if dry {
		return o.would
	}
	return o.did
}

// mark returns the word in a colour that distinguishes the two.
func (o outcome) mark(dry bool) style {
	if dry {
		return warning(o.would)
	}
	return good(o.did)
}

// infof writes a message for a person, as errorf does; --quiet silences it.
func (p *printer) infof(format string, args ...any) {
	if p.quiet || p.json {
		return
	}
	p.errorf(format, args...)
}

// errorf writes a message that even --quiet shows, and ends its line. Format and arguments are
// as for printf.
func (p *printer) errorf(format string, args ...any) {
	columns := p.errColumns
	for _, a := range args {
		if h, ok := a.(fault.Hint); ok && h.IsCommand() {
			columns = 0 // people copy it
		}
	}
	p.out.Flush() // so that a terminal shows both in order; an error is reported at the end
	io.WriteString(p.err, fitted(fmt.Sprintf(format, p.shown(args)...), columns)+"\n")
}

// show prints v as JSON, or calls human.
func (p *printer) show(v any, human func()) error {
	if p.dir == "" { // otherwise the printed hints have -C
		showing(v)
	}
	if p.json {
		return p.object(v)
	}
	human()
	return nil
}

// table prints rows with their columns aligned. The last column is not padded.
func (p *printer) table(rows [][]any) {
	type cell struct {
		text  string
		width int
	}
	var widest []int
	lines := make([][]cell, len(rows))
	for n, row := range rows {
		for i, c := range row {
			text := p.text(c)
			if i == len(widest) {
				widest = append(widest, 0)
			}
			lines[n] = append(lines[n], cell{text, words.Width(text)})
			widest[i] = max(widest[i], lines[n][i].width)
		}
	}
	for _, cells := range lines {
		for len(cells) > 0 && cells[len(cells)-1].text == "" {
			cells = cells[:len(cells)-1] // no padding before empty cells
		}
		var line strings.Builder // not printf: tables have thousands of cells
		for i, c := range cells {
			line.WriteString(c.text)
			if i < len(cells)-1 {
				line.WriteString(strings.Repeat(" ", widest[i]-c.width+2))
			}
		}
		p.out.WriteString(fitted(line.String(), p.columns))
		p.out.WriteByte('\n')
	}
}

// rows prints each of list as one line of JSON, or as a row of a table.
func rows[T any](p *printer, list []T, row func(T) []any) error {
	if p.json {
		return each(p, list, nil)
	}
	all := make([][]any, len(list))
	for i, v := range list {
		all[i] = row(v)
	}
	p.table(all)
	return nil
}

// each prints each of list as one line of JSON, or calls human.
func each[T any](p *printer, list []T, human func(*printer, T)) error {
	for _, v := range list {
		if err := p.show(v, func() { human(p, v) }); err != nil {
			return err
		}
	}
	return nil
}

// verdicts prints each of list, and returns an error with the first refusal's code when
// some are refused.
func verdicts[T any](p *printer, list []T, human func(*printer, T), verdict func(T) (ok bool, code fault.Code), what string) error {
	failed, first := 0, fault.Code("")
	for _, v := range list {
		if ok, code := verdict(v); !ok {
			if failed++; failed == 1 {
				first = code
			}
		}
	}
	end := p.list()
	err := each(p, list, human)
	if end(); err != nil || failed == 0 {
		return err
	}
	return someFailed(first, failed, len(list), what)
}

// fields prints pairs of a name and a value, one on a line, without those whose value is "".
func (p *printer) fields(width int, pairs ...any) {
	for pair := range slices.Chunk(pairs, 2) {
		if value := pair[1]; value != "" && value != prose("") {
			p.field(width, pair[0].(string), value)
		}
	}
}

func (p *printer) field(width int, name string, value any) {
	p.printf("  %s  %s\n", faint(prose(fmt.Sprintf("%-*s", width, words.Quote(name)))), value)
}

// next shows the next command.
func (p *printer) next(h fault.Hint) {
	if !h.IsZero() {
		p.infof("next: %s", h)
	}
}

// statusMark returns the word for a status, in the colour of an error or of success.
func statusMark(status, err string) style {
	if err != "" {
		return bad(status)
	}
	return good(status)
}

// failure is the form of an error with --json.
type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Code    fault.Code `json:"code"`
	Exit    int        `json:"exit"`
	Message string     `json:"message"`
	Hint    fault.Hint `json:"hint,omitzero"`
}

// report prints err, if it is one, and returns the exit status.
func (p *printer) report(err error) int {
	p.out.Flush()
	if err == nil {
		return 0
	}
	hint := fault.HintOf(err).From(p.dir)
	exit := fault.Exit(err)
	switch {
	case p.json:
		showing(hint)
		line, _ := encode(failure{failureBody{fault.CodeOf(err), exit, told(err).Error(), hint}})
		if p.errs {
			line = words.JSON(line)
		}
		p.err.Write(line)
	case wasPrinted(err) && p.quiet:
		showing(hint)
	default:
		p.reportText(err)
		if !hint.IsZero() {
			p.errorf(fault.HintLine, hint)
		}
	}
	return exit
}

// reportText prints the message of an error. A question that nobody could answer is laid out as
// at a terminal, for whoever reads the log.
func (p *printer) reportText(err error) {
	lines := words.Lines(told(err))
	if open := (*app.Unasked)(nil); errors.As(err, &open) && len(open.Lines) > 0 {
		head, below, end := open.Laid()
		p.errorf(fault.ErrorLine, prose(words.Line(head)))
		for _, l := range below {
			p.errorf("    %s", prose(words.Line(l)))
		}
		lines = []string{end}
	}
	for _, line := range lines {
		p.errorf(fault.ErrorLine, prose(line))
	}
}

// told returns the error to show to a person.
func told(err error) error {
	var of stopped
	if fault.Is(err, fault.Interrupt) && !errors.As(err, &of) {
		return errors.New("interrupted")
	}
	return err
}
