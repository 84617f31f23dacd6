package objects

import "strings"

// MaxCapability bounds the length of a capability in bytes.
const MaxCapability = 512

// CheckCapability returns what keeps s from being a capability of
// docs/format/capability.md, in words, and "" when nothing does. It is the grammar
// alone: what a capability covers is for chain/policy to say.
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
	if verb, _, _ := strings.Cut(rest, "."); !strings.Contains(verb, "*") && !verbs[verb] {
		return "the verb is none of execute, search, load, sign"
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
