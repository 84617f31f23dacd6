// Package audit finds what in a text deserves a look before anyone follows or runs it:
// hidden characters, commands that download and run, launches of the newest version,
// secrets. Package command judges commands. It is pure, reads as a stream, takes time in
// proportion to the text, and skips nothing for its size.
//
// It is a reader's help and no boundary: a text without findings may be bad all the same.
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

// The severities. A High finding makes a command exit with an error.
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
	Excerpt  string // of the line: printable, shortened, secrets blackened
	Says     string // the problem, if the rule alone does not name it
}

// Report has the findings in one text.
type Report struct {
	Findings []Finding // in the order of the lines
	More     int       // findings beyond the bound, which are only counted
	Bytes    int64
	Sum      objects.Digest // of the bytes read
}

// The bounds of one text.
const (
	maxPiece  = 64 << 10 // bytes of a line that are examined together
	overlap   = 1 << 10  // bytes that two pieces of one line share
	maxBlock  = 64 << 10 // bytes of commands that are analysed together
	manyBlock = 16 << 10 // the same, in a text over maxScript: the parser takes longer the more there is
	maxScript = 256 << 10
	maxJudged = 20_000 // fences, and commands in prose, that are analysed one by one
	maxOfRule = 20     // findings by one rule that are kept from one text
)

// Text reads a text to its end, whatever its size, and applies rules to it; nil is Builtin. A text in UTF-16
// is read as the characters that it has. An error is the reader's.
func Text(r io.Reader, form Form, rules *Rules) (Report, error) {
	if rules == nil {
		rules = Builtin()
	}
	hash := sha256.New()
	s := &scan{form: form, rules: rules, watch: newWatch(rules)}
	in, err := decoded(io.TeeReader(r, io.MultiWriter(hash, &s.rep)))
	if err != nil {
		return s.rep, err
	}
	if form == disguised {
		s.add("not-text", High, 1, "", "it has the name of a text or a program, and it is none")
	}
	for line := 1; ; {
		piece, err := in.ReadSlice('\n')
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

// Write counts the bytes read.
func (r *Report) Write(b []byte) (int, error) {
	r.Bytes += int64(len(b))
	return len(b), nil
}

// scan is the state of reading one text.
type scan struct {
	form  Form
	rules *Rules
	rep   Report
	line  int

	tail   []byte // end of the previous piece of the same line
	seen   map[place]bool
	kept   map[string]int // findings by rule
	judged int

	block  block  // of commands
	launch launch // of a server, in data
	watch  *watch
	para   paragraph
	aside  aside
	key    int // line of the head of a private key that still needs its body; 0 for none
}

type place struct {
	rule string
	line int
}

// piece examines a line, or a part of a very long one.
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
	if s.form == binary || s.form == disguised {
		return
	}
	line := strings.TrimRight(string(text), "\r\n")
	s.hidden(line)
	s.disguise(line)
	s.secrets(line)
	s.commands(line)
}

// end examines the commands that were still gathered.
func (s *scan) end() {
	s.flush()
	s.launched()
	s.endParagraph()
	s.judgeAside()
}

// add records a finding, once for each rule and line.
func (s *scan) add(rule string, severity Severity, line int, excerpt, says string) {
	at := place{rule, line}
	if s.seen[at] {
		return
	}
	if s.kept[rule] >= maxOfRule {
		// A worse finding replaces the mildest one kept for its rule. So many harmless lines
		// cannot hide a bad one, and neither can the findings of another rule.
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

// mildest returns the index of a rule's finding with the lowest severity.
func mildest(all []Finding, rule string) int {
	at := -1
	for i, f := range all {
		if f.Rule == rule && (at < 0 || f.Severity < all[at].Severity) {
			at = i
		}
	}
	return at
}

// shown returns a line in its form for a report.
func shown(line string) string {
	return words.Printable(words.Brief(blacken(words.Clip(strings.TrimSpace(line), 2*overlap))))
}
