// Package diff shows what changed between two texts, line by line.
package diff

import (
	"fmt"
	"strings"
)

// around is how many unchanged lines stand before and after a change.
const around = 3

// step is one line on the way from an old text to a new one.
type step struct {
	op   byte   // ' ' stays, '-' goes, '+' comes
	text string // with its newline, except for a last line that has none
}

// Lines compares two texts and returns hunks in the unified format, as patch(1)
// reads them; nothing when they are equal. It is exact for changes of up to some
// thousand lines and calls everything between the first and the last difference
// changed beyond that.
func Lines(old, now string) []string {
	a, b := splitLines(old), splitLines(now)
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	if pre == len(a) && pre == len(b) {
		return nil
	}
	steps := same(a[:pre])
	steps = append(steps, script(a[pre:len(a)-post], b[pre:len(b)-post])...)
	return hunks(append(steps, same(a[len(a)-post:])...))
}

// hunks groups steps into changes with what stays around them.
func hunks(steps []step) []string {
	var out []string
	var oldLine, newLine int // lines before steps[i]
	for i := 0; i < len(steps); {
		if steps[i].op == ' ' {
			oldLine, newLine, i = oldLine+1, newLine+1, i+1
			continue
		}
		from := max(0, i-around)
		to := hunkEnd(steps, i)
		h := steps[from:to]
		olds, news := count(h, '+'), count(h, '-')
		out = append(out, fmt.Sprintf("@@ -%s +%s @@", span(oldLine-(i-from), olds), span(newLine-(i-from), news)))
		for _, s := range h {
			text, ended := strings.CutSuffix(s.text, "\n")
			out = append(out, string(s.op)+text)
			if !ended {
				out = append(out, `\ No newline at end of file`)
			}
		}
		oldLine, newLine, i = oldLine-(i-from)+olds, newLine-(i-from)+news, to
	}
	return out
}

// hunkEnd returns where the hunk that changes first at i ends: before a stretch of
// unchanged lines that is longer than two margins.
func hunkEnd(steps []step, i int) int {
	last := i
	for j := i; j < len(steps) && j-last <= 2*around+1; j++ {
		if steps[j].op != ' ' {
			last = j
		}
	}
	return min(len(steps), last+1+around)
}

// count returns how many steps are not of the kind op.
func count(steps []step, op byte) int {
	n := 0
	for _, s := range steps {
		if s.op != op {
			n++
		}
	}
	return n
}

// span is a range in a hunk's head: the first line and, unless it is one, how many.
// An empty range names the line before it.
func span(before, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}

// script lists a shortest way from a to b, by their longest common subsequence.
func script(a, b []string) []step {
	const most = 4 << 20 // cells of the table
	if (len(a)+1)*(len(b)+1) > most {
		return append(steps('-', a), steps('+', b)...)
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	var out []step
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, step{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[(i+1)*width+j] >= common[i*width+j+1]):
			out = append(out, step{'-', a[i]})
			i++
		default:
			out = append(out, step{'+', b[j]})
			j++
		}
	}
	return out
}

func same(lines []string) []step { return steps(' ', lines) }

func steps(op byte, lines []string) []step {
	out := make([]step, len(lines))
	for i, l := range lines {
		out[i] = step{op, l}
	}
	return out
}

// splitLines keeps the newlines: a last line without one is another line.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
