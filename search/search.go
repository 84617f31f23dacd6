// Package search finds items by what they say about themselves: it parses a query
// and ranks documents against it. It reads nothing; callers hand it the catalogue.
//
// The query language is RYE OS's: words, "phrases", prefix* and wild*card,
// field:word, AND, OR, NOT and parentheses; words side by side mean AND. The empty
// query and "*" match everything. Words match inside words, ignoring case.
package search

import (
	"sort"
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
	for _, t := range d.More {
		if t.Name == name {
			return t.Value
		}
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
		t.fill(&docs[i])
		if !q.root.match(t) {
			continue
		}
		found = append(found, score(q, t, i))
	}
	sort.SliceStable(found, func(a, b int) bool {
		x, y := found[a], found[b]
		switch {
		case x.Score != y.Score:
			return x.Score > y.Score
		case docs[x.Index].Rank != docs[y.Index].Rank:
			return docs[x.Index].Rank < docs[y.Index].Rank
		}
		return docs[x.Index].ID < docs[y.Index].ID
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
		for _, w := range strings.FieldsFunc(s, notWord) {
			if glob(t.word, w) {
				return 1
			}
		}
		return 0
	}
	at := 0.0
	for i := strings.Index(s, t.word); i >= 0; {
		end := i + len(t.word)
		if (i == 0 || notWord(rune(s[i-1]))) && (end == len(s) || notWord(rune(s[end]))) {
			return 1
		}
		at = 0.5
		next := strings.Index(s[i+1:], t.word)
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return at
}

func (t term) match(x *text) bool {
	for i := range x.fields {
		if t.in(&x.fields[i]) > 0 {
			return true
		}
	}
	return false
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
