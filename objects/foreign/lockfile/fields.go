package lockfile

import (
	"encoding/json"
	"strconv"

	"github.com/rye-os/rye/fault"
)

// fields is a mapping of a lock file. Each field that a reader asks for is known; leftover counts the
// others.
type fields struct {
	values map[string]any
	known  map[string]bool
	wrong  string // the first field with another type than its reader wants
}

// mapping returns a value as a mapping, and false for any other value.
func mapping(v any) (*fields, bool) {
	m, ok := v.(map[string]any)
	return &fields{values: m, known: make(map[string]bool, len(m))}, ok
}

func (f *fields) get(name string) any {
	f.known[name] = true
	return f.values[name]
}

// knows declares fields that are read by nobody and are no surprise.
func (f *fields) knows(names ...string) *fields {
	for _, n := range names {
		f.known[n] = true
	}
	return f
}

// leftover counts the fields that nobody asked for. Those that begin with x- are vendors' own.
func (f *fields) leftover() (n int) {
	for name := range f.values {
		if !f.known[name] {
			n++
		}
	}
	return n
}

func (f *fields) bad(name string) {
	if f.wrong == "" {
		f.wrong = name
	}
}

// str returns a text; "" for none.
func (f *fields) str(name string) string {
	switch v := f.get(name).(type) {
	case nil:
		return ""
	case string:
		if !text(v) {
			f.bad(name)
			return ""
		}
		return v
	}
	f.bad(name)
	return ""
}

// yes returns a truth value; false for none.
func (f *fields) yes(name string) bool {
	v := f.get(name)
	b, ok := v.(bool)
	if v != nil && !ok {
		f.bad(name)
	}
	return b
}

// number returns a whole number or its text; "" for none.
func (f *fields) number(name string) string {
	switch v := f.get(name).(type) {
	case nil:
		return ""
	case json.Number:
		return v.String()
	case int:
		return strconv.Itoa(v)
	case string:
		if text(v) {
			return v
		}
	}
	f.bad(name)
	return ""
}

// list returns the texts of a list; nil for none.
func (f *fields) list(name string) (all []string) {
	v := f.get(name)
	items, ok := v.([]any)
	if v != nil && !ok {
		f.bad(name)
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok || !text(s) {
			f.bad(name)
			return nil
		}
		all = append(all, s)
	}
	return all
}

// items returns the values of a list at the top of a lock file.
func (f *fields) items(name string) ([]any, error) {
	v := f.get(name)
	items, ok := v.([]any)
	if v != nil && !ok {
		return nil, fault.New(fault.Malformed, "%s is no list", name)
	}
	return items, nil
}
