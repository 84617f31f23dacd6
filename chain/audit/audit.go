// Package audit says what in a text deserves a look before anybody follows or runs it:
// hidden characters, commands that download and run, launches of whatever is newest,
// secrets. What a command does is judged by chain/command. It is pure, reads as a stream,
// takes time in proportion to the text, and skips nothing for its size.
//
// It is a reader's help and no boundary: what it does not find may be bad all the same.
package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Severity is how much a finding matters.
type Severity int

// The severities. High is what a machine ends with an error for.
const (
	Low Severity = iota + 1
	Medium
	High
)

func (s Severity) String() string {
	return [...]string{"none", "low", "medium", "high"}[min(max(s, 0), High)]
}

// Finding is one place in a text that deserves a look.
type Finding struct {
	Rule     string
	Severity Severity
	Line     int    // from 1
	Excerpt  string // of the line: printable, cut where it is long, secrets blackened
	Says     string // what is wrong, where the rule alone does not say it
}

// Report is what was found in one text.
type Report struct {
	Findings []Finding // in the order of the lines
	More     int       // findings beyond the bound, that are counted only
	Bytes    int64
	Sum      objects.Digest // of what was read
}

// The bounds of one text.
const (
	maxPiece  = 64 << 10 // bytes of a line that are looked at together
	overlap   = 1 << 10  // bytes that two pieces of one line share
	maxBlock  = 64 << 10 // bytes of commands that are judged together
	manyBlock = 16 << 10 // the same, in a text of more than maxScript: the parser takes longer the more there is
	maxScript = 256 << 10
	maxJudged = 20_000 // fences, and commands in prose, that are judged one by one
	maxOfRule = 20     // findings by one rule that are kept of one text
)

// Text looks at a text to its end, whatever its size. The error is the reader's.
func Text(r io.Reader, form Form) (Report, error) {
	hash := sha256.New()
	s := &scan{form: form}
	in := bufio.NewReaderSize(io.TeeReader(r, hash), maxPiece)
	for line := 1; ; {
		piece, err := in.ReadSlice('\n')
		s.rep.Bytes += int64(len(piece))
		s.line = line
		s.piece(piece)
		switch {
		case err == nil:
			line++
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			s.end()
			copy(s.rep.Sum[:], hash.Sum(nil))
			return s.rep, nil
		default:
			return s.rep, err
		}
	}
}

// scan is one text being read.
type scan struct {
	form Form
	rep  Report
	line int

	tail   []byte // end of the piece before, of the same line
	seen   map[place]bool
	kept   map[string]int // findings by rule
	judged int

	block  block    // of commands
	launch launch   // of a server, in data
	near   []string // the last lines of a paragraph
	key    int      // line of the head of a private key, that waits for its body; 0 for none
}

type place struct {
	rule string
	line int
}

// piece looks at a line, or at a part of a very long one.
func (s *scan) piece(raw []byte) {
	text := raw
	if len(s.tail) > 0 {
		text = append(bytes.Clone(s.tail), raw...)
	}
	whole := bytes.HasSuffix(raw, []byte("\n"))
	s.tail = nil
	if !whole && len(raw) == maxPiece {
		s.tail = bytes.Clone(raw[len(raw)-overlap:])
	}
	if s.form == binary {
		return
	}
	line := strings.TrimRight(string(text), "\r\n")
	s.hidden(line)
	s.secrets(line)
	s.commands(line)
}

// end judges what waited for more.
func (s *scan) end() {
	s.flush()
	s.launched()
}

// add notes a finding, once for each rule and line.
func (s *scan) add(rule string, severity Severity, line int, excerpt, says string) {
	at := place{rule, line}
	if s.seen[at] {
		return
	}
	if s.kept[rule] >= maxOfRule {
		// What is worse than the mildest of those that are kept takes its place: nobody
		// hides a bad line behind many harmless ones, nor by the noise of another rule.
		s.rep.More++
		i := mildest(s.rep.Findings, rule)
		if s.rep.Findings[i].Severity >= severity {
			return
		}
		s.rep.Findings = slices.Delete(s.rep.Findings, i, i+1)
		s.kept[rule]--
	}
	if s.seen == nil {
		s.seen, s.kept = map[place]bool{}, map[string]int{}
	}
	s.seen[at] = true
	s.kept[rule]++
	s.rep.Findings = append(s.rep.Findings, Finding{Rule: rule, Severity: severity, Line: line, Excerpt: shown(excerpt), Says: says})
}

// mildest is the finding of a rule that matters least.
func mildest(all []Finding, rule string) int {
	at := -1
	for i, f := range all {
		if f.Rule == rule && (at < 0 || f.Severity < all[at].Severity) {
			at = i
		}
	}
	return at
}

// shown is a line as a report may hold it.
func shown(line string) string {
	return words.Printable(words.Brief(blacken(words.Clip(strings.TrimSpace(line), 2*overlap))))
}
