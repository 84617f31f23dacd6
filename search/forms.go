package search

import (
	"slices"
	"strings"
)

// Bounds of the forms of one word.
const (
	maxForms    = 64      // terms
	maxWalk     = 200_000 // words of the dictionary, for a pattern or an unknown word
	leastTyped  = 4       // letters from which on a word may be a prefix
	maxPrefixes = 16      // words that begin with a prefix
)

// speller finds the forms of a query's words.
type speller struct{ *ground }

// understand returns the forms of word i of a query.
func (s *speller) understand(q *Query, i int) (group, error) {
	l := q.leaves[i]
	g := group{word: strings.Join(l.parts, " ")}
	if l.whole != "" {
		g.word = l.whole
	}
	switch {
	case l.wild:
		g.word = strings.ToLower(l.text)
		return g, s.patterns(&g, l)
	case l.phrase:
		for _, p := range l.parts { // documents with the first word are candidates; check looks at them
			s.word(&g, p, 1, "exact")
			break
		}
		return g, nil
	case l.whole != "":
		g.forms = append(g.forms, form{exactTerm + l.whole, "joined", 1, ""}, form{nextTerm + l.whole, "joined", byJoined, ""})
		known, err := s.known(g.forms)
		each := byJoined / float64(len(l.parts))
		if known {
			each *= apart
		}
		for _, p := range l.parts {
			s.word(&g, p, each, "part")
		}
		return g, err
	}
	word := l.parts[0]
	g.common = l.aside || s.o.Words.saysLittle(word)
	s.word(&g, word, 1, "exact")
	if l.fuzzy > 0 {
		return g, s.near(&g, word, l.fuzzy, "fuzzy")
	}
	s.neighbours(&g, q, i)
	if !g.common {
		s.compounds(&g, word)
		s.meanings(&g, q, i)
	}
	known, err := s.known(g.forms)
	switch {
	case err != nil:
		return g, err
	case g.common || known && len(word) < leastTyped:
		return g, nil
	}
	if err := s.prefixes(&g, word); err != nil || known {
		return g, err
	}
	if known, err = s.known(g.forms); err != nil || known {
		return g, err
	}
	if err := s.near(&g, word, editsOf(word), "near"); err != nil || g.near {
		return g, err
	}
	return g, s.halves(&g, word)
}

// word adds the forms of one word.
func (s *speller) word(g *group, word string, weight float64, kind string) {
	stem := word
	if s.o.Stem != nil && len(word) >= 3 {
		stem = s.o.Stem(word)
	}
	if stem == word {
		g.add(stemTerm+word, weight, kind)
		return
	}
	g.add(exactTerm+word, weight, kind)
	if kind == "exact" {
		kind = "stem"
	}
	g.add(stemTerm+stem, weight*byStem, kind)
}

func (g *group) add(term string, weight float64, kind string) {
	if len(g.forms) < maxForms && !slices.ContainsFunc(g.forms, func(f form) bool { return f.term == term && f.also == "" }) {
		g.forms = append(g.forms, form{term, kind, weight, ""})
	}
}

// neighbours adds the word joined with the previous and the next one: web fetch also matches
// webfetch.
func (s *speller) neighbours(g *group, q *Query, i int) {
	for _, j := range []int{i - 1, i} {
		if j < 0 || j+1 >= len(q.leaves) || len(q.leaves[j].parts) != 1 || len(q.leaves[j+1].parts) != 1 {
			continue
		}
		a, b := q.leaves[j].parts[0], q.leaves[j+1].parts[0]
		if !s.o.Words.saysLittle(a) && !s.o.Words.saysLittle(b) {
			g.add(exactTerm+a+b, byJoined, "joined")
			g.add(stemTerm+a+b, byJoined, "joined")
		}
	}
}

// prefixes adds the words that begin with word.
func (s *speller) prefixes(g *group, word string) error {
	var found []string
	err := s.dictionary(word, func(term string) {
		if len(term) > 1+len(word) {
			found = append(found, term)
		}
	})
	slices.SortFunc(found, shorter)
	if err != nil {
		return err
	}
	added := 0
	for _, t := range slices.Compact(found) {
		known, err := s.known([]form{{term: t}})
		if err != nil || added == maxPrefixes {
			return err
		}
		if known { // hidden items take no place, or their words would show
			g.add(t, byPrefix, "prefix")
			added++
		}
	}
	return nil
}

// shorter orders words by length, then by bytes.
func shorter(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// patterns adds the words that match a pattern.
func (s *speller) patterns(g *group, l *leaf) error {
	pattern := foldPattern(l.text)
	prefix, _, _ := strings.Cut(pattern, "*")
	var found []string
	err := s.dictionary(prefix, func(term string) {
		if glob(pattern, term[1:]) {
			found = append(found, term)
		}
	})
	slices.SortFunc(found, shorter)
	found = slices.Compact(found)
	s.atLeast = s.atLeast || len(found) > maxPattern
	for _, t := range found[:min(len(found), maxPattern)] {
		g.forms = append(g.forms, form{t, "pattern", 1, ""})
	}
	return err
}

// maxPattern bounds the words that match a pattern.
const maxPattern = 1024

// foldPattern folds a pattern except for its stars.
func foldPattern(text string) string {
	var b []byte
	for _, c := range text {
		if k := kindOf(c); c == '*' {
			b = append(b, '*')
		} else if k != between && k != mark && k != link && k != quote {
			b = fold(b, c)
		}
	}
	return string(b)
}

// glob matches s against a pattern, in which * stands for any text.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	if last == 0 {
		return rest == ""
	}
	for _, p := range parts[1:last] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[last])
}
