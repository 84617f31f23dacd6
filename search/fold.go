package search

import (
	"unicode"
	"unicode/utf8"
)

// Words are compared in lower case and without accents. Other characters stay as they are.

// latin maps the letters from U+00C0 to U+017F to letters without accents; ? for two letters.
const latin = "aaaaaa?ceeeeiiiidnooooo?ouuuuy??aaaaaa?ceeeeiiiidnooooo?ouuuuy?y" +
	"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii??jjkkkllllllllllnnnnnnnnnoooooo??rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"

// pairs maps the letters that become two.
var pairs = map[rune]string{'Æ': "ae", 'æ': "ae", 'Þ': "th", 'þ': "th", 'ß': "ss", 'Ĳ': "ij", 'ĳ': "ij", 'Œ': "oe", 'œ': "oe"}

// fold appends a letter or digit, folded.
func fold(b []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(b, byte(r))
	case r >= 0xC0 && r <= 0x17F:
		if c := latin[r-0xC0]; c != '?' {
			return append(b, c)
		}
		return append(b, pairs[r]...)
	}
	return utf8.AppendRune(b, unicode.ToLower(r))
}

// Kinds of characters, to separate words.
const (
	between = iota // separates words
	lower
	upper
	digit
	ideograph // a word by itself, in scripts without spaces
	mark      // an accent: skipped
	link      // _ and -, which join the parts of a word
	quote     // an apostrophe
)

func kindOf(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		return lower
	case r >= 'A' && r <= 'Z':
		return upper
	case r >= '0' && r <= '9':
		return digit
	case r == '_' || r == '-':
		return link
	case r == '\'' || r == '’':
		return quote
	case r < 0xAA || r == '×' || r == '÷' || r == utf8.RuneError:
		return between
	case r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return ideograph
	case unicode.Is(unicode.Mn, r):
		return mark
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	}
	return between
}
