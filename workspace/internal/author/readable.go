package author

import (
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of the text that a person judges. Text beyond the right edge of a window is not
// read, so longer lines are folded; a line that would fill screens is refused.
const (
	foldAt   = 160  // columns
	maxWidth = 1000 // bytes of a line
)

// readable folds lines so that all of each can be seen. It refuses characters that show
// nothing or move the text after them (fault.Denied), and lines or texts that are too long to
// be read (fault.Limit).
func readable(lines []string) ([]string, error) {
	var out []string
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		if len(l) > maxWidth {
			return nil, fault.New(fault.Limit, "a line has %d bytes, and a question shows at most %d: %q",
				len(l), maxWidth, words.Clip(strings.TrimSpace(l), 40))
		}
		for _, r := range l {
			if words.Hidden(r) || r == utf8.RuneError {
				return nil, fault.New(fault.Denied, "line %d of the change has an invisible character, %s: %q", i+1, words.Escaped(r), words.Brief(l))
			}
		}
		out = append(out, words.Fold(l, foldAt)...)
	}
	if len(out) > rye.MaxQuestionLines {
		return nil, fault.New(fault.Limit, "%d lines to review, and a question shows at most %d", len(out), rye.MaxQuestionLines)
	}
	return out, nil
}
