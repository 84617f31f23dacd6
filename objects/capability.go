package objects

import "strings"

// MaxCapability bounds the length of a capability in bytes.
const MaxCapability = 512

// threadVerb is the verb of what is done with agent threads: rye.thread.start.
const threadVerb = "thread"

// CheckCapability returns what keeps s from being a capability of
// docs/format/capability.md, in words, and "" when nothing does.
func CheckCapability(s string) string {
	rest, ok := strings.CutPrefix(s, "rye.")
	switch {
	case len(s) > MaxCapability:
		return "too long"
	case !ok || rest == "":
		return "it does not begin with rye. and a verb"
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '*') {
			return "want lower-case letters, digits, _, -, dots and *"
		}
	}
	if strings.Contains(s, "..") || strings.HasSuffix(s, ".") || strings.Contains(s, "**") {
		return "an empty segment, or ** for *"
	}
	if verb, _, _ := strings.Cut(rest, "."); !strings.Contains(verb, "*") && !verbs[verb] && verb != threadVerb {
		return "the verb is none of execute, search, load, sign and thread"
	}
	return ""
}

// capabilityMend is what to write instead of s: the same with dots where that is
// all that was wrong, else the form.
func capabilityMend(s string) string {
	if dots := strings.ReplaceAll(s, "/", "."); dots != s && CheckCapability(dots) == "" {
		return dots
	}
	return "rye.<verb>.<kind>.<id with dots>, for example rye.execute.tool.acme.*"
}

// AboutThreads reports whether a capability is about threads alone, and about no item.
func AboutThreads(s string) bool {
	rest, ok := strings.CutPrefix(s, "rye."+threadVerb)
	return ok && (rest == "" || rest[0] == '.')
}

// Covers reports whether everything that the pattern need stands for is included in held,
// where "*" is any run of bytes. It is exact: a star of need must lie within a star of
// held, since it can stand for a letter that nothing else in held matches. It takes time of
// the product of the lengths.
func Covers(held, need string) bool {
	h, n := 0, 0
	star, mark := -1, 0
	for n < len(need) {
		switch {
		case h < len(held) && held[h] == '*':
			star, mark = h, n
			h++
		case h < len(held) && held[h] == need[n] && need[n] != '*':
			h++
			n++
		case star >= 0:
			mark++
			h, n = star+1, mark
		default:
			return false
		}
	}
	for h < len(held) && held[h] == '*' {
		h++
	}
	return h == len(held)
}

// Overlap reports whether some text is matched by both patterns. It takes time of the
// product of the lengths.
func Overlap(a, b string) bool {
	// row[j]: a from i on and b from j on have a text in common.
	row := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		below := row
		row = make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && a[i] == '*':
				row[j] = below[j] || j < len(b) && row[j+1]
			case j < len(b) && b[j] == '*':
				row[j] = row[j+1] || i < len(a) && below[j]
			default:
				row[j] = i < len(a) && j < len(b) && a[i] == b[j] && below[j+1]
			}
		}
	}
	return row[0]
}

// Within returns the part of the capability asked that a list allows: asked itself where
// one of the list covers it, else those of the list that lie within it. What only overlaps
// is left out, so the result never allows more than the list does.
func Within[C ~string](list []C, asked C) []C {
	var inside []C
	for _, l := range list {
		if Covers(string(l), string(asked)) {
			return []C{asked}
		}
		if Covers(string(asked), string(l)) {
			inside = append(inside, l)
		}
	}
	return inside
}
