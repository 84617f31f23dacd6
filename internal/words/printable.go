package words

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s with escapes for everything that could move a terminal's
// cursor, change its state, or hide or reorder text: control characters other
// than newline and tab, bidirectional and zero-width formatting, tag characters
// and bytes that are not UTF-8.
func Printable(s string) string {
	for i, r := range s {
		if Hidden(r) || r == utf8.RuneError && !validAt(s, i) {
			return escape(s, i)
		}
	}
	return s
}

func validAt(s string, i int) bool {
	_, n := utf8.DecodeRuneInString(s[i:])
	return n > 1
}

func escape(s string, from int) string {
	var b strings.Builder
	b.WriteString(s[:from])
	for i := from; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r' && i+1 < len(s) && s[i+1] == '\n':
			// a CR LF line ending; the newline follows
		case Hidden(r):
			b.WriteString(Escaped(r))
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Hidden reports whether r must not reach a terminal without an escape: it controls the
// terminal, reorders text, or is invisible.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // soft hyphen
	}
	return unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029 || unicode.Is(blank, r)
}

// blank are invisible letters and marks (Unicode 15, Default_Ignorable_Code_Point outside Cf,
// and the empty Braille pattern), except the variation selectors that emoji need.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0100, Hi: 0xe01ef, Stride: 1}},
}

// Escaped returns the \u form of r, as in a JSON string.
func Escaped(r rune) string {
	if r <= 0xffff {
		return fmt.Sprintf(`\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
}

// Fold breaks a line at this number of columns, so that all of it is visible. Each part after
// the first begins with a mark that no text should have there.
func Fold(l string, columns int) (parts []string) {
	width, from := 0, 0
	for i, r := range l {
		if width >= columns {
			parts, from, width = append(parts, l[from:i]), i, 0
		}
		if width++; r == '\t' {
			width += 7
		} else if r >= 0x1100 {
			width++ // the width of East Asian characters; too much for other ones
		}
	}
	parts = append(parts, l[from:])
	for i := range parts[1:] {
		parts[i+1] = "  … " + parts[i+1]
	}
	return parts
}
