package audit

import (
	"strings"
	"unicode"
)

// latin returns a text with letters of other scripts that look like Latin ones replaced by them, in words that
// have both. So a word that a reader takes for English is read as English.
func latin(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	for _, word := range strings.SplitAfter(text, " ") {
		if mixed(word) {
			word = strings.Map(func(r rune) rune {
				if l, ok := looksLike[r]; ok {
					return l
				}
				return r
			}, word)
		}
		b.WriteString(word)
	}
	return b.String()
}

// mixed reports whether a word has Latin letters and Cyrillic ones that look like them.
func mixed(word string) bool {
	ascii, other := false, false
	for _, r := range word {
		ascii = ascii || r < 0x80 && unicode.IsLetter(r)
		_, like := looksLike[r]
		other = other || like
	}
	return ascii && other
}

// looksLike are letters of Cyrillic that look like Latin ones.
var looksLike = map[rune]rune{
	'а': 'a', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'ӏ': 'l', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'у': 'y', 'х': 'x',
	'ѵ': 'v', 'ԝ': 'w', 'т': 't', 'п': 'n', 'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P',
	'Ѕ': 'S', 'Т': 'T', 'Х': 'X', 'У': 'Y',
}

// disguise finds words in which letters of two scripts stand for those of one.
func (s *scan) disguise(line string) {
	if plain(line) {
		return
	}
	n := 0
	for _, word := range strings.Fields(line) {
		if len(word) >= 4 && mixed(word) {
			n++
		}
	}
	if n >= 2 {
		s.add("hidden-unicode", High, s.line, line, "words of letters from two scripts that look alike")
	}
}
