package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// editsOf returns how many typing errors a word may have.
func editsOf(word string) int {
	switch n := len(word); {
	case n < 4:
		return 0
	case n < 7:
		return 1
	}
	return 2
}

// maxNear bounds the words that replace an unknown one. maxNearby bounds the words that are checked
// for occurrence in visible documents.
const (
	maxNear   = 16
	maxNearby = 400
)

// near adds the words with the fewest edits from word, or that contain it.
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
		if known { // a word that occurs only in hidden items must not show
			g.add(f.term, byNear/float64(max(f.cost, 1)), kind)
			g.near = kind == "near"
		}
		if len(g.forms) >= maxNear {
			break
		}
	}
	return nil
}

// lettersOf returns the set of letters in a word, which rules out most words quickly.
func lettersOf(word string) (set uint32) {
	for i := range len(word) {
		set |= 1 << (word[i] & 31)
	}
	return set
}

// missing returns a lower bound of the edits between two sets of letters.
func missing(a, b uint32) int {
	return max(bits.OnesCount32(a&^b), bits.OnesCount32(b&^a))
}

// maxNearest bounds the shown replacement words.
const maxNearest = 5

// nameNearest lists the words that replaced unknown ones, as items spell them, because an index
// holds stems.
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

// spelled returns the shortest word with this stem in the first visible item that has one; "" if
// there is none.
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

// distance returns how many letters to add, remove, change or swap with a neighbour to turn a into
// b; most+1 if there are more than most.
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
