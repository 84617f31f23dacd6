package objects

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Every command begins by reading trust.yaml and rye.yaml, which rye wrote itself, as
// blocks of short lines. The YAML library takes 0.3 ms for them in a process that has just
// begun, a quarter of all that loading an item took, so they are read here. What is not of
// this form, to the letter, is left to the library, and so is everything that is wrong:
// here is nothing refused. FuzzPlainFile compares the values.
//
//	# a comment on a line of its own
//	key: scalar                key of letters, digits, _ - . and /, a letter first
//	key:
//	  key: scalar              two more spaces for what belongs to a key,
//	key:
//	  - scalar                 be it a list
//	  - key: scalar            or a list of mappings
//	    key: "no escapes"

// plainDecode reads text into the struct that into points to, which must be empty. It
// reports false, and into is as it was, where text or the struct is not that simple.
func plainDecode(text []byte, into any) bool {
	p := reflect.ValueOf(into)
	if p.Kind() != reflect.Pointer || p.Elem().Kind() != reflect.Struct || !p.Elem().IsZero() {
		return false
	}
	v := reflect.New(p.Type().Elem()).Elem()
	l := plainLines{rest: string(text)}
	if !l.next() || l.ended || l.indent != 0 || !l.mapping(0, v, 1) || !l.ended {
		return false
	}
	p.Elem().Set(v)
	return true
}

// plainLines is a text with a line of it taken apart.
type plainLines struct {
	rest   string // after the line
	indent int    // blanks before its words
	words  string
	ended  bool // there was no further line
}

// next goes to the next line that is no comment; false where it cannot be read.
func (l *plainLines) next() bool {
	for {
		row, rest, ok := strings.Cut(l.rest, "\n")
		switch {
		case !ok && row == "":
			l.ended, l.indent, l.words = true, -1, ""
			return true
		case !ok:
			return false
		}
		l.rest = rest
		if strings.HasPrefix(row, "#") {
			if !printable(row) {
				return false
			}
			continue
		}
		l.words = strings.TrimLeft(row, " ")
		l.indent = len(row) - len(l.words)
		return l.words != ""
	}
}

// printable reports bytes that are neither controls nor the beginning of more than ASCII.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// value reads what belongs to the key of the line, which is its last word or not.
func (l *plainLines) value(words string, indent int, v reflect.Value, depth int) bool {
	if words != "" {
		return plainScalar(words, v) && l.next()
	}
	if !l.next() || l.indent != indent+2 {
		return false
	}
	if strings.HasPrefix(l.words, "- ") {
		return l.sequence(l.indent, v, depth+1)
	}
	return l.mapping(l.indent, v, depth+1)
}

// mapping reads the lines with this indent.
func (l *plainLines) mapping(indent int, v reflect.Value, depth int) bool {
	if depth > MaxDepth || hasOwnForm(v) {
		return false
	}
	given := map[string]bool{}
	for l.indent == indent {
		key, words, ok := strings.Cut(l.words, ":")
		if !ok || !plainKey(key) || given[key] {
			return false
		}
		given[key] = true
		if words != "" {
			if words, ok = strings.CutPrefix(words, " "); !ok || words == "" {
				return false
			}
		}
		switch v.Kind() {
		case reflect.Struct:
			field, ok := fieldNamed(v, key)
			if !ok || !l.value(words, indent, field, depth) {
				return false
			}
		case reflect.Map:
			if v.Type().Key() != reflect.TypeFor[string]() {
				return false
			}
			held := reflect.New(v.Type().Elem()).Elem()
			if !l.value(words, indent, held, depth) {
				return false
			}
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(key), held)
		default:
			return false
		}
	}
	return l.indent < indent
}

// sequence reads the entries with this indent.
func (l *plainLines) sequence(indent int, v reflect.Value, depth int) bool {
	if v.Kind() != reflect.Slice || hasOwnForm(v) {
		return false
	}
	for l.indent == indent {
		words, ok := strings.CutPrefix(l.words, "- ")
		if !ok {
			return false
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		held := v.Index(v.Len() - 1)
		if k := held.Kind(); k == reflect.Struct || k == reflect.Map {
			l.indent, l.words = indent+2, words
			ok = l.mapping(l.indent, held, depth+1)
		} else {
			ok = plainScalar(words, held) && l.next()
		}
		if !ok {
			return false
		}
	}
	return l.indent < indent
}

// fieldNamed returns the field that the struct v has for a key.
func fieldNamed(v reflect.Value, key string) (reflect.Value, bool) {
	t := v.Type()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name == key {
			return v.Field(i), t.Field(i).IsExported()
		}
	}
	return reflect.Value{}, false
}

// hasOwnForm reports a type that decides itself how it is read.
func hasOwnForm(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler, yaml.Unmarshaler, *time.Duration:
		return true
	}
	return false
}

// plainScalar sets v to what the words of one line mean to it.
func plainScalar(words string, v reflect.Value) bool {
	if hasOwnForm(v) {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		s, ok := plainString(words)
		v.SetString(s)
		return ok
	case reflect.Bool:
		v.SetBool(words == "true")
		return words == "true" || words == "false"
	case reflect.Int, reflect.Int64:
		n, ok := plainNumber(words)
		v.SetInt(n)
		return ok
	case reflect.Uint64:
		n, ok := plainNumber(words)
		v.SetUint(uint64(n))
		return ok
	}
	return false
}

// plainNumber: digits that begin with no 0, as many as fit wherever numbers go.
func plainNumber(s string) (int64, bool) {
	if s == "" || len(s) > 9 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(s) {
		if !digit(s[i]) {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// plainKey: letters, digits, _ - . and /, a letter first.
func plainKey(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (i == 0 || !digit(c) && !strings.ContainsRune("_-./", rune(c))) {
			return false
		}
	}
	return s != "" && len(s) < 128 && !special(s)
}

// plainString: words in quotes that stand for themselves, or words without that begin
// with a letter, a digit or a slash. A field of text takes those as they are, whatever
// else they could mean, unless they mean null.
func plainString(s string) (string, bool) {
	if in, ok := strings.CutPrefix(s, `"`); ok {
		in, ok = strings.CutSuffix(in, `"`)
		return in, ok && printable(in) && !strings.ContainsAny(in, `"\`)
	}
	if s == "" || !letter(s[0]) && !digit(s[0]) && s[0] != '/' || s[len(s)-1] == ' ' || special(s) {
		return "", false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case letter(c), digit(c), strings.ContainsRune(" _-./,;()+=@", rune(c)):
		case c == ':' && i+1 < len(s) && s[i+1] != ' ':
		default:
			return "", false
		}
	}
	return s, true
}
