package search

import (
	"math"
	"math/bits"
	"strings"
)

// looked is how many of the best hits are scored again by their names, titles and descriptions. It
// does not depend on the number of requested hits, so a page is the same wherever it ends.
const looked = 50

// A second look raises scores and never lowers them.
const (
	byFit  = 0.4 // the query has all words of a title
	byPair = 0.2 // any two words of the query are neighbours in the item
	byAim  = 0.2 // the item has a kind that the form of the question asks for
)

// Again holds the results of the second look.
type Again struct {
	Fit   float64 // increase because the query has a title's words
	Pairs float64 // increase because words are neighbours in both
	Aim   float64 // increase because of the item's kind
}

func (a Again) times() float64 { return (1 + a.Fit) * (1 + a.Pairs) * (1 + a.Aim) }

// lookAgain raises the scores of the best hits by their names, titles and descriptions.
func (r *ranking) lookAgain(q *Query) error {
	s := sight{r: r, words: map[string]int{}, aim: q.aim()}
	for i, g := range r.groups {
		if g.common || g.never || g.docs == 0 { // its forms do not count: they may occur only in hidden items
			continue
		}
		for _, f := range g.forms {
			for _, term := range []string{f.term, f.also} {
				if _, ok := s.words[term]; !ok && term != "" {
					s.words[term] = len(s.weights)
				}
			}
		}
		s.weights = append(s.weights, r.groups[i].weight)
		s.total += r.groups[i].weight
	}
	if len(s.weights) < 2 || s.total == 0 {
		return nil
	}
	for i := range r.out.Hits[:min(len(r.out.Hits), looked)] {
		h := &r.out.Hits[i]
		doc, err := r.head(h)
		if err != nil {
			return err
		}
		a := s.at(doc)
		h.Score = rounded(h.Score * a.times())
		if h.Why != nil {
			h.Why.Again = a
		}
	}
	return nil
}

// rounded returns a score as shown. Smaller differences make no difference.
func rounded(score float64) float64 {
	return math.Round(min(max(score, 1e-4), 1)*1e6) / 1e6
}

// sight holds the query's words for the second look, without common ones, in order.
type sight struct {
	r       *ranking
	words   map[string]int // by term: index of its word
	weights []float64
	total   float64
	aim     string
}

func (s *sight) word(text string) (int, bool) {
	if n, ok := s.words[exactTerm+text]; ok {
		return n, true
	}
	n, ok := s.words[stemTerm+stemOfWord(s.r.o.Stem, text)]
	return n, ok
}

// at scores one item.
func (s *sight) at(d *Doc) (a Again) {
	var has, pairs uint64
	fit := 0.0
	for _, f := range d.Fields {
		if f.Name != "name" && f.Name != "title" && f.Name != "description" {
			continue
		}
		share := s.read(f.Value, &has, &pairs)
		if f.Name != "description" {
			fit = max(fit, share)
		}
	}
	cover := 0.0
	for n, w := range s.weights {
		if has&(1<<(n%64)) != 0 {
			cover += w
		}
	}
	a.Fit = byFit * fit * cover / s.total
	a.Pairs = byPair * float64(bits.OnesCount64(pairs)) / float64(len(s.weights)-1)
	if kind, _, _ := strings.Cut(d.ID, ":"); strings.Contains(s.aim, kind) {
		a.Aim = byAim
	}
	return a
}

// read marks the query's words in a text, and neighbours among them. It returns their share of all
// words in the text.
func (s *sight) read(text string, has, pairs *uint64) float64 {
	words, found, last := 0, 0, -2
	scan(text, func(parts []part) bool {
		for _, p := range parts {
			if s.r.o.Words.saysLittle(p.text) {
				continue
			}
			words++
			n, ok := s.word(p.text)
			if !ok {
				continue
			}
			found++
			*has |= 1 << (n % 64)
			if last == n-1 || last == n+1 {
				*pairs |= 1 << (min(last, n) % 64)
			}
			last = n
		}
		return words < 64
	})
	if words == 0 {
		return 0
	}
	return float64(found) / float64(words)
}

// aim returns the kinds of items that the form of a question asks for. A question with what, why or
// which asks for knowledge; a command asks for an item that carries it out.
func (q *Query) aim() string {
	if len(q.leaves) < 3 || !plain(q.root) {
		return ""
	}
	switch first := q.leaves[0].parts[0]; first {
	case "what", "why", "which", "when", "who", "whom", "whose", "where", "until",
		"is", "are", "can", "may", "does", "do", "must", "should":
		return "knowledge"
	case "steps", "i", "we", "my", "our":
		return "knowledge directive"
	case "how":
		switch q.leaves[1].parts[0] {
		case "do", "to", "can", "should", "does", "is":
			return "knowledge directive"
		}
		return "knowledge"
	}
	return "tool directive"
}
