package search

import (
	"slices"
	"strings"
)

// Words is knowledge about a language's words: data from the library and from the user's items.
type Words struct {
	Same      [][]string // forms of one word: write wrote written, kubernetes k8s
	Synonyms  [][]string // words, and expressions of two or three, with about the same meaning
	Common    []string   // words without meaning of their own: the, how, please
	Weak      []string   // words with little meaning: find, new, take
	Compounds []string   // two words that are written as one, too: lock file
}

// maxSynonyms bounds the synonyms of one word.
const maxSynonyms = 24

// NewVocabulary prepares words for use. The result is meant to be kept.
func NewVocabulary(stem func(string) string, w Words) *Vocabulary {
	v := learner{stem: stem, same: map[string][]string{}, synonyms: map[string][]string{}, phrases: map[string][]string{},
		compounds: map[string][]string{}, common: map[string]bool{}, weak: map[string]bool{}}
	for _, list := range w.Same {
		v.relate(v.same, list)
	}
	for _, list := range w.Synonyms {
		v.relate(v.synonyms, list)
	}
	for _, word := range w.Common {
		v.common[squeeze(word)] = true
	}
	for _, word := range w.Weak {
		v.weak[v.key(word)] = true
	}
	for _, text := range w.Compounds {
		v.compose(text)
	}
	v.share()
	return v.vocabulary()
}

// learner is a vocabulary under construction.
type learner struct {
	stem                    func(string) string
	same, synonyms, phrases map[string][]string
	compounds               map[string][]string
	common, weak            map[string]bool
}

// key returns the stem of a word, by which it is looked up.
func (v *learner) key(word string) string {
	var keys []string
	scan(word, func(parts []part) bool {
		for _, p := range parts {
			keys = append(keys, stemOfWord(v.stem, p.text))
		}
		return true
	})
	return strings.Join(keys, " ")
}

// relate connects each word of a list with the others. Expressions lead to words, but never the
// other way: an item with their words anywhere need not mean them.
func (v *learner) relate(to map[string][]string, list []string) {
	for _, from := range list {
		key := v.key(from)
		m := to
		if strings.Contains(key, " ") {
			m = v.phrases
		}
		for _, other := range list {
			if k := v.key(other); k != key && k != "" && !strings.Contains(k, " ") && len(m[key]) < maxSynonyms && !slices.Contains(m[key], k) {
				m[key] = append(m[key], k)
			}
		}
	}
}

// share gives all forms of one word the same synonyms and the same weight.
func (v *learner) share() {
	for key, forms := range v.same {
		for _, f := range forms {
			for _, s := range v.synonyms[f] {
				if s != key && len(v.synonyms[key]) < maxSynonyms && !slices.Contains(v.synonyms[key], s) && !slices.Contains(forms, s) {
					v.synonyms[key] = append(v.synonyms[key], s)
				}
			}
			if v.weak[f] {
				v.weak[key] = true
			}
		}
	}
}

func stemOfWord(stem func(string) string, word string) string {
	if stem == nil || len(word) < 3 {
		return word
	}
	return stem(word)
}

// meanings adds words with the same meaning as word i of a query, or about the same.
func (s *speller) meanings(g *group, q *Query, i int) {
	word := q.leaves[i].parts[0]
	stem := stemOfWord(s.o.Stem, word)
	v := s.o.Words
	g.weak = v.has(weakWord, stem) || v.has(weakWord, word)
	for _, w := range v.either(sameWord, stem, word) {
		g.add(stemTerm+w, byStem, "stem")
	}
	for _, w := range s.expression(q, i) {
		g.add(stemTerm+w, byExpression, "synonym")
	}
	for _, w := range v.either(synonym, stem, word) {
		g.add(stemTerm+w, bySynonym, "synonym")
	}
}

// expression returns the synonyms of expressions of two or three words that contain word i.
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
				all = append(all, s.o.Words.of(phrase, key[1:])...)
			}
		}
	}
	return all
}
