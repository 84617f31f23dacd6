package look

import (
	"bytes"
	"errors"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Unreadable describes why a working file is no item at all.
func Unreadable(l *space.Layer, ref objects.Ref, err error) []rye.Mistake {
	var syntax *objects.SyntaxError
	if !errors.As(err, &syntax) {
		return nil
	}
	m := rye.Mistake{Path: ".ai/" + syntax.Path, Line: syntax.Line, Column: syntax.Column, Rule: syntax.Msg, Mend: fault.HintOf(err).String()}
	if rest, ok := strings.CutPrefix(m.Rule, "field "); ok {
		if name, rule, ok := strings.Cut(rest, ": "); ok {
			m.Field, m.Rule = name, rule
		}
	}
	if p, err := l.Locate(ref); err == nil && p == syntax.Path {
		if raw, err := l.Read(p); err == nil {
			m.Text = lineOf(raw, m.Line)
		}
	}
	return []rye.Mistake{m}
}

// Invalid describes what the rules of its kind have against an item.
func Invalid(it *objects.Item, problems []objects.Problem) []rye.Mistake {
	var all []rye.Mistake
	for _, p := range problems {
		all = append(all, rye.Mistake{
			Path: ".ai/" + it.Path, Line: p.Line, Column: p.Column, Field: p.Field, Rule: p.Rule, Mend: p.Mend,
			Text: lineOf(it.Raw, p.Line),
		})
	}
	return all
}

// lineOf returns a line of a file, clipped; "" when there is none.
func lineOf(raw []byte, n int) string {
	if n < 1 {
		return ""
	}
	for line := range bytes.Lines(raw) {
		if n--; n == 0 {
			return words.Clip(strings.ToValidUTF8(string(bytes.TrimRight(line, "\r\n")), "\ufffd"), 120)
		}
	}
	return ""
}
