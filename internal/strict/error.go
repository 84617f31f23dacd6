package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	v2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Error is a place in a text that breaks the rules of its Reader. It comes wrapped in a
// fault.Error with the code Malformed.
type Error struct {
	Line   int // 1-based; 0 for the whole text
	Column int // 1-based, in bytes; 0 when Line is
	Msg    string
}

// Error returns "line 2:5: message", or the message alone.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d:%d: %s", e.Line, e.Column, e.Msg)
}

func bad(line, column int, format string, args ...any) error {
	e := &Error{line, column, fmt.Sprintf(format, args...)}
	err := fault.New(fault.Malformed, "%w", e)
	if mend := Mend(e.Msg); mend != "" {
		return err.Advise("%s", mend)
	}
	return err
}

// badAt returns an error with the place of a byte. Lines end with LF.
func badAt(raw []byte, off int, format string, args ...any) error {
	head := raw[:max(0, min(off, len(raw)))]
	return bad(1+bytes.Count(head, []byte{'\n'}), len(head)-bytes.LastIndexByte(head, '\n'), format, args...)
}

// mends maps a part of a message to the remedy.
var mends = []struct{ holds, mend string }{
	{"a comma before", "delete the comma"},
	{"want a name", "put quotes around the name"},
	{"want a value", "put quotes around the text"},
	{"want , or", "put quotes around the text, or a comma before the next name"},
	{"after the value", "delete what stands behind the value"},
	{"is given twice", "delete one of the two"},
}

// Mend returns the remedy for a message of this package, or "".
func Mend(msg string) string {
	for _, m := range mends {
		if strings.Contains(msg, m.holds) {
			return m.mend
		}
	}
	return ""
}

// expected maps a place in the decoder's message to the text that would be right there.
var expected = []struct{ where, want string }{
	{"at start of value", "want a value"},
	{"at start of string", "want a name in quotation marks"},
	{"after object name", "want : behind the name"},
	{"after object value", "want , or } behind the value"},
	{"after array element", "want , or ] behind the value"},
	{"in string", "control characters are escaped in a text"},
	{"in number", "want a digit"},
	{"in literal", "want true, false or null"},
}

// syntax returns an error of the decoder with its place, in words of this package, because the
// decoder's words change with its version.
func syntax(raw []byte, err error) error {
	var at *jsontext.SyntacticError
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return badAt(raw, len(raw), "the JSON ends early")
	}
	if !errors.As(err, &at) {
		return bad(0, 0, "%s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	off := int(at.ByteOffset)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return badAt(raw, len(raw), "the JSON ends early")
	}
	if errors.Is(err, jsontext.ErrNonStringName) {
		return badAt(raw, off, "want a name in quotation marks")
	}
	if end := trailing(raw, off); end != 0 {
		return badAt(raw, off, "a comma before %c", end)
	}
	text := at.Err.Error()
	for _, e := range expected {
		if strings.Contains(text, e.where) && strings.Contains(text, "invalid character") {
			what, _, _ := strings.Cut(strings.TrimPrefix(text, "invalid character "), " "+e.where)
			return badAt(raw, off, "invalid character %s: %s", what, e.want)
		}
	}
	return badAt(raw, off, "%s", text)
}

// trailing returns the closing bracket after a comma at off, or 0 when there is none.
func trailing(raw []byte, off int) byte {
	if off >= len(raw) || raw[off] != ',' {
		return 0
	}
	if rest := bytes.TrimLeft(raw[off+1:], " \t\r\n"); len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
		return rest[0]
	}
	return 0
}

// semantic returns the error for a value that does not fit its Go type, with its place.
func semantic(raw []byte, err error) error {
	var e *v2.SemanticError
	if !errors.As(err, &e) {
		return syntax(raw, err)
	}
	off := int(e.ByteOffset)
	off = skipBlanks(raw, off)
	switch {
	case errors.Is(e.Err, v2.ErrUnknownName):
		return bad(0, 0, "json: unknown field %q", words.Brief(e.JSONPointer.LastToken()))
	case e.Err == nil || errors.Is(e.Err, strconv.ErrRange) || errors.Is(e.Err, strconv.ErrSyntax):
		if e.GoType != nil {
			return badAt(raw, off, "json: %s%s, want %s", path(e.JSONPointer), have(e), want(e.GoType))
		}
	}
	if e.Err != nil {
		return badAt(raw, off, "json: %s%s", path(e.JSONPointer), strings.TrimPrefix(e.Err.Error(), "json: "))
	}
	return badAt(raw, off, "json: %s%s in the wrong place", path(e.JSONPointer), have(e))
}

// path returns the path to a value as the prefix of a message; "" for a whole document.
func path(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	var all []string
	for name := range p.Tokens() {
		all = append(all, name)
	}
	return words.Brief(strings.Join(all, ".")) + ": "
}

// have names the kind of the JSON value.
func have(e *v2.SemanticError) string {
	switch e.JSONKind {
	case '"':
		return "string"
	case '0':
		if len(e.JSONValue) > 0 {
			return "number " + words.Brief(string(e.JSONValue))
		}
		return "number"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	case '[':
		return "array"
	}
	return "object"
}

// want names the kind of JSON value that a Go type needs.
func want(t reflect.Type) string {
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
		return want(t.Elem())
	}
	return "a whole number"
}
