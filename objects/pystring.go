package objects

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// stringInto reads one string with its prefix into b. It returns false for bytes,
// templates and escapes by name, which are not literals here.
func (s *pyScanner) stringInto(b *strings.Builder) bool {
	raw, open := false, false
	for s.peek(0) != '"' && s.peek(0) != '\'' {
		switch s.peek(0) | 0x20 {
		case 'r':
			raw = true
		case 'u':
		default:
			open = true
		}
		s.i++
	}
	start := s.i
	s.skipString()
	if open {
		return false
	}
	n := 1
	if triple(s.b[start:s.i]) {
		n = 3
	}
	text := s.b[start+n : s.i-n]
	if raw || bytes.IndexByte(text, '\\') < 0 {
		b.Write(text)
		return true
	}
	return unescape(b, text)
}

// triple reports whether a whole string is in triple quotes.
func triple(str []byte) bool {
	return len(str) >= 6 && str[1] == str[0] && str[2] == str[0]
}

// unescape writes text with Python's escapes resolved.
func unescape(b *strings.Builder, text []byte) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			b.WriteByte(c)
			continue
		}
		i++
		c = text[i]
		if k := strings.IndexByte("abfnrtv\\'\"", c); k >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v\\'\""[k])
			continue
		}
		switch {
		case c == '\n':
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
			i++
		case c >= '0' && c <= '7':
			n := 1
			for n < 3 && i+n < len(text) && text[i+n] >= '0' && text[i+n] <= '7' {
				n++
			}
			if !codePoint(b, text[i:i+n], 8) {
				return false
			}
			i += n - 1
		case c == 'x' || c == 'u' || c == 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+1+n > len(text) || !codePoint(b, text[i+1:i+1+n], 16) {
				return false
			}
			i += n
		case c == 'N':
			return false
		default: // Python keeps the backslash of an escape it does not know
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return true
}

func codePoint(b *strings.Builder, digits []byte, base int) bool {
	n, err := strconv.ParseUint(string(digits), base, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return false
	}
	b.WriteRune(rune(n))
	return true
}

// skipString skips the string whose quote is the current byte. The letters before the
// quote decide whether it is raw or a template.
func (s *pyScanner) skipString() {
	start := s.i
	q := s.b[s.i]
	template, raw := s.prefix()
	s.i++
	long := s.peek(0) == q && s.peek(1) == q
	if long {
		s.i += 2
	}
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '\\' && template && s.peek(1) == '{': // escapes no brace
		case c == '\\' && template && !raw && s.peek(1) == 'N' && s.peek(2) == '{':
			s.i += 2
		case c == '\\':
			s.i++
			if s.peek(0) == '\r' && s.peek(1) == '\n' {
				s.i++
			}
		case c == q && !long:
			s.i++
			return
		case c == q && s.peek(1) == q && s.peek(2) == q:
			s.i += 3
			return
		case c == '\n' && !long:
			s.fail(start, "the string that begins here does not end in its line")
		case c == '{' && template:
			if s.peek(1) != '{' {
				s.field()
				continue
			}
			s.i++
		}
		s.i++
	}
	s.fail(start, "the string that begins here never ends")
}

// prefix reports whether the string at the current quote has f or t, and r,
// among the letters before it.
func (s *pyScanner) prefix() (template, raw bool) {
	j := s.i
	for j > 0 && s.i-j < 3 && isWord(s.b[j-1]) {
		j--
	}
	letters := strings.ToLower(string(s.b[j:s.i]))
	if len(letters) > 2 || strings.Trim(letters, "rft") != "" {
		return false, false
	}
	return strings.ContainsAny(letters, "ft"), strings.Contains(letters, "r")
}

// field skips {expression!conversion:format} in a template string.
func (s *pyScanner) field() {
	start := s.i
	if s.nest++; s.nest > MaxDepth {
		s.fail(s.i, "nested deeper than %d levels", MaxDepth)
	}
	s.i++
	s.expression(":")
	if s.peek(0) == ':' {
		s.i++
		for s.i < len(s.b) && s.b[s.i] != '}' && s.b[s.i] != '\n' {
			if s.b[s.i] == '{' {
				s.field()
				continue
			}
			s.i++
		}
	}
	if s.peek(0) != '}' {
		s.fail(start, "the { that opens here is never closed")
	}
	s.i++
	s.nest--
}
