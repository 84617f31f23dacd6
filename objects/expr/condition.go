package expr

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Condition is a question about data: when a hook of a thread acts, which class an
// error has. It is the language of RYE OS, so that rye can read its hooks. The zero
// value always holds.
type Condition struct {
	any, all []Condition
	not      *Condition

	path  string
	op    string
	value any
	re    *regexp.Regexp
}

// ops are the operators of a comparison.
var ops = []string{"eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "regex", "exists"}

// ParseCondition reads {path, op, value}, {any: […]}, {all: […]} or {not: {…}}.
// nil and the empty mapping always hold. Unknown keys and operators are refused.
func ParseCondition(v any) (Condition, error) {
	p := conditionParser{}
	return p.parse(v, 1)
}

type conditionParser struct{ nodes int }

func bad(format string, args ...any) error {
	return fault.New(fault.Malformed, "condition: "+format, args...)
}

func (p *conditionParser) parse(v any, depth int) (c Condition, err error) {
	if p.nodes++; depth > MaxDepth || p.nodes > MaxNodes {
		return c, fault.New(fault.Limit, "condition: more than %d levels or %d parts", MaxDepth, MaxNodes)
	}
	if v == nil {
		return c, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return c, bad("want {path, op, value}, {any}, {all} or {not}")
	}
	if len(m) == 0 {
		return c, nil
	}
	for _, key := range []string{"any", "all", "not"} {
		if inner, ok := m[key]; ok {
			if len(m) > 1 {
				return c, bad("%s cannot be combined with other keys", key)
			}
			return p.combined(key, inner, depth)
		}
	}
	return comparison(m)
}

func (p *conditionParser) combined(key string, v any, depth int) (c Condition, err error) {
	if key == "not" {
		inner, err := p.parse(v, depth+1)
		return Condition{not: &inner}, err
	}
	list, ok := v.([]any)
	if !ok {
		return c, bad("%s: want a list of conditions", key)
	}
	parts := make([]Condition, 0, min(len(list), MaxNodes))
	for _, e := range list {
		inner, err := p.parse(e, depth+1)
		if err != nil {
			return Condition{}, err
		}
		parts = append(parts, inner)
	}
	if key == "any" {
		return Condition{any: parts}, nil
	}
	return Condition{all: parts}, nil
}

func comparison(m map[string]any) (c Condition, err error) {
	for k := range m {
		if k != "path" && k != "op" && k != "value" {
			return c, bad("unknown key %q", words.Brief(k))
		}
	}
	path, ok := m["path"].(string)
	if !ok || !IsName(path) {
		return c, bad("path %q: want names joined by dots", words.Brief(Text(m["path"])))
	}
	op, ok := m["op"].(string)
	if !ok || !slices.Contains(ops, op) {
		return c, bad("op %q: want one of %s", words.Brief(Text(m["op"])), strings.Join(ops, ", "))
	}
	c = Condition{path: path, op: op, value: m["value"]}
	if op == "regex" {
		text, ok := c.value.(string)
		if !ok || len(text) > maxRegexp {
			return c, bad("regex: want a pattern of at most %d bytes", maxRegexp)
		}
		if c.re, err = regexp.Compile(text); err != nil {
			return c, bad("%w", err)
		}
	}
	return c, nil
}

// Holds reports whether the condition is true for the data. A comparison of values
// that have no order is false, and so is a comparison of nil by size.
func (c Condition) Holds(look Lookup) bool {
	switch {
	case c.any != nil:
		return slices.ContainsFunc(c.any, func(p Condition) bool { return p.Holds(look) })
	case c.all != nil:
		return !slices.ContainsFunc(c.all, func(p Condition) bool { return !p.Holds(look) })
	case c.not != nil:
		return !c.not.Holds(look)
	case c.op == "":
		return true
	}
	got, _ := look(c.path)
	return c.compare(got)
}

func (c Condition) compare(got any) bool {
	switch c.op {
	case "exists":
		return got != nil
	case "eq":
		return equal(got, c.value, 0)
	case "ne":
		return !equal(got, c.value, 0)
	case "in":
		return holds(c.value, got)
	case "contains":
		return holds(got, c.value)
	case "regex":
		s, ok := got.(string)
		return ok && c.re.MatchString(s)
	}
	n, ok := order(got, c.value)
	if !ok {
		return false
	}
	switch c.op {
	case "gt":
		return n > 0
	case "gte":
		return n >= 0
	case "lt":
		return n < 0
	}
	return n <= 0
}

// holds reports whether a text contains part, a list has it as an element, or a mapping
// has it as a key.
func holds(whole, part any) bool {
	switch w := whole.(type) {
	case string:
		s, ok := part.(string)
		return ok && strings.Contains(w, s)
	case []any:
		return slices.ContainsFunc(w, func(e any) bool { return equal(e, part, 0) })
	case map[string]any:
		s, ok := part.(string)
		_, there := w[s]
		return ok && there
	}
	return false
}

// order compares two numbers or two texts.
func order(a, b any) (int, bool) {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return cmp.Compare(x, y), ok
	}
	if x, ok := Integer(a); ok {
		if y, ok := Integer(b); ok {
			return cmp.Compare(x, y), true
		}
	}
	x, ok1 := Number(a)
	y, ok2 := Number(b)
	return cmp.Compare(x, y), ok1 && ok2 && !math.IsNaN(x) && !math.IsNaN(y)
}

// Integer returns the whole number that a value of YAML or JSON is.
func Integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}

// Number returns the number that a value of YAML or JSON is, whole or not.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	n, ok := Integer(v)
	return float64(n), ok
}

// equal reports whether two values are equal; 1 equals 1.0. depth is the level of nesting.
func equal(a, b any, depth int) bool {
	if depth > MaxDepth {
		return false
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(p, q any) bool { return equal(p, q, depth+1) })
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, p := range x {
			q, there := y[k]
			if !there || !equal(p, q, depth+1) {
				return false
			}
		}
		return true
	}
	n, ok := order(a, b)
	return ok && n == 0
}
