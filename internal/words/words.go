// Package words puts counts, quotes and text from outside into messages.
package words

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// brief is how many bytes Brief keeps: enough to know a text again, and little
// enough that the message around it stays a line.
const brief = 80

// Brief is Clip to 80 bytes, for what an error message quotes from outside.
func Brief(s string) string { return Clip(s, brief) }

// Clip returns s, or its first most bytes and "..." where it is longer. It cuts
// within no character. What is no UTF-8 it keeps: a message that quotes it shows it.
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
