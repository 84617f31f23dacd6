package view

import (
	"fmt"
	"unicode/utf8"
)

// How much of a text a model is shown, in bytes: it answers from what it has read, and more
// than this is not read.
const (
	MaxText = 24_000 // whole, up to this
	around  = 6_000  // of the beginning and of the end of a longer one
)

// Long reports whether a text is too long to be shown whole.
func Long(text string) bool { return len(text) > MaxText }

// Ends is the beginning and the end of a long text, with a line between them that says how
// much is left out and where it is; a text that is not long comes back as it is.
func Ends(text, where string) string {
	if !Long(text) {
		return text
	}
	head, tail := around, len(text)-around
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf("\n… %d bytes left out; %s …\n", tail-head, where) + text[tail:]
}
