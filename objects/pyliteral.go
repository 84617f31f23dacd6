package objects

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/internal/words"
)

// literal reads one literal. For anything else it returns nonLiteral; inside brackets
// it then skips to the next comma or closing bracket.
func (s *pyScanner) literal(depth int, inside bool) any {
	if depth > MaxDepth {
		s.fail(s.i, "nested deeper than %d levels", MaxDepth)
	}
	v := s.atom(depth, inside)
	if !inside {
		return v
	}
	s.space()
	switch s.peek(0) {
	case ',', ')', ']', '}', ':', 0:
		return v
	}
	s.expression(",:")
	return nonLiteral{}
}

func (s *pyScanner) atom(depth int, inside bool) any {
	if inside {
		s.space()
	}
	switch c := s.peek(0); {
	case c == '(':
		return s.parens(depth)
	case c == '[':
		s.i++
		l, _ := s.items(depth, ']')
		return l
	case c == '{':
		return s.dict(depth)
	case c == '"' || c == '\'':
		return s.strings(inside)
	case c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+':
		return s.number()
	case isWord(c):
		return s.word(inside)
	}
	return nonLiteral{}
}

// word reads a name: a constant, or the prefix of a string.
func (s *pyScanner) word(inside bool) any {
	start := s.i
	for isWord(s.peek(0)) {
		s.i++
	}
	name := string(s.b[start:s.i])
	if q := s.peek(0); q == '"' || q == '\'' {
		s.i = start
		return s.strings(inside)
	}
	switch name {
	case "True":
		return true
	case "False":
		return false
	case "None":
		return nil
	}
	return nonLiteral{}
}

// number reads an optionally signed int or float.
func (s *pyScanner) number() any {
	start := s.i
	if c := s.peek(0); c == '-' || c == '+' {
		s.i++
		s.blanks()
	}
	digits := s.i
	for {
		c := s.peek(0)
		exponent := s.i > digits && (c == '-' || c == '+') && (s.b[s.i-1]|0x20) == 'e' && !hexadecimal(s.b[digits:])
		if !isWord(c) && c != '.' && !exponent {
			break
		}
		s.i++
	}
	text := string(s.b[digits:s.i])
	if text == "" || text == "." || strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") {
		return nonLiteral{}
	}
	return pyNumber(text, s.b[start] == '-')
}

func hexadecimal(b []byte) bool { return len(b) > 1 && b[0] == '0' && b[1]|0x20 == 'x' }

func pyNumber(text string, negative bool) any {
	plain := strings.ReplaceAll(text, "_", "")
	if n, ok := new(big.Int).SetString(plain, intBase(plain)); ok && len(plain) < 400 {
		if negative {
			n.Neg(n)
		}
		if n.IsInt64() {
			return int(n.Int64())
		}
		f, _ := new(big.Float).SetInt(n).Float64()
		return f
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || intBase(plain) != 10 || plain[0] > '9' {
		return nonLiteral{}
	}
	if negative {
		f = -f
	}
	return f
}

// intBase returns 0 for a number with the prefix 0x, 0o or 0b, so that the parser looks at
// the prefix; otherwise 10.
func intBase(s string) int {
	if len(s) > 1 && s[0] == '0' && strings.ContainsRune("xXoObB", rune(s[1])) {
		return 0
	}
	return 10
}

// parens reads a tuple or a bracketed literal.
func (s *pyScanner) parens(depth int) any {
	s.i++
	l, commas := s.items(depth, ')')
	if commas == 0 && len(l) == 1 {
		return l[0]
	}
	return l
}

// items reads literals up to the closing bracket and counts the commas.
func (s *pyScanner) items(depth int, closing byte) ([]any, int) {
	start := s.i - 1
	l, commas := []any{}, 0
	for {
		s.space()
		switch s.peek(0) {
		case closing:
			s.i++
			return l, commas
		case 0:
			s.fail(start, "the bracket that opens here is never closed")
		}
		l = append(l, s.literal(depth+1, true))
		s.space()
		switch s.peek(0) {
		case ',':
			s.i++
			commas++
		case closing:
		default:
			s.toClosing(start, closing)
			return append(l[:len(l)-1], nonLiteral{}), commas
		}
	}
}

// toClosing skips an expression that is not a literal, including its closing bracket.
func (s *pyScanner) toClosing(start int, closing byte) {
	for {
		s.expression(",:")
		switch s.peek(0) {
		case ',', ':':
			s.i++
			continue
		case closing:
			s.i++
			return
		}
		s.fail(start, "the bracket that opens here is never closed")
	}
}

// dict reads {key: value}. It leaves out **unpacking and entries whose key is not a
// text; a set is not a literal here.
func (s *pyScanner) dict(depth int) any {
	start := s.i
	s.i++
	m := map[string]any{}
	for {
		s.space()
		switch s.peek(0) {
		case '}':
			s.i++
			return m
		case 0:
			s.fail(start, "the bracket that opens here is never closed")
		}
		at := s.i
		key := s.literal(depth+1, true)
		s.space()
		if s.peek(0) == ':' {
			s.i++
			v := s.literal(depth+1, true)
			s.space()
			if k, ok := key.(string); ok {
				if _, twice := m[k]; twice {
					s.fail(at, "key %q is given twice", words.Brief(k))
				}
				m[k] = v
			}
		} else if s.i > at && s.b[at] != '*' {
			s.toClosing(start, '}')
			return nonLiteral{}
		}
		switch s.peek(0) {
		case ',':
			s.i++
		case '}':
		default:
			s.toClosing(start, '}')
			return nonLiteral{}
		}
	}
}

// strings reads one string, or several in a row, which Python joins.
func (s *pyScanner) strings(inside bool) any {
	var b strings.Builder
	open := false
	for {
		plain := s.stringInto(&b)
		open = open || !plain
		if inside {
			s.space()
		} else {
			s.blanks()
		}
		if !s.atString() {
			break
		}
	}
	if open || !utf8.ValidString(b.String()) {
		return nonLiteral{}
	}
	return b.String()
}

// atString reports whether a string, with or without prefix, begins here.
func (s *pyScanner) atString() bool {
	for n := 0; n < 3; n++ {
		switch s.peek(n) {
		case '"', '\'':
			return true
		case 'r', 'R', 'u', 'U', 'b', 'B', 'f', 'F', 't', 'T':
		default:
			return false
		}
	}
	return false
}
