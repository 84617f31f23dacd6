package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Record is one event of a thread.
type Record struct {
	Seq    int64     // from 1, without a gap; a droppable record has the number of the critical one before it
	Time   time.Time // UTC, to the microsecond
	Thread string    // an id
	Turn   int       // 0 before the first
	Type   string
	Data   json.RawMessage // an object; the payload
	Sum    [32]byte        // of a critical record: the digest of its line and all lines before it
	Live   bool            // droppable

	line []byte // of a critical record that was written or read: its line, which contains Data
}

// Chain is a position in a journal after a line; the next line is bound to it. The zero value is
// the position before the first line of any thread. It is pure, and not for concurrent use.
type Chain struct {
	Thread string   // "" before the first line
	Seq    int64    // of the last line; 0 for none
	Sum    [32]byte // of the last line; zeros for none
	Ended  bool     // the last record is final, so nothing may follow
}

const (
	stampForm   = "2006-01-02T15:04:05.000000Z"
	sumHead     = `,"sum":"`
	payloadHead = `,"payload":`
	sumSize     = len(sumHead) + 64 + len(`"}`)
)

// Add returns the line of a record, with its newline, and the record as written. It takes Time,
// Turn, Type and Data from r.
func (c *Chain) Add(r Record) (line []byte, out Record, err error) {
	if c.Ended {
		return nil, Record{}, fault.New(fault.Conflict, "thread %s has ended: nothing is added to its journal", c.Thread)
	}
	r.Thread, r.Seq, r.Live = c.Thread, c.Seq+1, false
	line, r.Time, err = head("seq", r)
	if err != nil {
		return nil, Record{}, err
	}
	r.Sum = link(c.Sum, line)
	line = append(append(hex.AppendEncode(append(line, sumHead...), r.Sum[:]), `"}`...), '\n')
	if len(line) > MaxLine {
		return nil, Record{}, fault.New(fault.Limit, "a record of type %s has %d bytes, at most %d", r.Type, len(line), MaxLine)
	}
	r.setLine(line)
	c.Seq, c.Sum, c.Ended = r.Seq, r.Sum, typeOf(r.Type).final
	return line, r, nil
}

// setLine sets the record's line, and Data to its part of the line. The record keeps the line,
// which must not change.
func (r *Record) setLine(line []byte) {
	at := bytes.Index(line, []byte(payloadHead)) + len(payloadHead)
	end := len(line) - 1 - sumSize
	r.line, r.Data = line, line[at:end:end]
}

// Next verifies the next line, without its newline, and returns its record. A line that Add would
// write differently is fault.Malformed; a line that is not bound to the one before it is
// fault.Integrity. Unknown types are accepted. An error leaves c unchanged.
func (c *Chain) Next(line []byte) (Record, error) {
	if c.Ended {
		return Record{}, fault.New(fault.Integrity, "a record follows the end of the thread")
	}
	body, sum, err := cutSum(line)
	if err != nil {
		return Record{}, err
	}
	if link(c.Sum, body) != sum {
		return Record{}, fault.New(fault.Integrity, "its checksum does not match the line and the records before it")
	}
	line = append(append(make([]byte, 0, len(line)+1), line...), '\n') // a copy that the record keeps
	r, err := parseHead("seq", line[:len(body)])
	switch {
	case err != nil:
		return Record{}, err
	case r.Seq != c.Seq+1:
		return Record{}, fault.New(fault.Integrity, "record %d follows record %d", r.Seq, c.Seq)
	case c.Thread != "" && r.Thread != c.Thread:
		return Record{}, fault.New(fault.Integrity, "a record of thread %s in the journal of %s", r.Thread, c.Thread)
	case typeOf(r.Type).live:
		return Record{}, malformed("a droppable record of type %s among the critical ones", r.Type)
	}
	r.Sum = sum
	r.line = line
	*c = Chain{r.Thread, r.Seq, sum, typeOf(r.Type).final}
	return r, nil
}

// Line returns the line of a record that Next or Append returned, with its newline. The caller must
// not change it.
func (r Record) Line() ([]byte, error) {
	if n := len(r.Data); n > 0 && len(r.line) > n+sumSize && &r.line[len(r.line)-1-sumSize-n] == &r.Data[0] {
		return r.line, nil
	}
	word := "seq"
	if r.Live {
		word = "after"
	}
	line, _, err := head(word, r)
	switch {
	case err != nil:
		return nil, err
	case r.Live:
		return append(line, "}\n"...), nil
	}
	return append(hex.AppendEncode(append(line, sumHead...), r.Sum[:]), "\"}\n"...), nil
}

// link returns the sum of a line, from the sum of the line before and the line's own bytes.
func link(before [32]byte, body []byte) (sum [32]byte) {
	h := sha256.New()
	h.Write(before[:])
	h.Write(body)
	h.Sum(sum[:0])
	return sum
}

func cutSum(line []byte) (body []byte, sum [32]byte, err error) {
	at := len(line) - sumSize
	if len(line) >= MaxLine || at < 0 || !bytes.HasPrefix(line[at:], []byte(sumHead)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, sum, malformed("it does not end in a checksum")
	}
	text := line[at+len(sumHead) : len(line)-2]
	if _, err := hex.Decode(sum[:], text); err != nil || !lowerHex(string(text)) {
		return nil, sum, malformed("its checksum is not in hexadecimal digits")
	}
	return line[:at], sum, nil
}

// head writes a line up to its payload, and returns the time as written. word is seq or after.
func head(word string, r Record) ([]byte, time.Time, error) {
	at := r.Time.UTC().Truncate(time.Microsecond)
	switch {
	case at.Year() < 1970 || at.Year() > 9999:
		return nil, at, malformed("a record at %s: not a time between 1970 and 9999", at)
	case r.Turn < 0 || !isName(r.Type) || !ValidID(r.Thread):
		return nil, at, malformed("a record of type %q, turn %d, thread %q", words.Brief(r.Type), r.Turn, words.Brief(r.Thread))
	}
	data, _, err := payload(r.Data)
	if err != nil {
		return nil, at, fault.Wrap(err, "the payload of a record of type %s", r.Type)
	}
	b := make([]byte, 0, 300+len(data))
	b = strconv.AppendInt(append(b, `{"`+word+`":`...), r.Seq, 10)
	b = at.AppendFormat(append(b, `,"timestamp":"`...), stampForm)
	b = append(append(b, `","thread_id":"`...), r.Thread...)
	b = strconv.AppendInt(append(b, `","turn":`...), int64(r.Turn), 10)
	b = append(append(b, `,"event_type":"`...), r.Type...)
	return append(append(b, `","payload":`...), data...), at, nil
}

// parseHead reads the output of head. The payload of the record is a part of line.
func parseHead(word string, line []byte) (r Record, err error) {
	at := bytes.Index(line, []byte(payloadHead)) + len(payloadHead)
	if at < len(payloadHead) {
		return r, malformed("%s... is missing", payloadHead)
	}
	rest := string(line[:at])
	take := func(before, until string) (value string) {
		text, ok := strings.CutPrefix(rest, before)
		if ok {
			value, rest, ok = strings.Cut(text, until)
		}
		if !ok && err == nil {
			err = malformed("%s... is missing", before)
		}
		return value
	}
	seq, stamp := take(`{"`+word+`":`, `,"timestamp":"`), take("", `","thread_id":"`)
	r.Thread = take("", `","turn":`)
	turn := take("", `,"event_type":"`)
	r.Type = take("", `"`+payloadHead)
	if err != nil {
		return r, err
	}
	r.Data = line[at:len(line):len(line)]
	if r.Seq, err = number(seq); err != nil {
		return r, err
	}
	n, err := number(turn)
	if err != nil || n > 1<<31-1 {
		return r, malformed("turn %q", words.Brief(turn))
	}
	r.Turn = int(n)
	if r.Time, err = time.Parse(stampForm, stamp); err != nil || r.Time.Year() < 1970 || r.Time.Format(stampForm) != stamp {
		return r, malformed("timestamp %q", words.Brief(stamp))
	}
	if !ValidID(r.Thread) || !isName(r.Type) {
		return r, malformed("thread %q, type %q", words.Brief(r.Thread), words.Brief(r.Type))
	}
	_, err = members(r.Data)
	return r, err
}

// number parses a number in its only valid form.
func number(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, malformed("%q is not a count", words.Brief(s))
	}
	return n, nil
}

// isName reports whether s may be a type or a member: 1 to 40 characters of a-z, 0-9 and _.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 40
}

func lowerHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func validText(s string) bool { return utf8.ValidString(s) }

func malformed(format string, args ...any) *fault.Error {
	return fault.New(fault.Malformed, format, args...)
}
