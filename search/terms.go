package search

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Terms of an index begin with a letter for their kind.
const (
	exactTerm = "=" // a word that differs from its stem, or several joined: readfile
	stemTerm  = "~" // a stem; for most words the word itself
	nextTerm  = "&" // two neighbours of a short field, joined: lockfile where the text says lock file
	wholeTerm = "#" // a name, title or id, squeezed into one word
	runsTerm  = "!runs"
)

// Unit is the resolution of frequencies: the value of a word that occurs once in a field of usual
// length and weight 1.
const Unit = 16

// Term is one term of a document with its frequency.
type Term struct {
	Text string
	N    uint32
}

// Analyzer returns the terms of documents. It is safe for concurrent use if Stem is.
type Analyzer struct {
	Stem    func(word string) string // stem of a folded word; nil: the word itself
	Weights Weights
}

// usual holds the usual length of fields, in words, and how strongly their length counts: a word in
// a long text says less than in a short one.
var usual = map[string]struct{ words, counts float64 }{
	"name":        {2, 0.3},
	"title":       {5, 0.3},
	"id":          {4, 0.3},
	"category":    {2, 0.3},
	"tags":        {4, 0.3},
	"description": {12, 0.3},
	"examples":    {40, 0.3}, // some questions
	Body:          {150, 0.5},
}

// Terms returns the terms of a document, sorted.
func (a *Analyzer) Terms(d *Doc) []Term {
	sum := map[string]float64{}
	for _, w := range a.Weights {
		a.addField(sum, w, d.field(w.Field))
	}
	for _, name := range d.wholes() {
		sum[wholeTerm+name] = 1
	}
	if d.Runs {
		sum[runsTerm] = 1
	}
	all := make([]Term, 0, len(sum))
	for text, n := range sum {
		all = append(all, Term{text, uint32(min(max(n*Unit+0.5, 1), 1<<16-1))})
	}
	slices.SortFunc(all, func(x, y Term) int { return strings.Compare(x.Text, y.Text) })
	return all
}

// addField adds the terms of one field.
func (a *Analyzer) addField(sum map[string]float64, w Weight, text string) {
	if text == "" {
		return
	}
	said, compounds, next := map[string]float64{}, map[string]float64{}, map[string]float64{}
	words, last := 0.0, ""
	scan(text, func(parts []part) bool {
		for _, p := range parts {
			words++
			said[p.text]++
			if w.Field != Body {
				if last != "" {
					a.neighbour(next, last, p.text)
				}
				last = p.text
			}
		}
		joined(parts, func(text string) { compounds[text]++ })
		return words < maxWords
	})
	n := a.terms(said, compounds)
	u, ok := usual[w.Field]
	if !ok {
		u = usual["description"]
	}
	norm := w.Weight / (1 - u.counts + u.counts*words/u.words)
	maps.Copy(n, next)
	for term, tf := range n {
		if w.Field == Body {
			tf = 1 + math.Log(tf) // long texts repeat their words
		}
		sum[term] += tf * norm
	}
}

// terms returns how often each term occurs. It stems each word once.
func (a *Analyzer) terms(said, compounds map[string]float64) map[string]float64 {
	n := make(map[string]float64, len(said)+len(compounds))
	for text, times := range compounds {
		n[exactTerm+text] += times
	}
	for word, times := range said {
		stem := a.stem(word)
		n[stemTerm+stem] += times
		if stem != word {
			n[exactTerm+word] += times
		}
	}
	return n
}

// maxWords bounds the searched words of one field.
const maxWords = 1 << 20

func (a *Analyzer) stem(word string) string {
	if a.Stem == nil || len(word) < 3 {
		return word
	}
	return a.Stem(word)
}

// wholes returns the names that a person may type in full.
func (d *Doc) wholes() (names []string) {
	_, id, _ := strings.Cut(d.ID, ":")
	last := id[strings.LastIndexByte(id, '/')+1:]
	for _, text := range []string{d.ID, id, last, d.field("name"), d.field("title")} {
		if s := squeeze(text); s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}
