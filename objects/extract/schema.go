package extract

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

const maxProblems = 100 // reported for one item

// rule is the schema's rule for one field.
type rule struct {
	name               string
	typ                string // "" for any
	required, nullable bool
	snake              bool
	min, max           *float64
	values             []any
	pattern            *regexp.Regexp
	nested             []rule // of an object
	itemType           string // of an array
	itemRequired       []string
	filename, path     bool
	example            string
}

// The names of types, and of formats.
const (
	types   = " string integer number boolean semver enum object array "
	formats = " snake_case "
)

// schema reads validation_schema: {fields: {name: rule, …}}.
func (p *reader) schema(r *Rules) {
	const field = "validation_schema"
	m := p.mapping(p.it.Meta.Fields[field], field)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key != "fields" {
			p.bad([]string{field, key}, "validation_schema: want fields and nothing else, have %q", "fields: {name: {required: true}}", words.Brief(key))
		}
	}
	r.schema = p.fields(m["fields"], 1, field, "fields")
}

func (p *reader) fields(v any, depth int, at ...string) []rule {
	if depth > MaxNesting {
		p.bad(at, "nested deeper than %d levels", "a flatter schema", MaxNesting)
		return nil
	}
	m := p.mapping(v, at...)
	var all []rule
	for _, name := range slices.Sorted(maps.Keys(m)) {
		here := append(at[:len(at):len(at)], name)
		if depth == 1 && !fieldName(name) {
			p.bad(here, "%q is not a field name", "lower-case letters, digits and _", words.Brief(name))
			continue
		}
		all = append(all, p.rule(name, m[name], depth, here))
	}
	return all
}

// rule reads one rule. It refuses an unknown key, because rye would not enforce it.
func (p *reader) rule(name string, v any, depth int, at []string) rule {
	r := rule{name: name}
	m := p.mapping(v, at...)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		here, v := append(at[:len(at):len(at)], key), m[key]
		switch key {
		case "type":
			r.typ = p.oneOf(v, here, types)
		case "required":
			r.required = p.flag(v, here...)
		case "nullable":
			r.nullable = p.flag(v, here...)
		case "match_filename":
			r.filename = p.flag(v, here...)
		case "match_path":
			r.path = p.flag(v, here...)
		case "format":
			r.snake = p.oneOf(v, here, formats) != ""
		case "minimum":
			r.min = p.bound(v, here)
		case "maximum":
			r.max = p.bound(v, here)
		case "values":
			r.values = p.values(v, here)
		case "pattern":
			r.pattern = p.regexp(v, here)
		case "nested":
			r.nested = p.fields(v, depth+1, here...)
		case "item_type":
			r.itemType = p.oneOf(v, here, types)
		case "item_required":
			r.itemRequired = p.texts(v, here...)
		case "example":
			r.example = p.text(v, here...)
		case "description":
			p.text(v, here...) // for people who read the extractor
		default:
			p.bad(here, "%s: %q is not a rule", "type, required, nullable, format, minimum, maximum, values, pattern, nested, item_type, item_required, match_filename, match_path or example", strings.Join(at, "."), words.Brief(key))
		}
	}
	if r.typ == "enum" && len(r.values) == 0 {
		p.bad(at, "%s: an enum without values", "values: [one, two]", strings.Join(at, "."))
	}
	if r.min != nil && r.max != nil && *r.min > *r.max {
		p.bad(at, "%s: the minimum is above the maximum", "minimum: 1", strings.Join(at, "."))
	}
	return r
}

// oneOf returns a text that is one of the words of list.
func (p *reader) oneOf(v any, at []string, list string) string {
	s := p.text(v, at...)
	if v != nil && !in(list, s) {
		p.bad(at, "%s: %q is not known", strings.Join(strings.Fields(list), ", "), strings.Join(at, "."), words.Brief(s))
		return ""
	}
	return s
}

func (p *reader) bound(v any, at []string) *float64 {
	f, ok := number(v)
	if !ok {
		p.bad(at, "%s: want a number, have %s", "1", strings.Join(at, "."), objects.Shape(v))
		return nil
	}
	return &f
}

func (p *reader) values(v any, at []string) []any {
	l, ok := v.([]any)
	if !ok || len(l) == 0 || len(l) > MaxValues {
		p.bad(at, "%s: want a list of 1 to %d values", "[one, two]", strings.Join(at, "."), MaxValues)
		return nil
	}
	for _, e := range l {
		switch e.(type) {
		case string, bool, int, float64:
		default:
			p.bad(at, "%s: want plain values, have %s in it", "[one, two]", strings.Join(at, "."), objects.Shape(e))
			return nil
		}
	}
	return l
}

// regexp compiles a pattern for the whole value. Go matches in time proportional to
// the text, for any pattern.
func (p *reader) regexp(v any, at []string) *regexp.Regexp {
	s := p.text(v, at...)
	if len(s) > MaxPattern {
		s = ""
	}
	_, err := regexp.Compile(s) // by itself, so that it cannot close our group
	re, err2 := regexp.Compile(`^(?:` + s + `)$`)
	if err != nil || err2 != nil || s == "" {
		p.bad(at, "%s: want a pattern that compiles, of at most %d bytes", "'[a-z]+'", strings.Join(at, "."), MaxPattern)
		return nil
	}
	return re
}

// Validate returns the rules of the extractor that an item breaks, each with the place
// of its value, in the order of the file. Callers report them in addition to the
// problems that Item.Validate returns, never instead.
func (r *Rules) Validate(it *objects.Item) []objects.Problem {
	if r == nil || it.Ref.Kind != r.Kind {
		return nil
	}
	c := &checker{it: it, by: Ref(r.Kind)}
	if ext := path.Ext(it.Path); r.extensions != nil && !slices.Contains(r.extensions, ext) {
		c.add("", nil, fmt.Sprintf("a %s in a %s file", it.Ref.Kind, ext), "rename it to end in "+strings.Join(r.extensions, " or "))
	}
	for i := range r.schema {
		f := &r.schema[i]
		v, at := r.value(it, f)
		c.check(f, v, f.name, at)
	}
	sort.SliceStable(c.problems, func(i, j int) bool { return c.problems[i].Line < c.problems[j].Line })
	return c.problems
}

// Merge returns the problems of both lists in the order of the file. It leaves out a
// problem in more whose field already has one in have.
func Merge(have, more []objects.Problem) []objects.Problem {
	all := slices.Clone(have)
	for _, p := range more {
		if p.Field == "" || !slices.ContainsFunc(have, func(h objects.Problem) bool { return h.Field == p.Field }) {
			all = append(all, p)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Line < all[j].Line })
	return all
}

// checker checks an item against rules.
type checker struct {
	it       *objects.Item
	by       objects.Ref
	problems []objects.Problem
}

func (c *checker) add(field string, at []string, what, mend string) {
	if len(c.problems) >= maxProblems {
		return
	}
	line, col := c.it.Place(at...)
	c.problems = append(c.problems, objects.Problem{Line: line, Column: col, Field: field, Rule: what + " (asked for by " + c.by.String() + ")", Mend: mend})
}

// check checks one value against its rule. name is its name in messages, at its place.
func (c *checker) check(f *rule, v any, name string, at []string) {
	top, _, _ := strings.Cut(name, ".")
	bad := func(what string) { c.add(top, at, name+" "+what, c.mend(f, name)) }
	if empty(v) {
		if f.required && !(v == nil && f.nullable) && !(v == any("") && f.path) {
			c.add(top, at, "required field is missing: "+name, c.mend(f, name))
		} else if s, ok := v.(string); ok && f.path && s != c.it.Ref.ID.Category() {
			bad(fmt.Sprintf("%q is not the file's directory %q", s, c.it.Ref.ID.Category()))
		}
		return
	}
	if !typeRules()[f.typ].holds(v) {
		bad("must be " + typeRules()[f.typ].words + ", have " + objects.Shape(v))
		return
	}
	s, isText := v.(string)
	n, isNumber := number(v)
	switch {
	case f.values != nil && !slices.ContainsFunc(f.values, func(e any) bool { return plain(e) == plain(v) }):
		bad("is none of " + list(f.values))
	case f.snake && !(isText && snake(s)):
		bad("must be lower-case letters, digits and _, a letter first")
	case f.min != nil && !(isNumber && n >= *f.min):
		bad("must be a number of at least " + plain(*f.min))
	case f.max != nil && !(isNumber && n <= *f.max):
		bad("must be a number of at most " + plain(*f.max))
	case f.pattern != nil && !(isText && len(s) <= MaxText && f.pattern.MatchString(s)):
		bad("does not match " + strings.TrimSuffix(strings.TrimPrefix(f.pattern.String(), "^(?:"), ")$"))
	case f.filename && plain(v) != c.it.Ref.ID.Name():
		bad(fmt.Sprintf("%q is not the file's name %q", words.Brief(plain(v)), c.it.Ref.ID.Name()))
	case f.path && plain(v) != c.it.Ref.ID.Category():
		bad(fmt.Sprintf("%q is not the file's directory %q", words.Brief(plain(v)), c.it.Ref.ID.Category()))
	}
	c.inside(f, v, name, at)
}

// inside checks the parts of an object or an array against its rule.
func (c *checker) inside(f *rule, v any, name string, at []string) {
	if m, ok := v.(map[string]any); ok {
		for i := range f.nested {
			n := &f.nested[i]
			c.check(n, m[n.name], name+"."+n.name, append(at[:len(at):len(at)], n.name))
		}
	}
	l, ok := v.([]any)
	if !ok || f.itemType == "" && f.itemRequired == nil {
		return
	}
	for i, e := range l {
		if len(c.problems) >= maxProblems {
			return
		}
		here := append(at[:len(at):len(at)], strconv.Itoa(i))
		top, _, _ := strings.Cut(name, ".")
		if !typeRules()[f.itemType].holds(e) {
			c.add(top, here, fmt.Sprintf("%s: entry %d must be %s, have %s", name, i+1, typeRules()[f.itemType].words, objects.Shape(e)), c.mend(f, name))
			continue
		}
		m, _ := e.(map[string]any)
		for _, key := range f.itemRequired {
			if empty(m[key]) {
				c.add(top, here, fmt.Sprintf("%s: entry %d lacks %s", name, i+1, key), key+": ...")
			}
		}
	}
}

// mend returns an example of the field that satisfies the rule.
func (c *checker) mend(f *rule, name string) string {
	text := f.example
	switch {
	case text != "":
	case f.filename:
		text = c.it.Ref.ID.Name()
	case f.path:
		text = c.it.Ref.ID.Category()
	case len(f.values) > 0:
		text = plain(f.values[0])
	case f.min != nil:
		text = plain(*f.min)
	case f.max != nil:
		text = plain(*f.max)
	case f.pattern != nil:
		text = "<text like " + strings.TrimSuffix(strings.TrimPrefix(f.pattern.String(), "^(?:"), ")$") + ">"
	default:
		text = typeRules()[f.typ].example
	}
	if top, rest, inner := strings.Cut(name, "."); inner {
		return rest + ": " + text + " in " + top
	}
	return c.it.Example(name, text)
}

// empty reports whether a value is treated as missing: null, "" or an empty list.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// typeRule defines a type of the schema.
type typeRule struct {
	words   string // for messages
	example string
	holds   func(v any) bool
}

var typeRules = sync.OnceValue(func() map[string]typeRule {
	return map[string]typeRule{
		"":        {"", "...", func(any) bool { return true }},
		"enum":    {"enum", "...", func(any) bool { return true }},
		"string":  {"text", "...", isA[string]},
		"semver":  {"a semantic version", "1.0.0", isVersion},
		"integer": {"a whole number", "1", isA[int]},
		"number":  {"a number", "1.5", func(v any) bool { _, ok := number(v); return ok }},
		"boolean": {"true or false", "true", isA[bool]},
		"object":  {"a mapping", "{name: value}", isA[map[string]any]},
		"array":   {"a list", "[one, two]", isA[[]any]},
	}
})

func isA[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

func isVersion(v any) bool {
	s, ok := v.(string)
	_, err := objects.ParseVersion(s)
	return ok && err == nil
}

// snake reports whether s is a lower-case letter, then lower-case letters, digits and _.
func snake(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// plain writes a scalar as in the text of an item; "" for any other value.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

func list(values []any) string {
	var all []string
	for _, v := range values[:min(len(values), 12)] {
		all = append(all, plain(v))
	}
	if len(values) > 12 {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}
