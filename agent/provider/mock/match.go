package mock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// matches reports whether an entry answers a prompt.
func (w *when) matches(p *prompt) bool {
	switch {
	case w.turn != 0 && w.turn != p.turn(),
		w.format != "" && w.format != p.format,
		w.model != "" && w.model != p.model,
		w.digest != "" && w.digest != p.digest,
		w.directive != "" && !namesDirective(p.system, w.directive) && !namesDirective(p.first(), w.directive):
		return false
	}
	last := p.last()
	for _, s := range w.last {
		if !strings.Contains(last.text, s) && !slices.ContainsFunc(last.results, func(r result) bool { return strings.Contains(r.text, s) }) {
			return false
		}
	}
	return !slices.ContainsFunc(w.contains, func(s string) bool { return !p.contains(s) })
}

// contains reports whether a text is in the system text, a message or a result.
func (p *prompt) contains(s string) bool {
	return strings.Contains(p.system, s) || slices.ContainsFunc(p.messages, func(m message) bool {
		return strings.Contains(m.text, s) || slices.ContainsFunc(m.results, func(r result) bool { return strings.Contains(r.text, s) })
	})
}

// namesDirective reports whether text contains id, not as a part of a longer id. A full stop after
// it ends a sentence.
func namesDirective(text, id string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], id)
		if i < 0 {
			return false
		}
		i += from
		before, after := text[:i], strings.TrimPrefix(text[i+len(id):], ".")
		if (before == "" || !idByte(before[len(before)-1])) && (after == "" || !idByte(after[0])) {
			return true
		}
		from = i + 1
	}
}

func idByte(c byte) bool {
	return c == '_' || c == '-' || c == '/' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// String describes the conditions of an entry.
func (w *when) String() string {
	var parts []string
	if w.turn != 0 {
		parts = append(parts, "turn "+strconv.Itoa(w.turn))
	}
	for _, c := range []struct {
		name   string
		values []string
	}{
		{"contains", w.contains}, {"last", w.last}, {"directive", []string{w.directive}}, {"digest", []string{w.digest}},
		{"format", []string{w.format}}, {"model", []string{w.model}},
	} {
		for _, v := range c.values {
			if v != "" {
				parts = append(parts, fmt.Sprintf("%s %q", c.name, words.Brief(v)))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// nothing returns the refusal for a prompt without an entry. It lists the prompt and the entries.
func (s *Script) nothing(p *prompt) *refusal {
	var has []string
	for i := range s.turns {
		if i == 20 {
			has = append(has, fmt.Sprintf("and %d more", len(s.turns)-i))
			break
		}
		has = append(has, s.turns[i].path+" ("+s.turns[i].when.String()+")")
	}
	asked := p.last()
	said := strconv.Quote(words.Brief(asked.text))
	for _, r := range asked.results {
		said += fmt.Sprintf(", result of %s %q", words.Brief(r.name), words.Brief(r.text))
	}
	return invalidRequest("the script of the mock model has no answer for turn %d (format %s, model %s, digest %s): %s; it has %s",
		p.turn(), p.format, words.Brief(p.model), p.digest, words.Clip(said, 1000), strings.Join(has, "; "))
}
