package search

import (
	"math"
	"slices"
	"strings"
)

// Terms of an index begin with a letter that says what they are.
const (
	exactTerm = "=" // a word that is not its own stem, or several as one: readfile
	stemTerm  = "~" // a stem; of most words the word itself
	wholeTerm = "#" // a name, a title or an id, squeezed into one word
	runsTerm  = "!runs"
)

// Unit is how finely frequencies are told apart: a word that stands once in a field of usual
// length and of weight 1 counts so much.
const Unit = 16

// Term is one term of a document, and how much of it there is.
type Term struct {
	Text string
	N    uint32
}

// Analyzer says which terms a document has. It is safe for concurrent use if Stem is.
type Analyzer struct {
	Stem    func(word string) string // of a folded word; nil is the word
	Weights Weights
}

// usual are the lengths of fields, in words, that are neither long nor short, and how much
// their length counts: of a long text a word says less than of a short one.
var usual = map[string]struct{ words, counts float64 }{
	"name":        {2, 0.3},
	"title":       {5, 0.3},
	"id":          {4, 0.3},
	"category":    {2, 0.3},
	"tags":        {4, 0.3},
	"description": {12, 0.3},
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

// addField adds what one field has.
func (a *Analyzer) addField(sum map[string]float64, w Weight, text string) {
	if text == "" {
		return
	}
	said, compounds := map[string]float64{}, map[string]float64{}
	words := 0.0
	scan(text, func(parts []part) bool {
		for _, p := range parts {
			words++
			said[p.text]++
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
	for term, tf := range n {
		if w.Field == Body {
			tf = 1 + math.Log(tf) // a long text says its words again and again
		}
		sum[term] += tf * norm
	}
}

// terms says how often each term occurs. A word is stemmed once, however often it is said.
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

// maxWords is how many words of one field are searched.
const maxWords = 1 << 20

func (a *Analyzer) stem(word string) string {
	if a.Stem == nil || len(word) < 3 {
		return word
	}
	return a.Stem(word)
}

// wholes are the names that a person may type in full.
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
