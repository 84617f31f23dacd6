// Package diff shows what changed between two texts, line by line.
package diff

import (
	"fmt"
	"strings"

	anchored "github.com/rogpeppe/go-internal/diff"
)

// What is compared at most, of both texts together: 1 to 2 seconds and 300 MB for texts
// without a common line. An item has 8 MiB.
const (
	maxBytes = 32 << 20
	maxLines = 1 << 20
)

// Lines compares two texts and returns hunks in the unified format, as patch(1) reads
// them, without newlines; nothing when the texts are equal. Texts of more than 32 MiB
// or 1,048,576 lines together are not compared: then every line of the old one goes and
// every line of the new one comes, and the list ends after as many lines, with a line
// that says how many are left out. So a list that is short leaves out nothing.
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
			lines[i] = strings.ReplaceAll(l, ",1 ", " ") // of one line the count goes without saying
		}
	}
	return lines
}

// everything lists texts as one hunk, up to maxLines lines of them.
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
