package look

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Problems returns the reasons why an item of the space cannot be signed there. They are
// violations of the rules of its kind, and of the space's extractors. An extractor is checked
// only against the format of extractors, and not by other extractors: so a broken one can
// always be fixed.
func Problems(ctx context.Context, s *session.Session, in objects.Space, it *objects.Item) ([]objects.Problem, error) {
	have := it.Validate()
	if _, is := extract.KindOf(it.Ref); is {
		return extract.Merge(have, extract.Check(it)), nil
	}
	set, err := s.Stack.Extractors(ctx, in)
	if err != nil {
		return have, err
	}
	return extract.Merge(have, set.For(it.Ref.Kind).Validate(it)), nil
}

// mistakes returns the problems of a working item of the project or the user; nothing for
// other people's items, which cannot be fixed here.
func mistakes(ctx context.Context, s *session.Session, f space.Finding) []rye.Mistake {
	if f.Item == nil || f.Space == objects.System || f.Registry != "" {
		return nil
	}
	problems, _ := Problems(ctx, s, f.Space, f.Item) // unusable extractors are reported once
	return Invalid(f.Item, problems)
}

// Invalid describes an item's problems for the person who wrote it.
func Invalid(it *objects.Item, problems []objects.Problem) []rye.Mistake {
	var all []rye.Mistake
	for _, p := range problems {
		all = append(all, rye.Mistake{Path: ".ai/" + it.Path, Line: p.Line, Column: p.Column, Field: p.Field, Rule: p.Rule, Mend: p.Mend,
			Text: lineOf(it.Raw, p.Line)})
	}
	return all
}

// Unreadable describes why a working file is no item; nil when err is no syntax error.
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

// clipped is the number of shown bytes of a line.
const clipped = 120

// lineOf returns a line of a file, clipped; "" when there is none.
func lineOf(raw []byte, n int) string {
	if n < 1 {
		return ""
	}
	for line := range bytes.Lines(raw) {
		if n--; n == 0 {
			line = bytes.TrimRight(line, "\r\n")
			line = line[:min(len(line), 4*clipped+1)] // so that the clipped beginning does not hold a line of megabytes
			return words.Clip(strings.ToValidUTF8(string(line), "\ufffd"), clipped)
		}
	}
	return ""
}
