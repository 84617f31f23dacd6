package words

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns a path, an id or another text from outside for one line of output, as git
// prints names. Unambiguous text stays unchanged, in any script. Other text is written in
// double quotes with C escapes:
//
//   - text with a line feed, a tab or another control character,
//   - text with a Hidden character, or with bytes that are not UTF-8,
//   - text that begins or ends with a blank, or has two blanks side by side, which look like
//     the end of a column,
//   - text that begins with a double quote, so that nothing else looks quoted.
//
// In the quotes \ and " have a backslash before them, \a \b \t \n \v \f \r are as in C, and
// three octal digits replace any other byte that is not shown. Two texts never look the same.
func Quote(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(s[i])
		case r >= '\a' && r <= '\r':
			b.WriteByte('\\')
			b.WriteByte("abtnvfr"[r-'\a'])
		case r == utf8.RuneError && n == 1, Hidden(r):
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

// isPlain reports whether s needs no quotes. It is fast, because tables have thousands of
// texts and most of them need none.
func isPlain(s string) bool {
	if s == "" {
		return true
	}
	if s[0] == '"' {
		return false
	}
	blank := true // the beginning is treated like a blank
	for i, r := range s {
		switch {
		case r == ' ', r >= utf8.RuneSelf && unicode.IsSpace(r) && !Hidden(r):
			if blank {
				return false
			}
			blank = true
			continue
		case r < utf8.RuneSelf:
			if r < ' ' || r == 0x7f {
				return false
			}
		case Hidden(r), r == utf8.RuneError && !validAt(s, i):
			return false
		}
		blank = false
	}
	return !blank
}

// Line returns a sentence that may hold text from outside, such as the message of an error,
// for one line of output. It is Printable with line feeds and carriage returns escaped, too.
// Blanks, tabs and quotes stay, so the result is for reading and may be ambiguous.
func Line(s string) string {
	if strings.ContainsAny(s, "\n\r") {
		s = breaks.Replace(s)
	}
	return Printable(s)
}

var breaks = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// JSON returns a JSON text with JSON escapes for Hidden characters. It has the same meaning,
// and every character is visible.
func JSON(text []byte) []byte {
	if utf8.Valid(text) && !bytes.ContainsFunc(text, Hidden) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if Hidden(r) {
			b.WriteString(Escaped(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// Lines returns the message of an error as lines of output, each of them a Line: one for each
// of several joined errors, and one for any other error.
func Lines(err error) []string {
	for {
		if all, ok := err.(interface{ Unwrap() []error }); ok && isJoin(err.Error(), all.Unwrap()) {
			var lines []string
			for _, e := range all.Unwrap() {
				lines = append(lines, Lines(e)...)
			}
			return lines
		}
		one, ok := err.(interface{ Unwrap() error })
		if !ok || one.Unwrap() == nil || one.Unwrap().Error() != err.Error() {
			return []string{message(err)}
		}
		err = one.Unwrap()
	}
}

// message returns the Line of an error. It joins joined errors with "; ".
func message(err error) string {
	text := err.Error()
	if !strings.Contains(text, "\n") {
		return Line(text)
	}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		if all := e.Unwrap(); isJoin(text, all) {
			parts := make([]string, len(all))
			for i, e := range all {
				parts[i] = message(e)
			}
			return strings.Join(parts, "; ")
		}
	case interface{ Unwrap() error }:
		if in := e.Unwrap(); in != nil && in.Error() != "" {
			if i := strings.LastIndex(text, in.Error()); i >= 0 {
				return Line(text[:i]) + message(in) + Line(text[i+len(in.Error()):])
			}
		}
	}
	return Line(text)
}

// isJoin reports whether text is the message of errors.Join for all.
func isJoin(text string, all []error) bool {
	for i, e := range all {
		var ok bool
		if text, ok = strings.CutPrefix(text, e.Error()); !ok {
			return false
		}
		if i < len(all)-1 {
			if text, ok = strings.CutPrefix(text, "\n"); !ok {
				return false
			}
		}
	}
	return text == "" && len(all) > 0
}
