package diff

import "strings"

// Marks are how a merge shows a conflict.
type Marks struct {
	Ours, Theirs string // behind the first and the last line; "" for none
	Size         int    // characters of a line; 0 is 7
}

// Bounds of a merge, for all three texts together. What is beyond them is one conflict. The
// steps take about a second. Only texts with hardly a line in common need more.
const (
	mergeBytes = 32 << 20
	mergeLines = 1 << 18
	mergeSteps = 1 << 26
)

// binaryHead is how much of a text git searches for a zero byte, in bytes.
const binaryHead = 8000

// Binary reports whether git takes a text for a binary file, which it never merges by lines.
func Binary(text string) bool {
	return strings.IndexByte(text[:min(len(text), binaryHead)], 0) >= 0
}

// Merge merges two texts that began as base, line by line, as git merge-file does, and
// returns the number of conflicts, which stand in the result between marks. Wherever it finds
// no conflict, git finds none either, and the bytes are the same. Texts beyond the bounds
// are one conflict of everything. Of binary files it keeps ours and reports a conflict. Neither
// matters if only one side changed, or both are equal.
func Merge(base, ours, theirs string, m Marks) (merged string, conflicts int) {
	switch {
	case ours == theirs || theirs == base:
		return ours, 0
	case ours == base:
		return theirs, 0
	case Binary(base) || Binary(ours) || Binary(theirs):
		return ours, 1
	}
	w := merge{marks: m, steps: mergeSteps}
	if m.Size <= 0 {
		w.marks.Size = usualSize
	}
	if list, ok := w.read(base, ours, theirs); ok {
		return w.write(w.simplify(w.refine(list), true))
	}
	w.base, w.ours, w.theirs = text{lines: []string{base}}, text{lines: []string{ours}}, text{lines: []string{theirs}}
	return w.write([]chunk{{a: hunk{0, 1, 0, 1}, conflict: true}})
}

// usualSize is the length of git's marks where no attribute sets another.
const usualSize = 7

// Untouched reports whether a text is git's own merge of three versions, with conflicts, so
// that nobody has worked on it since. git merge and git merge-file join conflicts in two ways,
// and the style diff3 leaves them whole and adds the base. Labels do not matter.
func Untouched(merged, base, ours, theirs string) bool {
	merged = plain(merged)
	for _, style := range []struct{ refined, joined bool }{{true, false}, {true, true}, {false, false}} {
		w := merge{marks: Marks{Size: usualSize}, steps: mergeSteps}
		list, ok := w.read(base, ours, theirs)
		if !ok {
			return false
		}
		if style.refined {
			list = w.simplify(w.refine(list), style.joined)
		}
		if got, _ := w.write(list); got == merged {
			return true
		}
	}
	return false
}

// plain returns a merged text without labels and without the base of conflicts.
func plain(merged string) string {
	var out strings.Builder
	inBase := false
	for line := range strings.Lines(merged) {
		for _, mark := range []string{"<<<<<<<", ">>>>>>>"} {
			if rest, ok := strings.CutPrefix(line, mark+" "); ok {
				line = mark + rest[len(strings.TrimRight(rest, "\r\n")):]
			}
		}
		inBase = inBase && !strings.HasPrefix(line, "=======") || strings.HasPrefix(line, "||||||| ")
		if !inBase {
			out.WriteString(line)
		}
	}
	return out.String()
}

// read compares the texts. ok is false for texts beyond the bounds.
func (w *merge) read(base, ours, theirs string) (list []chunk, ok bool) {
	if len(base)+len(ours)+len(theirs) <= mergeBytes && strings.Count(base, "\n")+strings.Count(ours, "\n")+strings.Count(theirs, "\n") <= mergeLines {
		known := map[string]int32{}
		w.base, w.ours, w.theirs = linesOf(base, known), linesOf(ours, known), linesOf(theirs, known)
		w.kinds = len(known)
		return w.chunks()
	}
	return nil, false
}

// A text is its lines, each with its newline, and a number for each of them.
type text struct {
	lines []string
	ids   []int32
}

func linesOf(s string, known map[string]int32) (t text) {
	for line := range strings.Lines(s) {
		id, ok := known[line]
		if !ok {
			id = int32(len(known))
			known[line] = id
		}
		t.lines, t.ids = append(t.lines, line), append(t.ids, id)
	}
	return t
}

type merge struct {
	base, ours, theirs text
	kinds              int // of lines
	steps              int // that are left
	marks              Marks
}

// A chunk is a part of the result: lines [a.a, a.a+a.an) of ours, or lines [a.b, a.b+a.bn) of
// theirs, or both in conflict. Lines between chunks are as ours has them.
type chunk struct {
	a        hunk
	theirs   bool
	conflict bool
}

// chunks pairs the changes of both sides. Changes that touch are a conflict, unless they are
// the same.
func (w *merge) chunks() (list []chunk, ok bool) {
	ours, ok := compare(w.base.ids, w.ours.ids, w.kinds, &w.steps)
	if !ok {
		return nil, false
	}
	theirs, ok := compare(w.base.ids, w.theirs.ids, w.kinds, &w.steps)
	if !ok {
		return nil, false
	}
	shiftOurs, shiftTheirs := 0, 0 // from a line of base to that of a side, outside of changes
	for len(ours) > 0 || len(theirs) > 0 {
		switch {
		case len(theirs) == 0 || len(ours) > 0 && ours[0].a+ours[0].an < theirs[0].a:
			o := ours[0]
			list = add(list, chunk{a: hunk{o.b, o.bn, o.a + shiftTheirs, o.an}})
			ours, shiftOurs = ours[1:], o.b+o.bn-o.a-o.an
		case len(ours) == 0 || theirs[0].a+theirs[0].an < ours[0].a:
			t := theirs[0]
			list = add(list, chunk{a: hunk{t.a + shiftOurs, t.an, t.b, t.bn}, theirs: true})
			theirs, shiftTheirs = theirs[1:], t.b+t.bn-t.a-t.an
		default:
			o, t := ours[0], theirs[0]
			if !w.same(o, t) {
				start, end := min(o.a, t.a), max(o.a+o.an, t.a+t.an)
				list = add(list, chunk{a: between(o, t, start, end), conflict: true})
			}
			endO, endT := o.a+o.an, t.a+t.an
			if endO >= endT {
				theirs, shiftTheirs = theirs[1:], t.b+t.bn-endT
			}
			if endT >= endO {
				ours, shiftOurs = ours[1:], o.b+o.bn-endO
			}
		}
	}
	return list, true
}

// between returns the lines of both sides for lines [start, end) of base, which hold a change
// of each.
func between(o, t hunk, start, end int) hunk {
	h := hunk{a: o.b - (o.a - start), b: t.b - (t.a - start)}
	h.an = o.b + o.bn + end - (o.a + o.an) - h.a
	h.bn = t.b + t.bn + end - (t.a + t.an) - h.b
	return h
}

// same reports whether both sides made one change.
func (w *merge) same(o, t hunk) bool {
	if o.a != t.a || o.an != t.an || o.bn != t.bn {
		return false
	}
	for i := range o.bn {
		if w.ours.ids[o.b+i] != w.theirs.ids[t.b+i] {
			return false
		}
	}
	return true
}

// add appends a chunk. It becomes part of the last one if no line of a side lies between them;
// unlike ones are then in conflict.
func add(list []chunk, c chunk) []chunk {
	if len(list) > 0 {
		l := &list[len(list)-1]
		if c.a.a <= l.a.a+l.a.an || c.a.b <= l.a.b+l.a.bn {
			l.conflict = l.conflict || c.conflict || l.theirs != c.theirs
			l.a.an, l.a.bn = c.a.a+c.a.an-l.a.a, c.a.b+c.a.bn-l.a.b
			return list
		}
	}
	return append(list, c)
}

// refine leaves the lines that both sides have in common out of each conflict.
func (w *merge) refine(list []chunk) (out []chunk) {
	for _, c := range list {
		if !c.conflict || c.a.an == 0 || c.a.bn == 0 {
			out = append(out, c)
			continue
		}
		parts, ok := compare(w.ours.ids[c.a.a:c.a.a+c.a.an], w.theirs.ids[c.a.b:c.a.b+c.a.bn], w.kinds, &w.steps)
		if len(parts) == 0 {
			c.conflict = !ok // otherwise both sides are equal
			out = append(out, c)
		}
		for _, h := range parts {
			h.a, h.b = h.a+c.a.a, h.b+c.a.b
			out = append(out, chunk{a: h, conflict: true})
		}
	}
	return out
}

// simplify joins two conflicts where joining reads better: at most three lines lie between
// them, or, if words is set, none with a letter or a digit.
func (w *merge) simplify(list []chunk, words bool) (out []chunk) {
	for _, c := range list {
		if len(out) > 0 && c.conflict && out[len(out)-1].conflict {
			l := &out[len(out)-1]
			between := w.ours.lines[l.a.a+l.a.an : c.a.a]
			if len(between) <= 3 || words && !strings.ContainsFunc(strings.Join(between, ""), alphanumeric) {
				l.a.an, l.a.bn = c.a.a+c.a.an-l.a.a, c.a.b+c.a.bn-l.a.b
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// alphanumeric is isalnum(3) in the C locale.
func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// write makes the text of the result.
func (w *merge) write(list []chunk) (merged string, conflicts int) {
	var out strings.Builder
	at := 0
	for _, c := range list {
		out.WriteString(strings.Join(w.ours.lines[at:c.a.a], ""))
		at = c.a.a + c.a.an
		ours, theirs := w.ours.lines[c.a.a:at], w.theirs.lines[c.a.b:c.a.b+c.a.bn]
		switch {
		case c.conflict:
			conflicts++
			w.conflict(&out, ours, theirs, w.lineEnd(c.a))
		case c.theirs:
			out.WriteString(strings.Join(theirs, ""))
		default:
			out.WriteString(strings.Join(ours, ""))
		}
	}
	out.WriteString(strings.Join(w.ours.lines[at:], ""))
	return out.String(), conflicts
}

func (w *merge) conflict(out *strings.Builder, ours, theirs []string, end string) {
	mark := func(char, label string) {
		out.WriteString(strings.Repeat(char, w.marks.Size))
		if label != "" {
			out.WriteString(" " + label)
		}
		out.WriteString(end)
	}
	side := func(lines []string) {
		text := strings.Join(lines, "")
		out.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteString(end)
		}
	}
	mark("<", w.marks.Ours)
	side(ours)
	mark("=", "")
	side(theirs)
	mark(">", w.marks.Theirs)
}

// lineEnd returns the line ending of the marks of a conflict: CR LF if both sides have it
// before the conflict, and the base in its first line.
func (w *merge) lineEnd(h hunk) string {
	known := false
	for _, at := range []struct {
		lines []string
		i     int
	}{{w.ours.lines, max(h.a-1, 0)}, {w.theirs.lines, max(h.b-1, 0)}, {w.base.lines, 0}} {
		crlf, ok := endsInCRLF(at.lines, at.i)
		if ok && !crlf {
			return "\n"
		}
		known = ok
	}
	if !known {
		return "\n"
	}
	return "\r\n"
}

// endsInCRLF reports how a line ends, or, for a last line without an end, the line before it.
func endsInCRLF(lines []string, i int) (crlf, known bool) {
	if i < len(lines) && !strings.HasSuffix(lines[i], "\n") {
		i--
	}
	if i < 0 || i >= len(lines) {
		return false, false
	}
	return strings.HasSuffix(lines[i], "\r\n"), true
}
