package journal

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Bounds of a payload.
const (
	maxDepth   = 128
	maxMembers = 64 // of the payload itself
)

// member is one of a payload.
type member struct {
	name  string
	kind  byte // s string, i integer, n other number, b boolean, z null, o object, a array
	value []byte
}

// members checks that b is one JSON object, without spaces, in UTF-8, whose members have names
// by isName, each once; and returns them. Below them names may be anything, and double: that is
// for who reads what a model or a tool said.
func members(b []byte) ([]member, error) {
	if !utf8.Valid(b) {
		return nil, malformed("it is not in UTF-8")
	}
	s := scanner{b: b}
	if !s.take('{') {
		return nil, malformed("it is no object")
	}
	var all []member
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return nil, s.unexpected()
		}
		from := s.i
		if err := s.text(); err != nil {
			return nil, err
		}
		m := member{name: string(b[from+1 : s.i-1])}
		if !isName(m.name) {
			return nil, malformed("its member %q is none that a record has", m.name)
		}
		for _, other := range all {
			if other.name == m.name {
				return nil, malformed("its member %s stands there twice", m.name)
			}
		}
		if !s.take(':') {
			return nil, s.unexpected()
		}
		from = s.i
		kind, err := s.value(1)
		if err != nil {
			return nil, err
		}
		m.kind, m.value = kind, b[from:s.i]
		if all = append(all, m); len(all) > maxMembers {
			return nil, malformed("it has more than %d members", maxMembers)
		}
	}
	if s.i != len(b) {
		return nil, s.unexpected()
	}
	return all, nil
}

// scanner reads JSON as RFC 8259 has it, without spaces.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) unexpected() error {
	if s.i >= len(s.b) {
		return malformed("it ends early")
	}
	return malformed("unexpected %q at byte %d", s.b[s.i], s.i)
}

func (s *scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// value passes over one value and returns its kind.
func (s *scanner) value(depth int) (kind byte, err error) {
	if depth > maxDepth {
		return 0, malformed("it is nested deeper than %d", maxDepth)
	}
	if s.i >= len(s.b) {
		return 0, s.unexpected()
	}
	switch c := s.b[s.i]; c {
	case '"':
		return 's', s.text()
	case '{':
		return 'o', s.list('}', func() error {
			if err := s.text(); err != nil {
				return err
			}
			if !s.take(':') {
				return s.unexpected()
			}
			_, err := s.value(depth + 1)
			return err
		})
	case '[':
		return 'a', s.list(']', func() error { _, err := s.value(depth + 1); return err })
	case 't':
		return 'b', s.word("true")
	case 'f':
		return 'b', s.word("false")
	case 'n':
		return 'z', s.word("null")
	}
	return s.number()
}

// list passes over what stands between brackets.
func (s *scanner) list(end byte, one func() error) error {
	s.i++
	for first := true; !s.take(end); first = false {
		if !first && !s.take(',') {
			return s.unexpected()
		}
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) word(w string) error {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return s.unexpected()
	}
	s.i += len(w)
	return nil
}

// text passes over a string.
func (s *scanner) text() error {
	if !s.take('"') {
		return s.unexpected()
	}
	for {
		for s.i < len(s.b) && plain[s.b[s.i]] {
			s.i++
		}
		if s.i >= len(s.b) {
			return s.unexpected()
		}
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return nil
		case c < 0x20:
			return s.unexpected()
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
}

// plain are the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < len(t); c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func (s *scanner) escape() error {
	s.i++
	if s.i >= len(s.b) {
		return s.unexpected()
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return nil
	case 'u':
		s.i++
		for range 4 {
			if s.i >= len(s.b) || !isHex(s.b[s.i]) {
				return s.unexpected()
			}
			s.i++
		}
		return nil
	}
	return s.unexpected()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) number() (kind byte, err error) {
	s.take('-')
	if !s.take('0') && s.digits() == 0 {
		return 0, s.unexpected()
	}
	kind = 'i'
	if s.take('.') {
		if kind = 'n'; s.digits() == 0 {
			return 0, s.unexpected()
		}
	}
	if s.take('e') || s.take('E') {
		kind = 'n'
		if !s.take('+') {
			s.take('-')
		}
		if s.digits() == 0 {
			return 0, s.unexpected()
		}
	}
	return kind, nil
}

func (s *scanner) digits() (n int) {
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i, n = s.i+1, n+1
	}
	return n
}

// quote appends a text as RFC 8785 writes it.
func quote(b []byte, text string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		default:
			switch c {
			case '\b':
				b = append(b, `\b`...)
			case '\t':
				b = append(b, `\t`...)
			case '\n':
				b = append(b, `\n`...)
			case '\f':
				b = append(b, `\f`...)
			case '\r':
				b = append(b, `\r`...)
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
	}
	return append(b, '"')
}

// payload returns the members of a payload, and the payload without spaces between them. Most
// have none, and are not copied.
func payload(data []byte) ([]byte, []member, error) {
	if all, err := members(data); err == nil {
		return data, all, nil
	}
	var b bytes.Buffer
	b.Grow(len(data))
	if err := json.Compact(&b, data); err != nil {
		return nil, nil, malformed("%w", err)
	}
	all, err := members(b.Bytes())
	return b.Bytes(), all, err
}
