// Package words puts counts, quotes and text from outside into messages.
package words

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// brief is the number of bytes that Brief keeps: enough to recognize a text, and
// few enough to keep the message on one line.
const brief = 80

// Brief is Clip to 80 bytes, for text from outside in error messages.
func Brief(s string) string { return Clip(s, brief) }

// Clip returns s, or its first most bytes and "..." when it is longer. It never cuts
// inside a character. It keeps bytes that are not UTF-8, so that a quoting message
// shows them.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for i := most; i >= 0 && i > most-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i] + "..."
		}
	}
	return s[:most] + "..."
}

// Plural counts things whose plural ends in s: "1 file", "2 files", "0 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// FirstLine returns s up to its first line feed, or s.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
