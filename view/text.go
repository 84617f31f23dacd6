package view

import (
	"fmt"
	"unicode/utf8"
)

// MaxText is how much of a text a model is shown whole, in bytes: it answers from what it has
// read, and more than this is not read.
const MaxText = 24_000

// Long reports whether a text is too long to be shown whole.
func Long(text string) bool { return len(text) > MaxText }

// Ends is the beginning and the end of a long text, each of so many bytes, with a line between
// them that says how much is left out and where it is; a text that is not long comes back as
// it is.
func Ends(text string, each int, where string) string {
	if !Long(text) {
		return text
	}
	head, tail := each, len(text)-each
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf("\n… %d bytes left out; %s …\n", tail-head, where) + text[tail:]
}
