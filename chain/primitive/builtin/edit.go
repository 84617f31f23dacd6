package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
)

// maxChanges bounds the changes of one call.
const maxChanges = 1000

type editParams struct {
	Path    string   `json:"path"`
	Changes []change `json:"changes"`
	Version string   `json:"version"`
}

// change replaces one line, or a range of lines, by a text.
type change struct {
	Line  string  `json:"line_id"`
	Start string  `json:"start_line_id"`
	End   string  `json:"end_line_id"`
	New   *string `json:"new_content"`
}

type editAnswer struct {
	Success bool     `json:"success"`
	Path    string   `json:"path"`
	Changes []edited `json:"changes"`
	Lines   int      `json:"total_lines"`
	Bytes   int      `json:"bytes"`
	Version string   `json:"version"`
}

// edited shows the changed lines with two lines around them, in the form of read. Their ids are
// new.
type edited struct {
	Line    int    `json:"line"` // new number of the first changed line
	Removed int    `json:"lines_removed"`
	Added   int    `json:"lines_added"`
	Content string `json:"content"`
}

// span is a change with its place. Lines count from 0; to is exclusive.
type span struct {
	from, to int
	lines    [][]byte
	nth      int // among the parameters
}

// editLines changes lines by their ids from read. All changes happen or none. An id that no
// longer belongs to a line is Stale.
func editLines(ctx context.Context, in Input) (any, error) {
	var q editParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	switch {
	case len(q.Changes) == 0:
		return nil, fault.New(fault.Usage, "parameters: changes is empty")
	case len(q.Changes) > maxChanges:
		return nil, fault.New(fault.Limit, "parameters: %d changes, at most %d in one call", len(q.Changes), maxChanges)
	}
	t, p, f, err := openIn(in, q.Path, true)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer f.Close()
	old, err := readText(f, q.Path)
	if err != nil {
		return nil, err
	}
	if q.Version != "" && q.Version != old.sum {
		return nil, stale(q.Path)
	}
	spans, err := old.spans(q)
	if err != nil {
		return nil, err
	}
	now, err := old.splice(spans)
	if err != nil {
		return nil, err
	}
	s := &staging{t: t}
	defer s.clean()
	if err := s.add(q.Path, now.raw, p.info); err != nil {
		return nil, err
	}
	if err := s.unchanged(old); err != nil {
		return nil, err
	}
	if err := s.commit(ctx); err != nil {
		return nil, err
	}
	return editAnswer{Success: true, Path: p.rel, Changes: now.show(spans), Lines: len(now.lines), Bytes: len(now.raw), Version: now.sum}, nil
}

// unchanged reads the file again just before its replacement, because an editor may have written
// to it meanwhile. A write between this check and the rename is lost, as with every editor.
func (s *staging) unchanged(old *text) error {
	f := s.staged[0]
	r, _, err := f.at.openFile(f.out.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	again, err := readText(r, f.out.Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(again.raw, old.raw) {
		return stale(f.out.Path)
	}
	return nil
}

func stale(path string) error {
	return fault.New(fault.Stale, "%s: it changed since it was read", path).Advise("read it again")
}

// spans finds the places of all changes and refuses overlapping ones.
func (t *text) spans(q editParams) ([]span, error) {
	where := make(map[string]int, len(t.lines))
	for i, id := range t.ids() {
		where[id] = i
	}
	line := func(id string) (int, error) {
		i, ok := where[strings.ToLower(id)]
		if !ok {
			return 0, fault.New(fault.Stale, "%s: no line has the id %q: the line or its neighbours changed since it was read", q.Path, id).Advise("read it again")
		}
		return i, nil
	}
	var out []span
	for n, c := range q.Changes {
		if c.Line != "" && (c.Start != "" || c.End != "") || c.Line == "" && (c.Start == "" || c.End == "") || c.New == nil {
			return nil, fault.New(fault.Usage, "parameters: change %d: want line_id, or start_line_id and end_line_id, and new_content", n+1)
		}
		if c.Line != "" {
			c.Start, c.End = c.Line, c.Line
		}
		from, err := line(c.Start)
		if err != nil {
			return nil, err
		}
		to, err := line(c.End)
		if err != nil {
			return nil, err
		}
		if to < from {
			return nil, fault.New(fault.Usage, "parameters: change %d: line %d ends it and line %d begins it", n+1, to+1, from+1)
		}
		out = append(out, span{from: from, to: to + 1, lines: t.like(from, *c.New), nth: n})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].from < out[j].from })
	for i := 1; i < len(out); i++ {
		if out[i].from < out[i-1].to {
			return nil, fault.New(fault.Usage, "parameters: changes %d and %d change the same line", out[i-1].nth+1, out[i].nth+1)
		}
	}
	return out, nil
}

// like splits new content into lines with the ending of the line that they replace. Empty content
// has no lines, so it removes. A line end at the end of the content is optional.
func (t *text) like(at int, content string) [][]byte {
	if content == "" {
		return nil
	}
	_, ending := cut(t.lines[at])
	if len(ending) == 0 && at > 0 { // the last line, without an ending
		_, ending = cut(t.lines[at-1])
	}
	if len(ending) == 0 {
		ending = []byte("\n")
	}
	var out [][]byte
	for _, l := range strings.Split(strings.TrimSuffix(content, "\n"), "\n") {
		out = append(out, append([]byte(strings.TrimSuffix(l, "\r")), ending...))
	}
	return out
}

// splice applies sorted changes that do not overlap. A last line without an ending keeps none.
func (t *text) splice(spans []span) (*text, error) {
	var lines [][]byte
	at := 0
	for _, s := range spans {
		lines = append(lines, t.lines[at:s.from]...)
		lines = append(lines, s.lines...)
		at = s.to
	}
	lines = append(lines, t.lines[at:]...)
	if n := len(lines); n > 0 && !bytes.HasSuffix(t.raw, []byte("\n")) {
		lines = slices.Clone(lines)
		lines[n-1], _ = cut(lines[n-1])
	}
	now := &text{raw: bytes.Join(lines, nil), lines: lines}
	if len(now.raw) > maxText || len(lines) > maxLines {
		return nil, fault.New(fault.Limit, "the file would have %d bytes in %d lines, at most %d in %d are allowed", len(now.raw), len(lines), maxText, maxLines)
	}
	now.sum = version(now.raw)
	return now, nil
}

// show returns the places of the changes in the new text.
func (t *text) show(spans []span) []edited {
	ids := t.ids()
	room, shift := maxReadBytes, 0
	out := make([]edited, len(spans))
	for _, s := range spans {
		from := s.from + shift
		e := edited{Line: from + 1, Removed: s.to - s.from, Added: len(s.lines)}
		shift += e.Added - e.Removed
		var b strings.Builder
		for i := max(from-2, 0); i < min(from+e.Added+2, len(t.lines)) && room > 0; i++ {
			body, _ := cut(t.lines[i])
			text, _ := clip(body, maxReadChars)
			l := strconv.Itoa(i+1) + "\t" + ids[i] + "\t" + text + "\n"
			if room -= len(l); room >= 0 {
				b.WriteString(l)
			}
		}
		e.Content = b.String()
		out[s.nth] = e
	}
	return out
}

// version names the content of a file: 16 hexadecimal digits of its SHA-256.
func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
