package search

import "strings"

// Compounds are written as one word or as two: lockfile and lock file. Short fields of an index
// have every two neighbours joined. A query's word is split where config:rye/search lists it, or,
// where no item has it or a similar one, into two words that items have.

// leastHalf is the length of the parts into which an unlisted word is split.
const leastHalf = 3

// bySplit is the weight of the parts of a split word, of which a document must have both.
const bySplit = 0.6

// byPart is the weight of a listed compound for one of its parts: lockfile for lock.
const byPart = 0.2

// neighbour appends the joined form of a word and the one before it, with the ending that its
// stem has not, too.
func (a *Analyzer) neighbour(n map[string]float64, last, word string) {
	if len(last) < 2 || len(word) < 2 || len(last)+len(word) > maxWord {
		return
	}
	n[nextTerm+last+word]++
	if stem := a.stem(word); stem != word {
		n[nextTerm+last+stem]++
	}
}

// compounds adds what a word is when it is written as two, and the listed compounds that it is a
// part of.
func (s *speller) compounds(g *group, word string) {
	g.add(nextTerm+word, byJoined, "joined")
	for _, key := range []string{word, stemOfWord(s.o.Stem, word)} {
		for _, other := range s.o.Words.of(compound, key) {
			if a, b, both := strings.Cut(other, "+"); both {
				g.add(nextTerm+a+b, byJoined, "joined")
				g.addBoth(stemTerm+a, stemTerm+b, bySplit)
			} else {
				g.add(stemTerm+other, byPart, "part")
			}
		}
	}
}

// halves splits a word that nothing resembles into two that items have, at the place that makes the shorter one
// longest.
func (s *speller) halves(g *group, word string) error {
	best := -1
	for i := leastHalf; i <= len(word)-leastHalf; i++ {
		a, b := word[:i], word[i:]
		if !ascii(word) || s.o.Words.saysLittle(a) || s.o.Words.saysLittle(b) || best >= 0 && min(i, len(word)-i) <= min(best, len(word)-best) {
			continue
		}
		for n, half := range []string{a, b} {
			known, err := s.known([]form{{term: stemTerm + stemOfWord(s.o.Stem, half)}})
			if err != nil {
				return err
			}
			if !known {
				break
			}
			if n == 1 {
				best = i
			}
		}
	}
	if best < 0 {
		return nil
	}
	a, b := stemTerm+stemOfWord(s.o.Stem, word[:best]), stemTerm+stemOfWord(s.o.Stem, word[best:])
	g.addBoth(a, b, bySplit)
	return nil
}

// addBoth adds a form of two terms, of which a document must have both.
func (g *group) addBoth(a, b string, weight float64) {
	if len(g.forms) < maxForms {
		g.forms = append(g.forms, form{a, "split", weight, b})
	}
}

// matches visits the visible documents with a form. Of two terms the rarer in a document counts.
func (g *ground) matches(f form, visit func(d int, n uint32)) error {
	if f.also == "" {
		return g.postings(f.term, visit)
	}
	has := map[int]uint32{}
	if err := g.postings(f.term, func(d int, n uint32) { has[d] = n }); err != nil || len(has) == 0 {
		return err
	}
	return g.postings(f.also, func(d int, n uint32) {
		if m, ok := has[d]; ok {
			visit(d, min(m, n))
		}
	})
}

// shown returns a form as people read it.
func (f form) shown() string {
	if f.also == "" {
		return f.term[1:]
	}
	return f.term[1:] + " " + f.also[1:]
}

// compose learns a compound of two words, both ways.
func (v *learner) compose(text string) {
	var words []string
	scan(text, func(parts []part) bool {
		for _, p := range parts {
			words = append(words, p.text)
		}
		return len(words) < 3
	})
	if len(words) != 2 {
		return
	}
	whole := stemOfWord(v.stem, words[0]+words[1])
	a, b := stemOfWord(v.stem, words[0]), stemOfWord(v.stem, words[1])
	v.compounds[whole] = append(v.compounds[whole], a+"+"+b)
	for _, half := range []string{a, b} {
		if len(v.compounds[half]) < maxSynonyms {
			v.compounds[half] = append(v.compounds[half], whole)
		}
	}
}
