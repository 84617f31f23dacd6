package search

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
)

// Read is Parse for text by people and models, and never fails. A text that Parse refuses is
// searched by its words, and Loose of the query says why.
func Read(s string, fields []string) *Query {
	q, err := Parse(s, fields)
	if err == nil {
		return q
	}
	return wordsOf([]said{{text: s}}, s, strings.TrimPrefix(err.Error(), "query: ")+"; the words of the query were searched")
}

// said is a part of a text whose words are searched.
type said struct {
	text  string
	aside bool // beside a quotation: the user says "…"
}

// quotation is the number of words from which on a phrase is what was asked, and the words beside
// it say who asked.
const quotation = 3

// wordsOf returns a query for the words of some texts, as if they stood side by side. It leaves out
// operators, and what is beyond the bounds of a query.
func wordsOf(texts []said, source, why string) *Query {
	var list []*leaf
	left := MaxQuery
	for _, t := range texts {
		text := cut(t.text, left)
		left -= len(text)
		scan(text, func(parts []part) bool {
			switch text[parts[0].start:parts[len(parts)-1].end] {
			case "AND", "OR", "NOT":
				return true
			}
			var words []string
			for _, p := range parts {
				words = append(words, p.text)
			}
			list = append(list, (&leaf{aside: t.aside}).split([][]string{words})...)
			return true
		})
	}
	if len(list) > MaxTerms {
		list = eachOnce(list)
	}
	q := &Query{Text: cut(source, MaxQuery), Loose: why, leaves: list}
	var m mixed
	for i, l := range list {
		l.at = i
		m.words = append(m.words, l)
	}
	if q.root = m; len(m.words) == 1 {
		q.root = m.words[0]
	}
	return q
}

// eachOnce returns the first words, as many as a query may have, without repeated ones.
func eachOnce(list []*leaf) (kept []*leaf) {
	had := map[string]bool{}
	for _, l := range list {
		if !had[l.text] && len(kept) < MaxTerms {
			had[l.text], kept = true, append(kept, l)
		}
	}
	return kept
}

// cut returns the first bytes of a text, whole characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// Find is Rank for text by people and models: quotes, parentheses, operators, fields and patterns
// hold as long as they find something. Else the words of the query are searched, without those
// below NOT, and Loose of the ranking says why.
func (q *Query) Find(ctx context.Context, layers []Layer, o Options) (*Ranking, error) {
	r, err := q.Rank(ctx, layers, o)
	if err == nil {
		r.Loose = q.Loose
	}
	why := "nothing matches the query as it is written; its words were searched"
	switch {
	case ctx.Err() != nil || q.Loose != "" || !q.strict():
		return r, err
	case err == nil && r.Total > 0:
		return r, nil
	case fault.Is(err, fault.Limit):
		why = strings.TrimPrefix(err.Error(), "query: ") + "; the words of the query were searched"
	case err != nil:
		return nil, err
	}
	var texts []said
	quoted := slices.ContainsFunc(q.leaves, func(l *leaf) bool { return l.phrase && len(l.parts) >= quotation })
	for _, l := range q.leaves {
		if !l.never {
			texts = append(texts, said{l.text, quoted && !l.phrase})
		}
	}
	loose, lerr := wordsOf(texts, q.Text, why).Rank(ctx, layers, o)
	if lerr != nil || loose.Total == 0 && err == nil {
		return r, lerr
	}
	loose.Loose = why
	return loose, nil
}

// Fielded reports whether a query names a field.
func (q *Query) Fielded() bool {
	return slices.ContainsFunc(q.leaves, func(l *leaf) bool { return l.field != "" })
}

// strict reports whether a query asks for more than its words.
func (q *Query) strict() bool {
	for _, l := range q.leaves {
		if l.wild || l.fuzzy > 0 {
			return true
		}
	}
	return q.root != nil && !plain(q.root)
}
