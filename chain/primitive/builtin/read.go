package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of one answer of read. RYE OS's.
const (
	maxReadLines = 2000
	maxReadChars = 2000  // of a line
	maxReadBytes = 51200 // of the content
)

// readParams are read's parameters. Offset is the number of the first line, from 1.
type readParams struct {
	Path    string `json:"path"`
	Offset  *int   `json:"offset"`
	Limit   *int   `json:"limit"`
	LineIDs *bool  `json:"line_ids"`
}

type readAnswer struct {
	Success    bool   `json:"success"`
	Path       string `json:"path"`
	Content    string `json:"content"`
	Offset     int    `json:"offset"`                // number of the first line in Content
	Lines      int    `json:"lines"`                 // in Content
	TotalLines int    `json:"total_lines,omitempty"` // absent if the file was not read to its end
	Bytes      int64  `json:"bytes"`                 // of the file
	Truncated  bool   `json:"truncated"`             // more lines follow, or a line was cut
	NextOffset int    `json:"next_offset,omitempty"`
	LineIDs    bool   `json:"line_ids"`
	Version    string `json:"version,omitempty"`
	Endings    string `json:"line_endings,omitempty"`
	BadUTF8    bool   `json:"invalid_utf8,omitempty"`
}

// read shows lines of a text. With ids, each is "number TAB id TAB text".
func read(ctx context.Context, in Input) (any, error) {
	var q readParams
	if err := params(in, &q); err != nil {
		return nil, err
	}
	from, err := bounded("offset", q.Offset, 1, 0, 1<<31-1)
	if err != nil {
		return nil, err
	}
	limit, err := bounded("limit", q.Limit, maxReadLines, 1, maxReadLines)
	if err != nil {
		return nil, err
	}
	_, p, f, err := openIn(in, q.Path, false)
	if err != nil {
		return nil, err
	}
	defer p.close()
	defer f.Close()
	a := &readAnswer{Success: true, Path: p.rel, Offset: max(from, 1), Bytes: p.info.Size()}
	w := window{answer: a, limit: limit}
	if a.LineIDs = (q.LineIDs == nil || *q.LineIDs) && p.info.Size() <= maxText; a.LineIDs {
		return a, w.whole(f, q.Path)
	}
	return a, w.scan(ctx, f, q.Path)
}

// window collects the lines that fit into an answer.
type window struct {
	answer *readAnswer
	limit  int
	b      strings.Builder
	full   bool
}

// add appends one line, or returns false if it no longer fits.
func (w *window) add(number int, id string, body []byte) bool {
	a := w.answer
	if w.full || a.Lines == w.limit {
		w.full = true
		return false
	}
	a.BadUTF8 = a.BadUTF8 || !utf8.Valid(body)
	s, cut := clip(body, maxReadChars)
	if id != "" {
		s = strconv.Itoa(number) + "\t" + id + "\t" + s
	}
	if w.b.Len()+len(s)+1 > maxReadBytes {
		w.full = true
		return false
	}
	a.Truncated = a.Truncated || cut
	w.b.WriteString(s)
	w.b.WriteByte('\n')
	a.Lines++
	return true
}

// done completes the answer after the last line.
func (w *window) done() {
	a := w.answer
	a.Content = w.b.String()
	if w.full {
		a.Truncated, a.NextOffset = true, a.Offset+a.Lines
	}
}

// whole reads a file with an id for every line.
func (w *window) whole(f *os.File, path string) error {
	t, err := readText(f, path)
	if err != nil {
		return err
	}
	a := w.answer
	a.TotalLines, a.Version, a.Endings = len(t.lines), t.sum, t.endings()
	ids := t.ids()
	for i := a.Offset - 1; i < len(t.lines); i++ {
		body, _ := cut(t.lines[i])
		if !w.add(i+1, ids[i], body) {
			break
		}
	}
	w.done()
	return nil
}

// scan reads a file of any size and holds one line of it at a time. It stops when the answer is
// full, so the number of lines may stay unknown.
func (w *window) scan(ctx context.Context, f *os.File, path string) error {
	a := w.answer
	r := bufio.NewReaderSize(f, 64<<10)
	head, _ := r.Peek(8 << 10)
	if err := isText(path, head); err != nil {
		return err
	}
	var line []byte
	for number := 1; ; number++ {
		if number%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		body, err := nextLine(r, line[:0])
		if body == nil && errors.Is(err, io.EOF) {
			a.TotalLines = number - 1
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		line = body
		if number >= a.Offset && !w.add(number, "", body) {
			break
		}
	}
	w.done()
	return nil
}

// maxHeld is the most bytes that are kept of one line; the rest is skipped.
const maxHeld = 1 << 20

// nextLine appends the next line, without its ending, to buf. At the end of the
// input it returns nil and io.EOF.
func nextLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	any := false
	for {
		piece, err := r.ReadSlice('\n')
		any = any || len(piece) > 0
		if room := maxHeld - len(buf); room > 0 {
			buf = append(buf, piece[:min(room, len(piece))]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && !any:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if buf == nil {
			buf = []byte{}
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(buf, []byte("\n")), []byte("\r")), nil
	}
}

// more returns the marker for omitted characters.
func more(n int) string { return fmt.Sprintf(" [rye: %d characters more]", n) }
