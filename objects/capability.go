package objects

import "strings"

// MaxCapability bounds the length of a capability in bytes.
const MaxCapability = 512

// threadVerb is the verb for actions on agent threads: rye.thread.start.
const threadVerb = "thread"

// CheckCapability returns "" when s is a capability as docs/format/capability.md defines it.
// Otherwise it returns the reason in words.
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
		return "want one of the verbs execute, search, load, sign and thread"
	}
	return ""
}

// capabilityMend returns the text to write instead of s: s with dots for slashes, when that
// alone repairs it, else the general form.
func capabilityMend(s string) string {
	if dots := strings.ReplaceAll(s, "/", "."); dots != s && CheckCapability(dots) == "" {
		return dots
	}
	return "rye.<verb>.<kind>.<id with dots>, for example rye.execute.tool.acme.*"
}

// AboutThreads reports whether a capability is about threads only, and not about items.
func AboutThreads(s string) bool {
	rest, ok := strings.CutPrefix(s, "rye."+threadVerb)
	return ok && (rest == "" || rest[0] == '.')
}

// Covers reports whether the pattern held matches every text that the pattern need matches,
// where "*" is any run of bytes. It is exact: a star in need must lie within a star in held,
// since it can stand for a letter that nothing else in held matches. The time it takes is
// proportional to the product of the lengths.
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

// Overlap reports whether both patterns match some text. The time it takes is proportional
// to the product of the lengths.
func Overlap(a, b string) bool {
	// row[j]: the patterns a[i:] and b[j:] match a text in common.
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

// Within returns the part of the capability asked that a list allows. That is asked itself
// when an entry covers it, else every entry that asked covers. An entry that only overlaps is
// left out, so the result never allows more than the list does.
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
