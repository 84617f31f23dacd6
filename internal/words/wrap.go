package words

import (
	"strings"
	"unicode"
)

// Wrap breaks a line at spaces, so that no part is wider than columns, and puts hang spaces
// before every part except the first. It never breaks a word: a word that is wider than a line
// gets its own line. Escape sequences that colour text (SGR) take no room.
func Wrap(line string, columns, hang int) string {
	if columns <= 0 || Width(line) <= columns {
		return line
	}
	var b strings.Builder
	at, gap, first := 0, 0, true
	for rest := line; rest != ""; {
		n := 0
		for n < len(rest) && rest[n] == ' ' {
			n++
		}
		gap, rest = n, rest[n:]
		end := strings.IndexByte(rest, ' ')
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		rest = rest[end:]
		switch w := Width(word); {
		case w == 0 && rest == "":
			b.WriteString(word)
		case !first && at+gap+w > columns:
			b.WriteString("\n" + strings.Repeat(" ", hang) + word)
			at = hang + w
		default:
			b.WriteString(strings.Repeat(" ", gap) + word)
			at, first = at+gap+w, false
		}
	}
	return b.String()
}

// Width returns the number of terminal columns that a text takes, without escape sequences.
func Width(s string) (n int) {
	for i, r := range s {
		switch {
		case r == '\x1b':
			n -= sgr(s[i:]) - 1
		case r >= 0x300 && unicode.Is(unicode.Mn, r): // combines with the character before it
		case r >= 0x1100 && unicode.Is(wide, r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// wide are the characters of two columns: Unicode's East Asian Width W and F, by blocks.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0xa4cf, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

// sgr returns the length of the escape sequence at the beginning of s.
func sgr(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 1
	}
	if end := strings.IndexByte(s, 'm'); end > 0 {
		return end + 1
	}
	return 1
}
