package provider

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of an item.
const (
	maxText  = 4096 // bytes of one text
	maxItems = 1024 // of a list or a mapping
	maxDepth = 16   // levels of a value that is passed on unchanged
)

var rules = fields.Rules{Items: maxItems, Text: func(s string) string {
	switch {
	case len(s) > maxText:
		return fmt.Sprintf("%d bytes, at most %d are allowed", len(s), maxText)
	case strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return "a control character"
	}
	return ""
}}

// texts returns a field that is a text or a list of texts, none of them empty.
func texts(g *fields.Group, name string) []string {
	out := g.Texts(name, true)
	if slices.Contains(out, "") {
		g.Fail(name, "want a text, but it is missing")
	}
	return out
}

// pairs returns a mapping of texts to texts.
func pairs(g *fields.Group, name string) map[string]string {
	sub := g.Group(name)
	out := map[string]string{}
	for _, k := range sub.Names() {
		out[k] = sub.Text(k)
	}
	return out
}

func pattern(g *fields.Group, name, or string) *regexp.Regexp {
	s := g.Text(name)
	if s == "" {
		s = or
	}
	re, err := regexp.Compile(s)
	if err != nil || len(s) > 1024 {
		g.Fail(name, "not a pattern: %s", words.Brief(s))
		return regexp.MustCompile(or)
	}
	return re
}

// membersOf returns a mapping of members that are sent unchanged, each already encoded.
func membersOf(g *fields.Group, name string) members {
	sub := g.Group(name)
	var out members
	for _, k := range sub.Names() {
		v := sub.Get(k)
		if k == "" {
			sub.Fail(`""`, "a member without a name")
		}
		if depth(v) > maxDepth {
			sub.Fail(k, "nested deeper than %d levels", maxDepth)
			return nil
		}
		raw, err := encodeAny(v)
		if err != nil || len(raw) > maxText {
			sub.Fail(k, "want a value of JSON of at most %d bytes", maxText)
			return nil
		}
		out = append(out, member{k, raw})
	}
	return out
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			deepest = max(deepest, depth(x))
		}
	case []any:
		for _, x := range v {
			deepest = max(deepest, depth(x))
		}
	default:
		return 0
	}
	return deepest + 1
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
