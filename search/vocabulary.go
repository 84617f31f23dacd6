package search

import (
	"slices"
	"strings"
)

// Words are what is known of words of a language: data of the library, and of whoever adds to it.
type Words struct {
	Same     [][]string // forms of one word: write wrote written, kubernetes k8s
	Synonyms [][]string // words, and expressions of two or three, that mean about the same
	Common   []string   // that say little: the, how, please
	Weak     []string   // that say something, but not much: find, new, take
}

// maxSynonyms is how many words one word is looked up by beside itself.
const maxSynonyms = 24

// NewOptions makes what is known of words ready for use. It is meant to be kept.
func NewOptions(stem func(string) string, w Words) Options {
	v := vocabulary{stem: stem, o: Options{
		Stem: stem, Synonyms: map[string][]string{}, Same: map[string][]string{}, Phrases: map[string][]string{},
		Common: map[string]bool{}, Weak: map[string]bool{},
	}}
	for _, list := range w.Same {
		v.relate(v.o.Same, list)
	}
	for _, list := range w.Synonyms {
		v.relate(v.o.Synonyms, list)
	}
	for _, word := range w.Common {
		v.o.Common[fold1(word)] = true
	}
	for _, word := range w.Weak {
		v.o.Weak[v.key(word)] = true
	}
	v.share()
	return v.o
}

// vocabulary is one in the making.
type vocabulary struct {
	stem func(string) string
	o    Options
}

// key is what a word is looked up by: its stem.
func (v *vocabulary) key(word string) string {
	var keys []string
	scan(word, func(parts []part) bool {
		for _, p := range parts {
			keys = append(keys, stemOfWord(v.stem, p.text))
		}
		return true
	})
	return strings.Join(keys, " ")
}

// relate notes that each word of a list leads to the others. Expressions lead to words, and
// none leads to them: an item that has their words somewhere need not mean them.
func (v *vocabulary) relate(to map[string][]string, list []string) {
	for _, from := range list {
		key := v.key(from)
		m := to
		if strings.Contains(key, " ") {
			m = v.o.Phrases
		}
		for _, other := range list {
			if k := v.key(other); k != key && k != "" && !strings.Contains(k, " ") && len(m[key]) < maxSynonyms && !slices.Contains(m[key], k) {
				m[key] = append(m[key], k)
			}
		}
	}
}

// share gives all forms of one word the same synonyms, and the same weight.
func (v *vocabulary) share() {
	for key, forms := range v.o.Same {
		for _, f := range forms {
			for _, s := range v.o.Synonyms[f] {
				if s != key && len(v.o.Synonyms[key]) < maxSynonyms && !slices.Contains(v.o.Synonyms[key], s) && !slices.Contains(forms, s) {
					v.o.Synonyms[key] = append(v.o.Synonyms[key], s)
				}
			}
			if v.o.Weak[f] {
				v.o.Weak[key] = true
			}
		}
	}
}

// fold1 is a word as it is compared.
func fold1(word string) string { return squeeze(word) }

func stemOfWord(stem func(string) string, word string) string {
	if stem == nil || len(word) < 3 {
		return word
	}
	return stem(word)
}

// related looks a word up.
func related(m map[string][]string, word, stem string) []string {
	if list := m[stem]; list != nil {
		return list
	}
	return m[word]
}

// meanings adds what means the same as word i of a query, or about the same.
func (s *speller) meanings(g *group, q *Query, i int) {
	word := q.leaves[i].parts[0]
	stem := stemOfWord(s.o.Stem, word)
	g.weak = s.o.Weak[stem] || s.o.Weak[word]
	for _, w := range related(s.o.Same, word, stem) {
		g.add(stemTerm+w, byStem, "stem")
	}
	for _, w := range s.expression(q, i) {
		g.add(stemTerm+w, byExpression, "synonym")
	}
	for _, w := range related(s.o.Synonyms, word, stem) {
		g.add(stemTerm+w, bySynonym, "synonym")
	}
}

// expression returns what is meant by the two or three words of which word i is one.
func (s *speller) expression(q *Query, i int) (all []string) {
	for n := 2; n <= 3; n++ {
		for first := max(i-n+1, 0); first <= i && first+n <= len(q.leaves); first++ {
			key := ""
			for _, l := range q.leaves[first : first+n] {
				if len(l.parts) != 1 || l.phrase || l.wild || l.field != "" {
					key = ""
					break
				}
				key += " " + stemOfWord(s.o.Stem, l.parts[0])
			}
			if key != "" {
				all = append(all, s.o.Phrases[key[1:]]...)
			}
		}
	}
	return all
}
