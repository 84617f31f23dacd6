// Package diff shows what changed between two texts, line by line.
//
// # Reasons
//
// The diff is the Go project's. It keeps to lines that stand once in either text, so it
// takes n log n where a shortest diff is quadratic. It reports a little more as changed:
// with ten random edits 8,661 lines, where a shortest diff has 7,757. sergi/go-diff works
// on characters and stops by the clock. A text that is too long is cut off at a million
// lines, never shortened to a few: an approval shows 600 lines at most and refuses the
// rest.
package diff

import (
	"fmt"
	"strings"

	anchored "github.com/rogpeppe/go-internal/diff"
)

// Bounds of a comparison, for both texts together. At the bounds, texts without a common line
// take 1 to 2 seconds and 300 MB. An item has at most 8 MiB.
const (
	maxBytes = 32 << 20
	maxLines = 1 << 20
)

// Lines compares two texts and returns hunks in the unified format, as patch(1) reads
// them, without newlines; nil when the texts are equal. Texts of more than 32 MiB or
// 1,048,576 lines together are not compared: the result removes every old line and adds
// every new one. It stops after 1,048,576 lines, and a last line states how many are
// missing. So a shorter list is complete.
func Lines(old, now string) []string {
	switch {
	case old == now:
		return nil
	case len(old)+len(now) > maxBytes || strings.Count(old, "\n")+strings.Count(now, "\n") > maxLines:
		return everything(old, now)
	}
	text := string(anchored.Diff("", []byte(old), "", []byte(now)))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")[3:] // without the names of files
	for i, l := range lines {
		if strings.HasPrefix(l, "@@") {
			lines[i] = strings.ReplaceAll(l, ",1 ", " ") // a count of one line is omitted
		}
	}
	return lines
}

// everything lists two texts as one hunk, at most maxLines lines.
func everything(old, now string) []string {
	out := []string{""}
	count := func(op, text string) (n int) {
		for line := range strings.Lines(text) {
			if n++; len(out) > maxLines {
				continue
			}
			line, ended := strings.CutSuffix(line, "\n")
			if out = append(out, op+line); !ended {
				out = append(out, `\ No newline at end of file`)
			}
		}
		return n
	}
	gone, come := count("-", old), count("+", now)
	out[0] = fmt.Sprintf("@@ -%d,%d +%d,%d @@", min(gone, 1), gone, min(come, 1), come)
	if left := gone + come - maxLines; left > 0 {
		out = append(out, fmt.Sprintf(`\ %d more lines`, left))
	}
	return out
}
