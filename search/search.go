// Package search finds items by what they say about themselves: it parses a query
// and ranks documents against it. It reads nothing; callers hand it the catalogue.
//
// The query language is RYE OS's: words, "phrases", prefix* and wild*card,
// field:word, AND, OR, NOT and parentheses; words side by side mean AND. The empty
// query and "*" match everything. Words match inside words, ignoring case.
package search

import (
	"cmp"
	"slices"
	"strings"
)

// Doc is one item as the catalogue knows it. ID breaks ties, so that equal
// scores always come in the same order.
type Doc struct {
	ID          string // kind:id
	Name        string
	Title       string
	Description string
	Category    string
	Tags        []string
	More        []Text // further fields, asked for by an extractor
	Rank        int    // lower sorts first among equals: the space
	Weights     Weights
}

// Text is a field beyond those that every document has.
type Text struct{ Name, Value string }

// Weights say how much a hit in each field counts, heaviest first. They come from
// extractor items (docs/format/extractor.md). A field without a weight is not
// searched.
type Weights []Weight

// Weight is a field and how much it counts: above 0.
type Weight struct {
	Field  string
	Weight float64
}

// standard are the fields that every document has.
var standard = []string{"name", "title", "description", "tags", "category", "id"}

// text returns the field of that name, "" when the document has none.
func (d *Doc) text(name string) string {
	switch name {
	case "name":
		return d.Name
	case "title":
		return d.Title
	case "description":
		return d.Description
	case "tags":
		return strings.Join(d.Tags, " ")
	case "category":
		return d.Category
	case "id":
		return d.ID
	}
	if i := slices.IndexFunc(d.More, func(t Text) bool { return t.Name == name }); i >= 0 {
		return d.More[i].Value
	}
	return ""
}

// Match is a document that satisfies a query. Score is above 0 and at most 1.
type Match struct {
	Index  int // into the documents handed to Rank
	Score  float64
	Fields []string // the fields that matched, best first
}

// Rank returns the documents that satisfy q, best first.
func Rank(q Query, docs []Doc) []Match {
	var found []Match
	t := &text{}
	for i := range docs {
		if t.fill(&docs[i]); q.root.match(t) {
			found = append(found, score(q, t, i))
		}
	}
	slices.SortStableFunc(found, func(x, y Match) int {
		a, b := &docs[x.Index], &docs[y.Index]
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(a.Rank, b.Rank), strings.Compare(a.ID, b.ID))
	})
	return found
}

// score is the weight of the fields that hold the query's words, as a share of all
// weight; a whole word counts twice a part of one.
func score(q Query, t *text, index int) Match {
	m := Match{Index: index, Score: 1}
	if len(q.terms) == 0 {
		return m
	}
	var sum, all float64
	for i := range t.fields {
		f := &t.fields[i]
		all += f.weight
		best := 0.0
		for _, term := range q.terms {
			best += term.in(f)
		}
		best /= float64(len(q.terms))
		if best > 0 {
			sum += f.weight * best
			m.Fields = append(m.Fields, f.name)
		}
	}
	m.Score = 0.0001 // a match by NOT alone still is one
	if all > 0 {
		m.Score = max(sum/all, m.Score)
	}
	return m
}

// text is what is searched of a document, folded to lower case once.
type text struct{ fields []field }

type field struct {
	name, text string
	weight     float64
}

// fill makes t the text of another document.
func (t *text) fill(d *Doc) {
	t.fields = t.fields[:0]
	for _, w := range d.Weights {
		t.fields = append(t.fields, field{w.Field, strings.ToLower(d.text(w.Field)), w.Weight})
	}
}

// term is one word, phrase or wildcard, in any field or in one.
type term struct {
	word  string // lower case; may hold * when wild
	wild  bool
	field string // "" for any
}

// in returns 1 when the term is a whole word of the field, 0.5 when it is part of
// one, and 0 otherwise.
func (t term) in(f *field) float64 {
	s := f.text
	if t.field != "" && t.field != f.name || s == "" {
		return 0
	}
	if t.wild {
		if slices.ContainsFunc(strings.FieldsFunc(s, notWord), func(w string) bool { return glob(t.word, w) }) {
			return 1
		}
		return 0
	}
	at := 0.0
	for from := 0; ; {
		i := strings.Index(s[from:], t.word)
		if i < 0 {
			return at
		}
		i += from
		end := i + len(t.word)
		if (i == 0 || notWord(rune(s[i-1]))) && (end == len(s) || notWord(rune(s[end]))) {
			return 1
		}
		at, from = 0.5, i+1
	}
}

func (t term) match(x *text) bool {
	return slices.ContainsFunc(x.fields, func(f field) bool { return t.in(&f) > 0 })
}

// notWord separates words. Bytes above ASCII are parts of words.
func notWord(c rune) bool {
	return c < 0x80 && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
}

// glob matches s against a pattern in which * stands for any text.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[last])
}
