package provider

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Bounds of an item.
const (
	maxText  = 4096 // bytes of one text
	maxItems = 1024 // of a list or a mapping
	maxDepth = 16   // levels of a value that is passed on unchanged
)

// reader reads the fields of one item. It keeps the first error, and the fields after it read as
// zero.
type reader struct {
	id  string
	err error
}

// group is one mapping of the item. end refuses fields that were not read.
type group struct {
	r     *reader
	path  string // "" for the outermost
	m     map[string]any
	asked []string
}

func (r *reader) fail(path, format string, args ...any) {
	if r.err == nil {
		r.err = fault.New(fault.Malformed, "provider %s: %s: %s", r.id, path, fmt.Sprintf(format, args...))
	}
}

func (g *group) at(name string) string {
	if g.path == "" {
		return name
	}
	return g.path + "." + name
}

// get returns a field, nil when it is absent or null.
func (g *group) get(name string) any {
	g.asked = append(g.asked, name)
	return g.m[name]
}

func (g *group) fail(name, format string, args ...any) { g.r.fail(g.at(name), format, args...) }

// end refuses the fields that were not read, and suggests a known field with a similar name.
func (g *group) end() {
	for _, name := range sortedKeys(g.m) {
		if slices.Contains(g.asked, name) {
			continue
		}
		why := "unknown field"
		for _, known := range g.asked {
			if _, near := words.Near(name, known); near {
				why += fmt.Sprintf("; is it %q?", known)
				break
			}
		}
		g.fail(words.Brief(name), "%s", why)
		return
	}
}

// group returns a mapping; a missing one is empty.
func (g *group) group(name string) *group {
	return g.r.group(g.at(name), g.get(name))
}

func (r *reader) group(path string, v any) *group {
	m, ok := v.(map[string]any)
	switch {
	case v != nil && !ok:
		r.fail(path, "want a mapping, have %s", objects.Shape(v))
	case len(m) > maxItems:
		r.fail(path, "%d fields, at most %d are allowed", len(m), maxItems)
		m = nil
	}
	return &group{r: r, path: path, m: m}
}

// list returns the elements of a list. With alone, a single value counts as a list of one.
func (g *group) list(name string, alone bool) []any {
	switch v := g.get(name).(type) {
	case nil:
		return nil
	case []any:
		if len(v) > maxItems {
			g.fail(name, "%d elements, at most %d are allowed", len(v), maxItems)
			return nil
		}
		return v
	default:
		if !alone {
			g.fail(name, "want a list, have %s", objects.Shape(v))
			return nil
		}
		return []any{v}
	}
}

func (g *group) text(name string) string {
	s, wrong := textOf(g.get(name))
	if wrong != "" {
		g.fail(name, "%s", wrong)
	}
	return s
}

func textOf(v any) (s, wrong string) {
	switch v := v.(type) {
	case nil:
		return "", ""
	case string:
		if len(v) > maxText {
			return "", fmt.Sprintf("%d bytes, at most %d are allowed", len(v), maxText)
		}
		if i := strings.IndexFunc(v, func(r rune) bool { return r < 0x20 || r == 0x7f }); i >= 0 {
			return "", "a control character"
		}
		return v, ""
	}
	return "", "want a text, have " + objects.Shape(v)
}

func (g *group) texts(name string, alone bool) []string {
	var out []string
	for i, v := range g.list(name, alone) {
		s, wrong := textOf(v)
		if wrong == "" && s == "" {
			wrong = "want a text, but it is missing"
		}
		if wrong != "" {
			g.fail(fmt.Sprintf("%s.%d", name, i), "%s", wrong)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// pairs returns a mapping of texts to texts.
func (g *group) pairs(name string) map[string]string {
	sub := g.group(name)
	out := make(map[string]string, len(sub.m))
	for _, k := range sortedKeys(sub.m) {
		out[k] = sub.text(k)
	}
	return out
}

// oneOf returns a text, which must be one of few, or the text or when it is missing.
func (g *group) oneOf(name, or string, few ...string) string {
	s := g.text(name)
	if s == "" {
		return or
	}
	if !slices.Contains(few, s) {
		g.fail(name, "%q, want one of %s", words.Brief(s), strings.Join(few, ", "))
		return or
	}
	return s
}

func (g *group) flag(name string, or bool) bool {
	switch v := g.get(name).(type) {
	case nil:
		return or
	case bool:
		return v
	default:
		g.fail(name, "want true or false, have %s", objects.Shape(v))
		return or
	}
}

// number returns a number in [least, most], or the number or when it is missing.
func (g *group) number(name string, or, least, most float64) float64 {
	v := g.get(name)
	if v == nil {
		return or
	}
	n, ok := numberOf(v)
	if !ok {
		g.fail(name, "want a number, have %s", objects.Shape(v))
		return or
	}
	if !(n >= least && n <= most) {
		g.fail(name, "%v, want %v to %v", n, least, most)
		return or
	}
	return n
}

func (g *group) whole(name string, or, least, most int64) int64 {
	n := g.number(name, float64(or), float64(least), float64(most))
	if n != math.Trunc(n) {
		g.fail(name, "%v, want a whole number", n)
		return or
	}
	return int64(n)
}

func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

func (g *group) pattern(name, or string) *regexp.Regexp {
	s := g.text(name)
	if s == "" {
		s = or
	}
	re, err := regexp.Compile(s)
	if err != nil || len(s) > 1024 {
		g.fail(name, "not a pattern: %s", words.Brief(s))
		return regexp.MustCompile(or)
	}
	return re
}

// members returns a mapping of members that are sent unchanged, each already encoded.
func (g *group) members(name string) members {
	sub := g.group(name)
	var out members
	for _, k := range sortedKeys(sub.m) {
		if k == "" {
			sub.fail(`""`, "a member without a name")
		}
		if depth(sub.m[k]) > maxDepth {
			sub.fail(k, "nested deeper than %d levels", maxDepth)
			return nil
		}
		raw, err := encodeAny(sub.m[k])
		if err != nil || len(raw) > maxText {
			sub.fail(k, "want a value of JSON of at most %d bytes", maxText)
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
