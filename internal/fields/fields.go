// Package fields reads decoded mappings field by field, refuses the fields that nobody read, and
// names the path of the first fault: "turns.0.calls.1.name".
//
//	g := fields.Rules{Items: 100}.Read(doc)
//	name, limit := g.Text("name"), g.Whole("limit", 10, 1, 1000)
//	g.End()
//	if err := g.Err(); err != nil {
//
// A document keeps its first fault only, and a faulty field reads as zero. So a reader asks for
// everything and looks at Err once, at the end.
package fields

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/expr"
)

// Rules are the bounds of a document.
type Rules struct {
	Items int                       // the most elements of a list or a mapping
	Text  func(string) (why string) // refuses a text, or returns ""; nil accepts every text
}

// A Group is one mapping of a document.
type Group struct {
	Path string // "" for the outermost mapping

	d     *document
	m     map[string]any
	asked []string
}

// document is what the groups of one document share.
type document struct {
	Rules
	err error
}

// Read returns the outermost group of a decoded document, which is what objects.YAMLValues returns.
func (r Rules) Read(doc any) *Group { return (&document{Rules: r}).group("", doc) }

func (d *document) group(path string, v any) *Group {
	m, ok := v.(map[string]any)
	switch {
	case v != nil && !ok:
		d.fail(path, "want a mapping, have %s", objects.Shape(v))
	case len(m) > d.Items:
		d.fail(path, "%d fields, at most %d are allowed", len(m), d.Items)
		m = nil
	}
	return &Group{Path: path, d: d, m: m}
}

func (d *document) fail(path, format string, args ...any) {
	if d.err != nil {
		return
	}
	why := fmt.Sprintf(format, args...)
	if path != "" {
		why = path + ": " + why
	}
	d.err = errors.New(why)
}

// Err returns the first fault of the whole document, or nil.
func (g *Group) Err() error { return g.d.err }

// At returns the path of a field.
func (g *Group) At(name string) string {
	if g.Path == "" {
		return name
	}
	return g.Path + "." + name
}

// Fail reports a fault of a field; of the group itself if name is "".
func (g *Group) Fail(name, format string, args ...any) {
	path := g.Path
	if name != "" {
		path = g.At(name)
	}
	g.d.fail(path, format, args...)
}

// Names returns the names of all fields, sorted.
func (g *Group) Names() []string { return slices.Sorted(maps.Keys(g.m)) }

// Has reports whether a field has a value that is not null.
func (g *Group) Has(name string) bool { return g.m[name] != nil }

// Get returns a field as it was decoded; nil when it is missing or null.
func (g *Group) Get(name string) any {
	g.asked = append(g.asked, name)
	return g.m[name]
}

// End refuses the fields that were not read, and suggests a known field with a similar name.
func (g *Group) End() {
	for _, name := range g.Names() {
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
		g.Fail(words.Brief(name), "%s", why)
		return
	}
}

// Group returns a mapping; a missing one is empty.
func (g *Group) Group(name string) *Group { return g.d.group(g.At(name), g.Get(name)) }

// Groups returns the elements of a list of mappings.
func (g *Group) Groups(name string) []*Group {
	var out []*Group
	for i, v := range g.List(name, false) {
		sub := g.d.group(g.At(name)+"."+strconv.Itoa(i), v)
		if v == nil {
			sub.Fail("", "want a mapping, have nothing")
		}
		out = append(out, sub)
	}
	return out
}

// List returns the elements of a list. With alone, a single value is a list of one.
func (g *Group) List(name string, alone bool) []any {
	switch v := g.Get(name).(type) {
	case nil:
		return nil
	case []any:
		if len(v) > g.d.Items {
			g.Fail(name, "%d elements, at most %d are allowed", len(v), g.d.Items)
			return nil
		}
		return v
	default:
		if !alone {
			g.Fail(name, "want a list, have %s", objects.Shape(v))
			return nil
		}
		return []any{v}
	}
}

// Text returns a text; "" when it is missing.
func (g *Group) Text(name string) string { return g.text(name, g.Get(name)) }

func (g *Group) text(name string, v any) string {
	s, ok := v.(string)
	switch {
	case v != nil && !ok:
		g.Fail(name, "want a text, have %s", objects.Shape(v))
	case g.d.Text != nil:
		if why := g.d.Text(s); why != "" {
			g.Fail(name, "%s", why)
			return ""
		}
	}
	return s
}

// Needed returns a text that is not empty.
func (g *Group) Needed(name string) string {
	s := g.Text(name)
	if s == "" {
		g.Fail(name, "want a text, but it is missing")
	}
	return s
}

// Texts returns a list of texts; with alone, also a single text. null is no element.
func (g *Group) Texts(name string, alone bool) []string {
	var out []string
	for i, v := range g.List(name, alone) {
		at := name
		if _, list := g.m[name].([]any); list {
			at += "." + strconv.Itoa(i)
		}
		if v == nil {
			g.Fail(at, "want a text, but it is missing")
		}
		out = append(out, g.text(at, v))
	}
	return out
}

// OneOf returns a text, which must be one of few, or the text or when it is missing.
func (g *Group) OneOf(name, or string, few ...string) string {
	s := g.Text(name)
	if s == "" {
		return or
	}
	if !slices.Contains(few, s) {
		g.Fail(name, "%q, want one of %s", words.Brief(s), strings.Join(few, ", "))
		return or
	}
	return s
}

// Flag returns true or false, or the value or when it is missing.
func (g *Group) Flag(name string, or bool) bool {
	switch v := g.Get(name).(type) {
	case nil:
		return or
	case bool:
		return v
	default:
		g.Fail(name, "want true or false, have %s", objects.Shape(v))
		return or
	}
}

// Number returns a number in [least, most], or the number or when it is missing.
func (g *Group) Number(name string, or, least, most float64) float64 {
	v := g.Get(name)
	if v == nil {
		return or
	}
	n, ok := expr.Number(v)
	if !ok {
		g.Fail(name, "want a number, have %s", objects.Shape(v))
		return or
	}
	if !(n >= least && n <= most) {
		g.Fail(name, "%v, want %v to %v", n, least, most)
		return or
	}
	return n
}

// Whole is Number for whole numbers.
func (g *Group) Whole(name string, or, least, most int64) int64 {
	n := g.Number(name, float64(or), float64(least), float64(most))
	if n != math.Trunc(n) {
		g.Fail(name, "%v, want a whole number", n)
		return or
	}
	return int64(n)
}
