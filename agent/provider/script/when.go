package script

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/internal/words"
)

// The formats of requests, as conditions name them.
const (
	Anthropic = "anthropic" // Anthropic Messages
	OpenAI    = "openai"    // OpenAI Chat Completions; a Model is never asked in it
)

// when holds the conditions of an entry; all of them must hold.
type when struct {
	turn           int // 0 means any
	contains, last []string
	directive      *regexp.Regexp // its id, not as a part of a longer one; nil means any
	format, model  string
}

func readWhen(g *fields.Group) *when {
	if len(g.Names()) == 0 {
		g.Fail("", "states no condition; leave it out")
	}
	w := &when{turn: int(g.Whole("turn", 0, 1, 1_000_000)), contains: g.Texts("contains", true), last: g.Texts("last", true),
		format: g.OneOf("format", "", Anthropic, OpenAI), model: g.Text("model")}
	if slices.Contains(slices.Concat(w.contains, w.last), "") {
		g.Fail("", "contains and last: an empty text is in every prompt")
	}
	if id := g.Text("directive"); id != "" {
		w.directive = regexp.MustCompile(`(^|[^\w/.-])` + regexp.QuoteMeta(id) + `\.?([^\w/.-]|$)`) // a full stop ends a sentence
	}
	g.End()
	return w
}

// holds reports whether an entry answers a prompt.
func (w *when) holds(p *Prompt) bool {
	switch {
	case w.turn != 0 && w.turn != p.Turn(),
		w.format != "" && w.format != p.Format,
		w.model != "" && w.model != p.Model,
		w.directive != nil && !w.directive.MatchString(p.System) && !w.directive.MatchString(p.first()):
		return false
	}
	last := p.last()
	return !slices.ContainsFunc(w.last, func(s string) bool { return !last.contains(s) }) &&
		!slices.ContainsFunc(w.contains, func(s string) bool {
			return !strings.Contains(p.System, s) && !slices.ContainsFunc(p.Messages, func(m Message) bool { return m.contains(s) })
		})
}

// unanswered is the error for a prompt without an entry.
func (p *Prompt) unanswered() error {
	last := p.last()
	said := strconv.Quote(words.Brief(last.Text))
	for _, r := range last.Results {
		said += fmt.Sprintf(", result of %s %q", words.Brief(r.Name), words.Brief(r.Text))
	}
	return fmt.Errorf("the script has no answer for turn %d (model %s): %s", p.Turn(), words.Brief(p.Model), words.Clip(said, 1000))
}
