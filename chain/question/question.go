// Package question describes what a person was asked, while the question waits for its
// answer. It reads no file and asks no one: it says what a record holds, what an answer is
// for, and how long it stands. docs/format/question.md is normative.
//
// A question is one file of canonical JSON, <id>.json; its answer another, <id>.answer,
// which is made once:
//
//	{"asked":"2026-01-02T03:04:05Z","caller":"mcp","digest":"sha256:…",…,"v":1}
//	{"answer":"yes","at":"2026-01-02T03:05:00Z","digest":"sha256:…","v":1}
package question

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Bounds of a record. rye.Question.Check has smaller bounds for a question itself.
const (
	MaxFile   = 1 << 20 // bytes of a record; escapes make a text longer
	MaxAnswer = 1 << 10
	MaxLines  = 600
	version   = 1
)

// Question is one question to a person, exactly as shown.
type Question struct {
	ID        string
	Asked     time.Time // to the second, UTC
	Expires   time.Time // from then on an answer has no effect
	Caller    string    // rye.Caller.Name of the caller that asks
	Directory string    // of the project; "" outside of one
	Place     consent.Place
	Subject   objects.Digest // of everything that would happen; chain.Subject for a run
	Topic     string
	Text      string
	Lines     []string // the lines that the person sees
}

// asked is the part of a question that an answer covers. Its fields are in alphabetical order.
type asked struct {
	Caller    string    `json:"caller"`
	Directory string    `json:"directory"`
	Lines     []string  `json:"lines"`
	Place     placeJSON `json:"place"`
	Subject   string    `json:"subject"`
	Text      string    `json:"text"`
	Topic     string    `json:"topic"`
	V         int       `json:"v"`
}

// placeJSON has the numbers as texts, which every JSON reader keeps exact.
type placeJSON struct {
	Born  string `json:"born"`
	Inode string `json:"inode"`
	Key   string `json:"key"`
}

func (p placeJSON) place() (consent.Place, error) {
	born, err1 := strconv.ParseInt(p.Born, 10, 64)
	inode, err2 := strconv.ParseUint(p.Inode, 10, 64)
	if err1 != nil || err2 != nil {
		return consent.Place{}, malformed("question: inode %q, born %q: want numbers", words.Brief(p.Inode), words.Brief(p.Born))
	}
	return consent.Place{Key: p.Key, Inode: inode, Born: born}, nil
}

// record is the content of the file.
type record struct {
	Asked     string    `json:"asked"`
	Caller    string    `json:"caller"`
	Digest    string    `json:"digest"`
	Directory string    `json:"directory"`
	Expires   string    `json:"expires"`
	ID        string    `json:"id"`
	Lines     []string  `json:"lines"`
	Place     placeJSON `json:"place"`
	Subject   string    `json:"subject"`
	Text      string    `json:"text"`
	Topic     string    `json:"topic"`
	V         int       `json:"v"`
}

// Digest identifies the subject of an answer: the caller, the exact act, the directory, and every
// line that is shown.
func (q Question) Digest() objects.Digest {
	r := q.record()
	return objects.DigestOf(canonical(asked{r.Caller, r.Directory, r.Lines, r.Place, r.Subject, r.Text, r.Topic, version}))
}

func (q Question) record() record {
	lines := q.Lines
	if lines == nil {
		lines = []string{}
	}
	return record{Asked: stamp(q.Asked), Caller: q.Caller, Directory: q.Directory, Expires: stamp(q.Expires), ID: q.ID, Lines: lines,
		Place:   placeJSON{strconv.FormatInt(q.Place.Born, 10), strconv.FormatUint(q.Place.Inode, 10), q.Place.Key},
		Subject: q.Subject.String(), Text: q.Text, Topic: q.Topic, V: version}
}

// Encode returns the file.
func (q Question) Encode() []byte {
	r := q.record()
	r.Digest = q.Digest().String()
	return canonical(r)
}

// Parse reads a file and accepts only the exact bytes that Encode writes. So it also refuses a
// digest that does not match the lines shown. Errors are fault.Limit for a file over MaxFile,
// otherwise fault.Malformed.
func Parse(raw []byte) (Question, error) {
	var r record
	if err := strict.Decode(raw, MaxFile, &r); err != nil {
		return Question{}, err
	}
	q, err := r.question()
	if err == nil && !bytes.Equal(q.Encode(), raw) {
		err = malformed("question %s: not in canonical form, or it has another digest", short(r.ID))
	}
	if err != nil {
		return Question{}, err
	}
	return q, nil
}

func (r record) question() (q Question, err error) {
	if r.V != version {
		return q, malformed("question: format %d, this version of rye reads format %d", r.V, version)
	}
	if !ValidID(r.ID) || r.Caller == "" || len(r.Lines) > MaxLines {
		return q, malformed("question %s: want an id, a caller, and at most %d lines", short(r.ID), MaxLines)
	}
	q = Question{ID: r.ID, Caller: r.Caller, Directory: r.Directory, Topic: r.Topic, Text: r.Text, Lines: r.Lines}
	if q.Asked, err = time.Parse(time.RFC3339, r.Asked); err == nil {
		q.Expires, err = time.Parse(time.RFC3339, r.Expires)
	}
	if err != nil {
		return q, malformed("question %s: %w", short(r.ID), err)
	}
	if q.Subject, err = objects.ParseDigest(r.Subject); err != nil {
		return q, err
	}
	q.Place, err = r.Place.place()
	return q, err
}

// OpenAt reports whether an answer is still accepted at now.
func (q Question) OpenAt(now time.Time) bool { return now.Before(q.Expires) }

// Answer is a person's answer to one question.
type Answer struct {
	Yes    bool
	At     time.Time
	Digest objects.Digest // of the question, so that it answers no other question
}

type answerJSON struct {
	Answer string `json:"answer"` // yes or no
	At     string `json:"at"`
	Digest string `json:"digest"`
	V      int    `json:"v"`
}

// Encode returns the file of an answer.
func (a Answer) Encode() []byte {
	word := "no"
	if a.Yes {
		word = "yes"
	}
	return canonical(answerJSON{word, stamp(a.At), a.Digest.String(), version})
}

// ParseAnswer reads the file of an answer, as strictly as Parse.
func ParseAnswer(raw []byte) (Answer, error) {
	var j answerJSON
	if err := strict.Decode(raw, MaxAnswer, &j); err != nil {
		return Answer{}, err
	}
	at, err := time.Parse(time.RFC3339, j.At)
	if err != nil {
		return Answer{}, malformed("answer: %w", err)
	}
	sum, err := objects.ParseDigest(j.Digest)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Yes: j.Answer == "yes", At: at, Digest: sum}
	if !bytes.Equal(a.Encode(), raw) {
		return Answer{}, malformed("answer: not in canonical form")
	}
	return a, nil
}

// alphabet is Crockford's base32, in lower case.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const idLength = 26

// NewID returns a ULID in lower case: 48 bits of milliseconds since 1970, so that names sort by
// time, and 80 random bits.
func NewID(at time.Time, random [10]byte) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(at.UnixMilli())<<16)
	copy(raw[6:], random[:])
	n := new(big.Int).SetBytes(raw[:])
	id, low := make([]byte, idLength), big.NewInt(31)
	for i := idLength - 1; i >= 0; i-- {
		id[i] = alphabet[new(big.Int).And(n, low).Int64()]
		n.Rsh(n, 5)
	}
	return string(id)
}

// ValidID reports whether id could come from NewID.
func ValidID(id string) bool {
	return len(id) == idLength && id[0] <= '7' && strings.Trim(id, alphabet) == ""
}

func short(id string) string {
	if ValidID(id) {
		return id
	}
	return "without an id"
}

func malformed(format string, args ...any) error { return fault.New(fault.Malformed, format, args...) }

func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

func canonical(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // texts and one number always encode
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
