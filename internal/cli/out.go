package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/words"
)

// printer writes results to standard output and messages to standard error.
// What comes from items is escaped wherever a terminal would act on it, so a
// command cannot forget to: strings reach a terminal only through here.
type printer struct {
	out   *bufio.Writer
	err   io.Writer
	tty   bool // standard output is a terminal
	errs  bool // standard error is a terminal
	json  bool
	quiet bool
	color bool
	dir   string // of -C: who types a hint is not there

	columns, errColumns int // into which lines are broken; 0 for as they are
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

// style is text in a colour, where there are colours.
type style struct {
	code string // of SGR
	text string
}

func good(text string) style    { return style{"32", text} }
func bad(text string) style     { return style{"31", text} }
func warning(text string) style { return style{"33", text} }
func faint(text string) style   { return style{"2", text} }
func bold(text string) style    { return style{"1", text} }

// printf writes a result. Arguments are escaped, the format is not. On a terminal lines are
// broken between words.
func (p *printer) printf(format string, args ...any) {
	for i, a := range args {
		args[i] = p.safe(a)
	}
	if p.columns == 0 {
		fmt.Fprintf(p.out, format, args...)
		return
	}
	p.out.WriteString(fitted(fmt.Sprintf(format, args...), p.columns))
}

// exactf is printf for what people take from the screen as it is: a change, an example.
func (p *printer) exactf(format string, args ...any) {
	for i, a := range args {
		args[i] = p.safe(a)
	}
	fmt.Fprintf(p.out, format, args...)
}

// fitted breaks the lines of a text between words. What goes on stands below the last
// column of its line, where that leaves room for it.
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

// hang is how far in the second part of a broken line begins.
func hang(line string, columns int) int {
	const least = 20 // columns that are worth a column of their own
	if i := strings.LastIndex(line, "  "); i >= 0 {
		if at := words.Width(line[:i+2]); at <= columns-least {
			return at
		}
	}
	return min(len(line)-len(strings.TrimLeft(line, " "))+4, columns-least)
}

func (p *printer) safe(a any) any {
	switch v := a.(type) {
	case string:
		return p.text(v)
	case fault.Hint:
		v = v.From(p.dir)
		showing(v)
		return p.text(v.String())
	case style:
		text := p.safe(v.text).(string)
		if p.color && text != "" {
			return "\x1b[" + v.code + "m" + text + "\x1b[0m"
		}
		return text
	}
	return a
}

// text is safe for one string.
func (p *printer) text(s string) string {
	if p.tty {
		return words.Printable(s)
	}
	return s
}

// resultf writes what a verb did, or found well. --quiet silences it, but not what a
// dry run would do: that is the answer.
func (p *printer) resultf(dry bool, format string, args ...any) {
	if dry || !p.quiet {
		p.printf(format, args...)
	}
}

// outcome is the words for what a verb did, and for what it would do.
type outcome struct{ did, would string }

var (
	added     = outcome{"added", "would add"}
	removed   = outcome{"removed", "would remove"}
	restored  = outcome{"restored", "would restore"}
	moved     = outcome{"moved", "would move"}
	copied    = outcome{"copied", "would copy"}
	published = outcome{"published", "would publish"}
	installed = outcome{"installed", "would install"}
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

// mark is the word in a colour that tells the two apart.
func (o outcome) mark(dry bool) style {
	if dry {
		return warning(o.would)
	}
	return good(o.did)
}

// infof writes a message for a person; --quiet silences it.
func (p *printer) infof(format string, args ...any) {
	if p.quiet || p.json {
		return
	}
	p.errorf(format, args...)
}

// errorf writes a message that even --quiet shows.
func (p *printer) errorf(format string, args ...any) {
	columns := p.errColumns
	for i, a := range args {
		if h, ok := a.(fault.Hint); ok {
			args[i] = h.From(p.dir)
			if h.IsCommand() {
				columns = 0 // to be copied as it is
			}
		}
	}
	showing(args)
	p.out.Flush() // so that a terminal shows both in order; an error is kept for the end
	// Escaped where no terminal is, too: what reads it may show it on one.
	text := words.Printable(fmt.Sprintf(format, args...))
	io.WriteString(p.err, fitted(text, columns)+"\n")
}

// show prints v as JSON, or calls human.
func (p *printer) show(v any, human func()) error {
	if p.dir == "" { // else what is printed says where
		showing(v)
	}
	if p.json {
		return p.object(v)
	}
	human()
	return nil
}

// object writes one line of JSON. On a terminal, characters that it would act on
// are escaped in JSON's own way, so the line still means the same.
func (p *printer) object(v any) error {
	showing(v)
	line, err := encode(v)
	if err != nil {
		return err
	}
	if p.tty {
		line = escapeJSON(line)
	}
	p.out.Write(line)
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fault.New(fault.Failed, "encode the result: %w", err)
	}
	return b.Bytes(), nil
}

func escapeJSON(line []byte) []byte {
	if utf8.Valid(line) && !bytes.ContainsFunc(line, words.Hidden) {
		return line
	}
	var b bytes.Buffer
	for _, r := range string(line) {
		if words.Hidden(r) {
			b.WriteString(words.Escaped(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// content writes an item's text: byte for byte, or escaped on a terminal.
func (p *printer) content(text string) {
	if !p.tty {
		p.out.WriteString(text)
		return
	}
	text = words.Printable(text)
	p.out.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		p.out.WriteByte('\n')
	}
}

// stream returns where a running tool's standard output goes, at once.
func (p *printer) stream() io.Writer {
	if p.tty {
		return app.PrintableWriter(unbuffered{p.out})
	}
	return unbuffered{p.out}
}

// streamErr is stream for a tool's standard error.
func (p *printer) streamErr() io.Writer {
	if p.errs {
		return app.PrintableWriter(p.err)
	}
	return p.err
}

type unbuffered struct{ w *bufio.Writer }

func (u unbuffered) Write(b []byte) (int, error) {
	n, err := u.w.Write(b)
	if err == nil {
		err = u.w.Flush()
	}
	return n, err
}

// table prints rows with their columns aligned. The last column is not padded.
func (p *printer) table(rows [][]any) {
	var width []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], cellWidth(p, c))
		}
	}
	for _, row := range rows {
		for len(row) > 0 && cellWidth(p, row[len(row)-1]) == 0 {
			row = row[:len(row)-1] // nothing is padded for the sake of nothing
		}
		var line strings.Builder // not printf: tables have thousands of cells
		for i, c := range row {
			text, _ := p.safe(c).(string)
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", width[i]-cellWidth(p, c)+2))
			}
		}
		p.out.WriteString(fitted(line.String(), p.columns))
		p.out.WriteByte('\n')
	}
}

func cellWidth(p *printer, c any) int {
	if s, ok := c.(style); ok {
		c = s.text
	}
	s, _ := p.safe(c).(string)
	return words.Width(s)
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
	if err := each(p, list, human); err != nil || failed == 0 {
		return err
	}
	return someFailed(first, failed, len(list), what)
}

// fields prints pairs of a name and a value, one on a line, without those whose value is "".
func (p *printer) fields(width int, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			p.field(width, pair[0], pair[1])
		}
	}
}

func (p *printer) field(width int, name, value string) {
	p.printf("  %s  %s\n", faint(fmt.Sprintf("%-*s", width, name)), value)
}

// hint shows how to mend what a result says.
func (p *printer) hint(h fault.Hint) {
	if !h.IsZero() {
		p.infof("rye: hint: %s", h)
	}
}

// next shows what people do next.
func (p *printer) next(h fault.Hint) {
	if !h.IsZero() {
		p.infof("next: %s", h)
	}
}

// statusMark is the word for a status, in the colour of an error or of none.
func statusMark(status, err string) style {
	if err != "" {
		return bad(status)
	}
	return good(status)
}

// failure is how an error looks under --json.
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
	showing(hint)
	exit := fault.Exit(err)
	switch {
	case p.json:
		line, _ := encode(failure{failureBody{fault.CodeOf(err), exit, message(err), hint}})
		if p.errs {
			line = escapeJSON(line)
		}
		p.err.Write(line)
	case wasPrinted(err) && p.quiet:
	default:
		p.errorf("rye: %s", message(err))
		if !hint.IsZero() {
			p.errorf("rye: hint: %s", hint)
		}
	}
	return exit
}

func message(err error) string {
	var of stopped
	if fault.Is(err, fault.Interrupt) && !errors.As(err, &of) {
		return "interrupted"
	}
	return err.Error()
}
