package view

import (
	"fmt"
	"unicode/utf8"
)

// MaxText is the size up to which a model is shown a whole text, in bytes: models do not read more
// than this.
const MaxText = 24_000

// Long reports whether a text is too long to be shown whole.
func Long(text string) bool { return len(text) > MaxText }

// Ends returns the beginning and the end of a long text, each of so many bytes. A line between them
// shows how much is left out and where it is. A short text is returned unchanged.
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
