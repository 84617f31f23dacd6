package lockfile

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// JavaScript's localeCompare follows the language of the user and the version of ICU. For names in
// ASCII all languages that a program usually runs in agree, and so does this order. For other names
// it follows the root order of Unicode for letters with accents and keeps scripts in the order of
// their code points; a user with another language may have had another order. Then the hash does
// not fit, and is reported as a difference.

// asciiOrder lists the printable characters of ASCII in the root order of Unicode (CLDR), upper case
// left out. Node.js 20 and 24 sort so (testdata/collate.json).
const asciiOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

var asciiWeights = func() (w [128]int) {
	for i := range len(asciiOrder) {
		w[asciiOrder[i]] = i + 1
	}
	for c := 'A'; c <= 'Z'; c++ {
		w[c] = w[c-'A'+'a']
	}
	return w
}()

// weights are the three levels of one string: letters, accents, case.
type weights struct{ first, second, third []int }

func weigh(s string) (w weights) {
	for _, r := range norm.NFD.String(s) {
		accent := unicode.Is(unicode.Mn, r)
		first := primary(r)
		if first == 0 && !accent {
			continue // a control character
		}
		second, third := 1, 0
		if accent {
			second += int(r)
		} else {
			w.first = append(w.first, first)
		}
		if unicode.IsUpper(r) {
			third = 1
		}
		w.second, w.third = append(w.second, second), append(w.third, third)
	}
	return w
}

// primary returns the weight of a character without its case: first the punctuation and the symbols,
// then the digits, then the letters.
func primary(r rune) int {
	const wide = 21 // bits of a character
	switch {
	case unicode.IsControl(r), unicode.Is(unicode.Mn, r):
		return 0
	case r < 128:
		return asciiWeights[r] << wide
	case unicode.IsLetter(r), unicode.IsNumber(r):
		return len(asciiOrder)<<wide + 1<<wide + int(unicode.ToLower(r))
	}
	return asciiWeights['$']<<wide + int(r)
}

// collate compares two paths as localeCompare does, and by their bytes where that finds no
// difference.
func collate(a, b string) int {
	x, y := weigh(a), weigh(b)
	return cmp.Or(slices.Compare(x.first, y.first), slices.Compare(x.second, y.second), slices.Compare(x.third, y.third), strings.Compare(a, b))
}

// units are the UTF-16 units by which JavaScript sorts without a language.
func units(s string) []uint16 { return utf16.Encode([]rune(s)) }
