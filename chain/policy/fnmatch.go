package policy

import "strings"

// MatchLegacy matches a need against a capability pattern of RYE OS, with
// the exact meaning of Python's fnmatch.fnmatchcase: "*" any text, "?" one
// character, "[abc]", "[a-z]" and "[!a]" sets, a "[" without end a letter. Slashes
// of the pattern are dots, as RYE OS's harness has it.
func MatchLegacy(pattern string, need Cap) bool {
	return fnmatch(strings.ReplaceAll(pattern, "/", "."), string(need))
}

// fnmatch never takes more than the product of the lengths: it goes back to the
// last star only.
func fnmatch(pattern, text string) bool {
	ps, ts := []rune(pattern), []rune(text)
	p, t, star, mark := 0, 0, -1, 0
	for t < len(ts) {
		if p < len(ps) && ps[p] == '*' {
			star, mark = p, t
			p++
			continue
		}
		if n, ok := one(ps[p:], ts[t]); ok {
			p += n
			t++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, t = star+1, mark
	}
	for p < len(ps) && ps[p] == '*' {
		p++
	}
	return p == len(ps)
}

// one matches a single character and returns the length of the pattern's element.
func one(ps []rune, c rune) (int, bool) {
	if len(ps) == 0 {
		return 0, false
	}
	switch ps[0] {
	case '?':
		return 1, true
	case '[':
		if end := setEnd(ps); end > 0 {
			return end + 1, inSet(ps[1:end], c)
		}
	}
	return 1, ps[0] == c
}

// setEnd finds the "]" that closes a set: not directly after "[" or "[!".
func setEnd(ps []rune) int {
	i := 1
	if i < len(ps) && ps[i] == '!' {
		i++
	}
	if i < len(ps) && ps[i] == ']' {
		i++
	}
	for ; i < len(ps); i++ {
		if ps[i] == ']' {
			return i
		}
	}
	return 0
}

// inSet judges the inside of a set. A "-" is a range only between two characters,
// and a range that runs backwards is empty.
func inSet(set []rune, c rune) bool {
	negate := len(set) > 0 && set[0] == '!'
	if negate {
		set = set[1:]
	}
	in := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			in = in || set[i] <= c && c <= set[i+2]
			i += 2
			continue
		}
		in = in || set[i] == c
	}
	return in != negate
}
