package audit

import (
	"regexp/syntax"
	"strings"
)

// needed returns words of which each match of a pattern has one, in small letters; nil if there are none that
// would spare much work.
func needed(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	list := literals(re.Simplify())
	if shortest(list) < minNeeded || len(list) > maxNeeded {
		return nil
	}
	return list
}

const (
	minNeeded = 2  // bytes of a word that is worth a search
	maxNeeded = 64 // words of one pattern
)

// literals returns words of which each match has one; nil if it finds none.
func literals(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpCharClass:
		return letters(re)
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			list := literals(sub)
			if list == nil {
				return nil
			}
			all = append(all, list...)
		}
		return all
	}
	return nil
}

// ofConcat returns the best list of the parts. Neighbours with few values, such as the rest of an alternation
// whose common beginning the parser has taken out, are joined first.
func ofConcat(subs []*syntax.Regexp) (best []string) {
	better := func(list []string) {
		if list != nil && (best == nil || shortest(list) > shortest(best)) {
			best = list
		}
	}
	var run []string
	for _, sub := range subs {
		list := literals(sub)
		better(list)
		whole := exactly(sub)
		if whole == nil || len(whole)*max(len(run), 1) > maxNeeded {
			better(run)
			run = nil
			continue
		}
		run = joined(run, whole)
	}
	better(run)
	return best
}

func joined(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	var all []string
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all
}

// exactly returns every text that an expression matches, in small letters; nil if there are many.
func exactly(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCapture:
		return exactly(re.Sub[0])
	case syntax.OpCharClass:
		return letters(re)
	case syntax.OpConcat:
		var all []string
		for _, sub := range re.Sub {
			list := exactly(sub)
			if list == nil || len(list)*max(len(all), 1) > maxNeeded {
				return nil
			}
			all = joined(all, list)
		}
		return all
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			list := exactly(sub)
			if list == nil || len(all)+len(list) > maxNeeded {
				return nil
			}
			all = append(all, list...)
		}
		return all
	}
	return nil
}

// literal returns a literal in small letters; nil for letters beyond ASCII of either case, which have several forms.
func literal(re *syntax.Regexp) []string {
	for _, r := range re.Rune {
		if r >= 0x80 && re.Flags&syntax.FoldCase != 0 {
			return nil
		}
	}
	return []string{strings.ToLower(string(re.Rune))}
}

// letters returns the characters of a small class, each once.
func letters(re *syntax.Regexp) (all []string) {
	seen := map[string]bool{}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(all) > 4 {
				return nil
			}
			if r >= 0x80 {
				return nil
			}
			if w := strings.ToLower(string(r)); !seen[w] {
				seen[w], all = true, append(all, w)
			}
		}
	}
	return all
}

func shortest(list []string) int {
	if len(list) == 0 {
		return 0
	}
	n := len(list[0])
	for _, w := range list {
		n = min(n, len(w))
	}
	return n
}

// finder finds which words of a list stand in a text, in one pass over it (Aho and Corasick, 1975).
type finder struct {
	root [256]int32       // the states after one byte
	next []map[byte]int32 // by state
	fail []int32
	ends [][]int32 // numbers of the words that end in a state
}

func newFinder(list []string) *finder {
	f := &finder{next: []map[byte]int32{{}}, fail: []int32{0}, ends: [][]int32{nil}}
	for n, w := range list {
		state := int32(0)
		for i := range len(w) {
			to, ok := f.next[state][w[i]]
			if !ok {
				to = int32(len(f.next))
				f.next, f.fail, f.ends = append(f.next, map[byte]int32{}), append(f.fail, 0), append(f.ends, nil)
				f.next[state][w[i]] = to
			}
			state = to
		}
		f.ends[state] = append(f.ends[state], int32(n))
	}
	var queue []int32
	for _, to := range f.next[0] {
		queue = append(queue, to)
	}
	for c, to := range f.next[0] {
		f.root[c] = to
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for c, to := range f.next[state] {
			f.fail[to] = f.step(f.fail[state], c)
			f.ends[to] = append(f.ends[to], f.ends[f.fail[to]]...)
			queue = append(queue, to)
		}
	}
	return f
}

func (f *finder) step(state int32, c byte) int32 {
	for state != 0 {
		if to, ok := f.next[state][c]; ok {
			return to
		}
		state = f.fail[state]
	}
	return f.root[c]
}

// in calls found for each word in the text, in the order of their ends; a word may come several times. Capital
// letters of ASCII count as small ones.
func (f *finder) in(text string, found func(word int32)) {
	state := int32(0)
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		state = f.step(state, c)
		for _, w := range f.ends[state] {
			found(w)
		}
	}
}
