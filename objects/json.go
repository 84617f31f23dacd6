package objects

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// DecodeJSON reads JSON strictly: at most limit bytes of UTF-8, one value with
// nothing behind it, no nesting below MaxDepth, no key twice in an object (not
// even in another case), and no field that into's structs do not name in exactly
// that case: encoding/json alone takes "NAME" for "name". Numbers in an any
// become float64, as encoding/json does it.
func DecodeJSON(raw []byte, limit int, into any) error {
	if _, err := checkJSON("", raw, limit); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return jsonError("", raw, err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return jsonError("", raw, err)
	}
	if name := foldedField(tree, reflect.TypeOf(into)); name != "" {
		return malformed("", 0, 0, "json: unknown field %q", words.Brief(name))
	}
	return nil
}

// jsonError places an error of encoding/json.
func jsonError(path string, raw []byte, err error) error {
	var syn *json.SyntaxError
	var typ *json.UnmarshalTypeError
	m := mark{}
	switch {
	case errors.As(err, &syn):
		m = markOf(raw, int(syn.Offset)-1)
	case errors.As(err, &typ):
		m = markOf(raw, int(typ.Offset)-1)
		return malformed(path, m.line, m.col, "json: %s%s, want %s", fieldOf(typ), typ.Value, jsonKind(typ.Type))
	}
	return malformed(path, m.line, m.col, "%s", strings.TrimPrefix(err.Error(), "json: "))
}

// fieldOf is the path of what has the wrong type, and what to say of it; "" for a whole
// document.
func fieldOf(typ *json.UnmarshalTypeError) string {
	name := typ.Field
	if i := strings.LastIndexByte(name, '.'); i >= 0 && strings.ToLower(name[:i]) != name[:i] {
		name = name[i+1:] // the rest is the name of an embedded struct
	}
	if name == "" {
		return ""
	}
	return words.Brief(name) + ": "
}

// jsonKind is what JSON calls the values of a Go type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	}
	return "a whole number"
}

// checkJSON refuses everything that two JSON readers could see differently. It
// returns where the keys of the outermost object stand.
func checkJSON(path string, raw []byte, limit int) (map[string]int, error) {
	if len(raw) > limit {
		return nil, fault.New(fault.Limit, "json: %d bytes, at most %d are allowed", len(raw), limit)
	}
	if !utf8.Valid(raw) {
		return nil, malformed(path, 0, 0, "json: not UTF-8")
	}
	if bytes.HasPrefix(raw, bom) {
		return nil, malformed(path, 1, 1, "json: a byte order mark")
	}
	var whole json.RawMessage // only Unmarshal counts the bytes up to an error right
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, jsonError(path, raw, err)
	}
	s := jsonScan{path: path, raw: raw, dec: json.NewDecoder(bytes.NewReader(raw)), top: map[string]int{}}
	s.dec.UseNumber()
	if err := s.value(1); err != nil {
		return nil, err
	}
	return s.top, nil
}

// jsonScan walks the tokens of a document.
type jsonScan struct {
	path string
	raw  []byte
	dec  *json.Decoder
	top  map[string]int // offsets of the outermost keys
}

func (s *jsonScan) bad(format string, args ...any) error {
	return s.badAt(int(s.dec.InputOffset()), format, args...)
}

func (s *jsonScan) badAt(off int, format string, args ...any) error {
	m := markOf(s.raw, off)
	return malformed(s.path, m.line, m.col, format, args...)
}

func (s *jsonScan) value(depth int) error {
	t, err := s.dec.Token()
	if err != nil {
		return jsonError(s.path, s.raw, err)
	}
	d, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if depth > MaxDepth {
		return s.bad("nested deeper than %d levels", MaxDepth)
	}
	var seen map[string]bool
	if d == '{' {
		seen = map[string]bool{}
	}
	for s.dec.More() {
		if seen != nil {
			if err := s.key(seen, depth); err != nil {
				return err
			}
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	if _, err := s.dec.Token(); err != nil {
		return jsonError(s.path, s.raw, err)
	}
	return nil
}

func (s *jsonScan) key(seen map[string]bool, depth int) error {
	t, err := s.dec.Token()
	if err != nil {
		return jsonError(s.path, s.raw, err)
	}
	k, ok := t.(string)
	if !ok {
		return s.bad("a key that is not a string")
	}
	at := int(s.dec.InputOffset()) - len(k) - 2 // of the key, unless it has escapes
	folded := foldKey(k)
	if seen[folded] {
		return s.badAt(at, "key %q is given twice", words.Brief(k))
	}
	seen[folded] = true
	if depth == 1 {
		s.top[k] = at
	}
	return nil
}

// foldKey maps keys that encoding/json takes for the same to the same text: it
// folds like bytes.EqualFold, under which K and the Kelvin sign are one.
func foldKey(k string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case 'K':
			return 'k'
		case 'ſ':
			return 's'
		}
		return r
	}, strings.ToLower(k))
}

// foldedField returns the first key of tree that a struct of t has only in
// another case, "" when there is none.
func foldedField(tree any, t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || reflect.PointerTo(t).Implements(unmarshaler) {
		return ""
	}
	switch v := tree.(type) {
	case map[string]any:
		return foldedIn(v, t)
	case []any:
		if k := t.Kind(); k != reflect.Slice && k != reflect.Array {
			return ""
		}
		for _, e := range v {
			if name := foldedField(e, t.Elem()); name != "" {
				return name
			}
		}
	}
	return ""
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func foldedIn(v map[string]any, t reflect.Type) string {
	var fields map[string]reflect.Type
	switch t.Kind() {
	case reflect.Map:
	case reflect.Struct:
		fields = map[string]reflect.Type{}
		jsonFields(t, fields)
	default:
		return ""
	}
	for k, e := range v {
		next, ok := fields[k]
		if fields == nil {
			next, ok = t.Elem(), true
		}
		if !ok {
			return k
		}
		if name := foldedField(e, next); name != "" {
			return name
		}
	}
	return ""
}

// jsonFields collects the names under which encoding/json knows t's fields.
func jsonFields(t reflect.Type, into map[string]reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		into[tag] = f.Type
	}
}
