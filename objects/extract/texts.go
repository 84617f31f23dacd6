package extract

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/objects"
)

const maxMore = 16 // fields that an extractor may add to lists

// Texts are the texts of an item for lists and searches. No decision depends on them.
type Texts struct {
	Name, Title, Description, Category string

	Tags []string
	More []Text // sorted by name, none empty
}

// Text is a field that lists have only because an extractor adds it.
type Text struct{ Name, Value string }

// Texts returns the texts of an item for lists and searches. nil Rules are the rules of
// the standard library: each text is the field of that name.
func (r *Rules) Texts(it *objects.Item) Texts {
	m := &it.Meta
	t := Texts{Name: m.Name, Title: m.Title, Description: m.Description, Category: m.Category, Tags: m.Tags}
	if r == nil || it.Ref.Kind != r.Kind {
		if s := m.Questions(); s != "" {
			t.More = []Text{{"examples", bounded(s)}}
		}
		return t
	}
	for _, f := range []struct {
		name string
		into *string
	}{{"name", &t.Name}, {"title", &t.Title}, {"description", &t.Description}, {"category", &t.Category}} {
		if r.moved(f.name) {
			if s := textOf(r.at(it, f.name)); s != "" { // else the field itself
				*f.into = s
			}
		}
	}
	if r.moved("tags") {
		if l := tagsOf(r.at(it, "tags")); len(l) > 0 {
			t.Tags = l
		}
	}
	for _, name := range r.more {
		if s := textOf(r.at(it, name)); s != "" {
			t.More = append(t.More, Text{name, s})
		}
	}
	return t
}

// moved reports whether a rule takes the field's value from another place than the field.
func (r *Rules) moved(field string) bool {
	keys, ok := r.sources[field]
	return ok && !(len(keys) == 1 && keys[0] == field)
}

// at returns the value that the extractor takes for a field, from the item's metadata or
// the file's name.
func (r *Rules) at(it *objects.Item, field string) any {
	keys, ok := r.sources[field]
	switch {
	case !ok:
		keys = []string{field}
	case len(keys) == 0:
		return it.Ref.ID.Name()
	}
	return follow(it, keys)
}

// value is like at, for a rule of validation. It also returns the place of the value.
func (r *Rules) value(it *objects.Item, f *rule) (v any, place []string) {
	keys, ok := r.sources[f.name]
	if ok && len(keys) == 0 {
		return it.Ref.ID.Name(), nil
	}
	if !ok {
		keys = []string{f.name}
	}
	v = follow(it, keys)
	if len(keys) == 1 && keys[0] == "permissions" && f.itemType == "object" {
		v = ryeOSForm(it.Meta.Permissions) // RYE OS's schema is about the output of its parser
	}
	return v, keys
}

// follow returns the metadata value that keys lead to. A known field has the form that
// rye gives it.
func follow(it *objects.Item, keys []string) any {
	var v any
	for i, key := range keys {
		if i == 0 {
			v = known(it, key)
			continue
		}
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// known returns a field of the item. Text fields are as written ("1.10" and not 1.1),
// limits have no "max_" in their names, and inputs have their type.
func known(it *objects.Item, name string) any {
	m := &it.Meta
	raw, given := m.Fields[name]
	switch name {
	case "name":
		return m.Name
	case "examples":
		return m.Questions()
	case "id":
		if it.Ref.Kind == objects.Knowledge {
			return m.Name
		}
		return raw
	case "version", "title", "description", "category", "author", "entry_type", "tool_type":
		text := map[string]string{"version": m.Version, "title": m.Title, "description": m.Description, "category": m.Category,
			"author": m.Author, "entry_type": m.EntryType, "tool_type": m.ToolType}[name]
		if !given || raw == nil {
			return nil
		}
		if _, list := raw.([]any); text == "" || list && name != "author" {
			return raw
		}
		return text
	case "limits":
		if m.Budget != nil {
			return m.Budget
		}
	case "inputs":
		if it.Ref.Kind == objects.Directive && m.Inputs != nil {
			return inputs(m.Inputs)
		}
	}
	return raw
}

func inputs(all []objects.Input) []any {
	var l []any
	for _, in := range all {
		l = append(l, map[string]any{"name": in.Name, "type": in.Type, "required": in.Required, "default": in.Default, "description": in.Description})
	}
	return l
}

// ryeOSForm gives capabilities the form that RYE OS's parser gave them.
func ryeOSForm(caps []string) any {
	var l []any
	for _, c := range caps {
		l = append(l, map[string]any{"tag": "cap", "content": c})
	}
	return l
}

// textOf writes a value as one text: a list with commas, a mapping as "".
func textOf(v any) string {
	switch v := v.(type) {
	case []any:
		var parts []string
		for _, e := range v {
			if s := plain(e); s != "" {
				parts = append(parts, s)
			}
		}
		return bounded(strings.Join(parts, ", "))
	case nil, map[string]any:
		return ""
	}
	return bounded(plain(v))
}

func tagsOf(v any) []string {
	if s := plain(v); s != "" {
		return []string{bounded(s)}
	}
	l, _ := v.([]any)
	var all []string
	for _, e := range l[:min(len(l), MaxValues)] {
		if s := plain(e); s != "" && !slices.Contains(all, s) {
			all = append(all, bounded(s))
		}
	}
	return all
}

// bounded cuts a text that is too long for a list, between characters.
func bounded(s string) string {
	if len(s) <= MaxText {
		return s
	}
	s = s[:MaxText]
	for len(s) > 0 {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
