package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// editsOf is how many mistakes a word may have.
func editsOf(word string) int {
	switch n := len(word); {
	case n < 4:
		return 0
	case n < 7:
		return 1
	}
	return 2
}

// maxNear is how many words are taken for one that occurs nowhere, and maxNearby how many are
// looked at for those that stand in visible documents.
const (
	maxNear   = 16
	maxNearby = 400
)

// near adds the words that are the fewest mistakes away, or that have word in them.
func (s *speller) near(g *group, word string, edits int, kind string) error {
	type found struct {
		term string
		cost int
	}
	var all []found
	letters, infix := lettersOf(word), kind == "near" && len(word) >= leastTyped
	err := s.dictionary("", func(term string) {
		t := term[1:]
		cost, its := edits+1, lettersOf(t)
		if d := len(t) - len(word); d <= edits && -d <= edits && missing(letters, its) <= edits {
			cost = distance(word, t, edits)
		}
		if cost > edits && infix && len(t) > len(word) && letters&^its == 0 && strings.Contains(t, word) {
			cost = edits
		}
		if cost <= edits {
			all = append(all, found{term, cost})
		}
	})
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(a.cost-b.cost, shorter(a.term, b.term)) })
	all = slices.Compact(all)
	if err != nil {
		return err
	}
	for _, f := range all[:min(len(all), maxNearby)] {
		known, err := s.known([]form{{term: f.term}})
		if err != nil {
			return err
		}
		if known { // a word that only what nobody may see says is not told
			g.add(f.term, byNear/float64(max(f.cost, 1)), kind)
			g.near = kind == "near"
		}
		if len(g.forms) >= maxNear {
			break
		}
	}
	return nil
}

// lettersOf is which letters a word has: what tells most words apart without looking closer.
func lettersOf(word string) (set uint32) {
	for i := range len(word) {
		set |= 1 << (word[i] & 31)
	}
	return set
}

// missing is how many letters are in one and not in the other, at least: each costs an edit.
func missing(a, b uint32) int {
	return max(bits.OnesCount32(a&^b), bits.OnesCount32(b&^a))
}

// maxNearest is how many words are shown that were taken for others.
const maxNearest = 5

// nameNearest says which words were taken for those that occur nowhere, as items spell them:
// an index holds stems.
func (r *ranking) nameNearest() error {
	for _, g := range r.groups {
		for _, f := range g.forms {
			if f.kind != "near" || len(r.out.Nearest) >= maxNearest {
				continue
			}
			word, err := r.spelled(f.term)
			if err != nil {
				return err
			}
			if word != "" && !slices.Contains(r.out.Nearest, word) {
				r.out.Nearest = append(r.out.Nearest, word)
			}
		}
	}
	return nil
}

// spelled returns a word of which a term is the form, as the first item has it in its lowest
// letters; "" where no visible item has one.
func (g *ground) spelled(term string) (string, error) {
	if term[:1] == exactTerm {
		return term[1:], nil
	}
	first := -1
	if err := g.postings(term, func(d int, _ uint32) {
		if first < 0 {
			first = d
		}
	}); err != nil || first < 0 {
		return "", err
	}
	at := g.at(first)
	d, err := g.layers[at.layer].Doc(at.doc)
	if err != nil {
		return "", err
	}
	word := ""
	for _, text := range append(d.texts(), d.Body) {
		scan(text, func(parts []part) bool {
			for _, p := range parts {
				if stemOfWord(g.o.Stem, p.text) == term[1:] && (word == "" || shorter(p.text, word) < 0) {
					word = p.text
				}
			}
			return word == ""
		})
		if word != "" {
			break
		}
	}
	return cmp.Or(word, term[1:]), nil
}

func (d *Doc) texts() (all []string) {
	for _, f := range d.Fields {
		all = append(all, f.Value)
	}
	return all
}

// distance is how many letters were added, left out, changed or exchanged with their neighbour
// on the way from a to b; more than most is most+1.
func distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	var rows [3][maxWord + 8]int
	if len(b) >= len(rows[0]) {
		return most + 1
	}
	before, last, now := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			v := min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				v = min(v, before[j-2]+1)
			}
			now[j] = v
			least = min(least, v)
		}
		if least > most {
			return most + 1
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
