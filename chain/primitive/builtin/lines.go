package builtin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
)

// Bounds of texts that are read or changed as a whole.
const (
	maxText  = 8 << 20 // bytes of a file whose lines get ids
	maxLines = 200_000
)

// text is a file as lines. Each line keeps its ending.
type text struct {
	raw   []byte
	lines [][]byte
	sum   string // version: first 16 hexadecimal digits of the SHA-256 of raw
}

// readText reads a whole file. Errors are Limit for too large a file, and Malformed for a file
// that is not text.
func readText(f *os.File, path string) (*text, error) {
	raw, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxText {
		return nil, fault.New(fault.Limit, "%s: larger than %d bytes", path, maxText)
	}
	if err := isText(path, raw); err != nil {
		return nil, err
	}
	t := &text{raw: raw, lines: bytes.SplitAfter(raw, []byte("\n"))}
	if n := len(t.lines); n > 0 && len(t.lines[n-1]) == 0 {
		t.lines = t.lines[:n-1]
	}
	if len(t.lines) > maxLines {
		return nil, fault.New(fault.Limit, "%s: more than %d lines", path, maxLines)
	}
	t.sum = version(raw)
	return t, nil
}

// isText refuses a file with a NUL byte near its start, as git and grep do.
func isText(path string, head []byte) error {
	head = head[:min(len(head), 8<<10)]
	if bytes.IndexByte(head, 0) < 0 {
		return nil
	}
	what := "binary"
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		what = "UTF-16 text"
	}
	return fault.New(fault.Malformed, "%s: it is %s, not UTF-8 text", path, what)
}

// cut separates a line from its ending.
func cut(line []byte) (body, ending []byte) {
	n := len(line)
	switch {
	case bytes.HasSuffix(line, []byte("\r\n")):
		n -= 2
	case bytes.HasSuffix(line, []byte("\n")):
		n--
	}
	return line[:n], line[n:]
}

// endings names the line endings of a text: lf, crlf, mixed, or "" without any.
func (t *text) endings() string {
	var lf, crlf bool
	for _, l := range t.lines {
		switch _, e := cut(l); len(e) {
		case 1:
			lf = true
		case 2:
			crlf = true
		}
	}
	switch {
	case lf && crlf:
		return "mixed"
	case crlf:
		return "crlf"
	case lf:
		return "lf"
	}
	return ""
}

// ids returns an id for each line, six hexadecimal digits. rye remembers nothing between two
// calls. An id depends on the line and on the lines before and after it. If several lines are
// equal in all three, it also depends on the number and the position among these. So an id stays
// the same while its surroundings do. An id is no longer valid after its line changed, moved next
// to other lines, or gained or lost an equal one. Two lines with the same six digits get twelve,
// so that neither id can later match the other line.
func (t *text) ids() []string {
	type triple [32]byte
	sums := make([]triple, len(t.lines))
	alike := make(map[triple]int, len(t.lines))
	at := func(i int) []byte {
		if i < 0 || i >= len(t.lines) {
			return nil
		}
		return t.lines[i]
	}
	h := sha256.New()
	var n [8]byte
	for i := range t.lines {
		h.Reset()
		for _, l := range [][]byte{at(i - 1), at(i), at(i + 1)} {
			binary.LittleEndian.PutUint64(n[:], uint64(len(l)))
			h.Write(n[:])
			h.Write(l)
		}
		h.Sum(sums[i][:0])
		alike[sums[i]]++
	}
	seen := make(map[triple]int)
	short := make(map[[3]byte]int, len(t.lines))
	for i, s := range sums {
		if total := alike[s]; total > 1 {
			h.Reset()
			h.Write(s[:])
			binary.LittleEndian.PutUint32(n[:4], uint32(seen[s]))
			binary.LittleEndian.PutUint32(n[4:], uint32(total))
			h.Write(n[:])
			h.Sum(sums[i][:0])
			seen[s]++
		}
		short[[3]byte(sums[i][:3])]++
	}
	out := make([]string, len(sums))
	for i, s := range sums {
		k := 3
		if short[[3]byte(s[:3])] > 1 {
			k = 6
		}
		out[i] = hex.EncodeToString(s[:k])
	}
	return out
}

// clip shortens a line to a number of characters, with a marker for the number of missing ones.
// Invalid UTF-8 becomes the replacement character.
func clip(line []byte, most int) (s string, cut bool) {
	n, i := 0, 0
	for i < len(line) && n < most {
		_, size := utf8.DecodeRune(line[i:])
		i += size
		n++
	}
	s = string(bytes.ToValidUTF8(line[:i], []byte("\uFFFD")))
	if i == len(line) {
		return s, false
	}
	return s + more(utf8.RuneCount(line[i:])), true
}
