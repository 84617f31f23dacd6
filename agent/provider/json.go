package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// member is one member of an object, with its value already encoded.
type member struct {
	name string
	raw  []byte
}

// members are members in the order in which they are sent.
type members []member

func (ms members) has(name string) bool {
	for _, m := range ms {
		if m.name == name {
			return true
		}
	}
	return false
}

// writer writes JSON in exactly one way: members in the given order, no spaces, only necessary
// escapes.
type writer struct {
	b     []byte
	comma bool // a value precedes on this level
}

func (w *writer) open(c byte)  { w.sep(); w.b = append(w.b, c); w.comma = false }
func (w *writer) close(c byte) { w.b = append(w.b, c); w.comma = true }

func (w *writer) sep() {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
}

func (w *writer) name(s string) {
	w.sep()
	w.b = append(appendText(w.b, s), ':')
	w.comma = false
}

func (w *writer) raw(v []byte)  { w.sep(); w.b = append(w.b, v...) }
func (w *writer) text(s string) { w.sep(); w.b = appendText(w.b, s) }

func (w *writer) member(name string, raw []byte) { w.name(name); w.raw(raw) }
func (w *writer) textMember(name, s string)      { w.name(name); w.text(s) }
func (w *writer) members(ms members) {
	for _, m := range ms {
		w.member(m.name, m.raw)
	}
}

// appendText writes a JSON string. Bytes that are not UTF-8 become the replacement character.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[from:i]...), "\ufffd"...)
			from = i + 1
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

// encodeAny writes a value with sorted keys and unchanged numbers.
func encodeAny(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decodeAny reads one value with unchanged numbers, and refuses bytes after it.
func decodeAny(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text follows the value")
	}
	return v, nil
}

// canonical rewrites a JSON object with sorted keys; nil gives {}.
func canonical(raw json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte("{}"), nil
	}
	v, err := decodeAny(raw)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, fmt.Errorf("not an object")
	}
	return encodeAny(v)
}

// compact returns an object without spaces, with its members and numbers unchanged.
func compact(raw json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte("{}"), nil
	}
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	if b.Bytes()[0] != '{' {
		return nil, fmt.Errorf("not an object")
	}
	return b.Bytes(), nil
}

// argsOf returns the arguments of a call from the model's text; bad describes a fault in it.
func argsOf(s string) (args json.RawMessage, bad string) {
	if strings.TrimSpace(s) == "" {
		return json.RawMessage("{}"), ""
	}
	raw, err := compact(json.RawMessage(s))
	if err == nil && !utf8.Valid(raw) {
		err = fmt.Errorf("not UTF-8")
	}
	if err != nil {
		return json.RawMessage("{}"), "the arguments are not a JSON object: " + err.Error()
	}
	return raw, ""
}

// jsonFault describes a fault in JSON without names of this program.
func jsonFault(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Sprintf("a %s in the wrong place", t.Value)
	}
	return err.Error()
}
