package objects

import (
	"bytes"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Parts of the merge line; docs/format/signature.md is normative.
const (
	mergedWord = "rye:merged:"
	mergedLen  = len(mergedWord) + 64 + 1 + 64 // 140 bytes, always
)

// MergeLine is the line that a merge of two signed versions puts in the place of their signature
// lines. It grants nothing and proves nothing: anyone can write it. The digests are for display.
type MergeLine struct {
	Ours, Theirs Digest // of the bodies of both versions, as claimed
}

// Line returns the merge line without comment syntax and without line feed.
func (m MergeLine) Line() string { return mergedWord + m.Ours.Hex() + ":" + m.Theirs.Hex() }

// parseMerged is the inverse of Line. It accepts no other line.
func parseMerged(line string) (m MergeLine, ok bool) {
	rest, ok := strings.CutPrefix(line, mergedWord)
	if !ok || len(line) != mergedLen || rest[64] != ':' {
		return m, false
	}
	var err1, err2 error
	m.Ours, err1 = ParseDigest("sha256:" + rest[:64])
	m.Theirs, err2 = ParseDigest("sha256:" + rest[65:])
	return m, err1 == nil && err2 == nil
}

// SplitMerged splits a file with a merge line in the place of the signature line. ok is false
// for every other file; then body is raw.
func SplitMerged(path string, raw []byte) (body []byte, m MergeLine, ok bool) {
	c, known := comments[extOf(path)]
	if !known || len(raw) > MaxItemSize || !bytes.Contains(raw, []byte(mergedWord)) {
		return raw, m, false
	}
	for _, at := range linePlaces(raw) {
		text, isLine := bytes.CutSuffix(raw[at.start:at.end], []byte("\n"))
		inner, ok := strings.CutPrefix(string(text), c.open+" ")
		if ok && c.close != "" {
			inner, ok = strings.CutSuffix(inner, " "+c.close)
		}
		m, is := parseMerged(inner)
		if !isLine || !ok || !is {
			continue
		}
		body := without(raw, at.start, at.end)
		if place, err := signaturePlace(path, body); err == nil && place == at.start {
			return body, m, true
		}
	}
	return raw, MergeLine{}, false
}

// linePlaces returns the lines of a file, with their line feeds, that can be its signature
// line: the first, the one below a "#!" line, and the last.
func linePlaces(raw []byte) []span {
	first := lineEnd(raw, 0)
	last := bytes.LastIndexByte(bytes.TrimSuffix(raw, []byte("\n")), '\n') + 1
	return []span{{0, first}, {first, lineEnd(raw, first)}, {last, len(raw)}}
}

// WithMerged returns the file with m as its merge line. ok is false, and the result is body,
// where the line has no place: a file type without comments, or a last line without its end.
func WithMerged(path string, body []byte, m MergeLine) (raw []byte, ok bool) {
	c, known := comments[extOf(path)]
	if !known || bytes.HasPrefix(body, bom) {
		return body, false
	}
	at, err := signaturePlace(path, body)
	if err != nil {
		return body, false
	}
	line := c.line(m.Line()) + "\n"
	raw = append(append(append(make([]byte, 0, len(body)+len(line)), body[:at]...), line...), body[at:]...)
	again, got, ok := SplitMerged(path, raw)
	if !ok || got != m || !bytes.Equal(again, body) {
		return body, false
	}
	return raw, true
}

// ConflictError is a file that holds an unresolved merge conflict between git's marks.
type ConflictError struct {
	Path string
	Line int // of the first mark, 1-based
}

func (e *ConflictError) Error() string {
	return (&SyntaxError{Path: e.Path, Line: e.Line, Msg: "a merge conflict"}).Error()
}

// conflict returns the error for a file that holds git's marks, else nil.
func conflict(path string, raw []byte) error {
	line := conflictLine(path, raw)
	if line == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "%w", &ConflictError{path, line}).
		Advise("edit .ai/%s between its marks, then rye sign it; rye resolve finishes what git left to rye", path)
}

// leastMark is the shortest mark that git can be told to write.
const leastMark = 3

// conflictLine returns the first line of a conflict: three marks of one length, in their order.
// An example in a closed fence of Markdown is none.
func conflictLine(path string, raw []byte) int {
	if !bytes.Contains(raw, []byte("<<<")) || !bytes.Contains(raw, []byte(">>>")) { // most texts
		return 0
	}
	var fences []span
	if extOf(path) == ".md" {
		fences = closedFences(raw)
	}
	start, size, middle := 0, 0, false
	number := 0
	for at := 0; at < len(raw); {
		end := lineEnd(raw, at)
		line := bytes.TrimRight(raw[at:end], "\r\n")
		for len(fences) > 0 && fences[0].end < at {
			fences = fences[1:]
		}
		number++
		fenced := len(fences) > 0 && fences[0].start < at
		at = end
		if fenced || len(line) < leastMark {
			continue
		}
		n := 1
		for n < len(line) && line[n] == line[0] {
			n++
		}
		labelled := n == len(line) || line[n] == ' '
		switch {
		case n < leastMark:
		case line[0] == '<' && labelled:
			start, size, middle = number, n, false
		case line[0] == '=' && n == len(line) && n == size:
			middle = true
		case line[0] == '>' && labelled && n == size && middle:
			return start
		}
	}
	return 0
}
