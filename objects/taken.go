package objects

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// TakenFile is the name, below .ai, of the file where signers take versions back.
const TakenFile = "denied"

// Bounds. rye reads the first MaxTakenFile bytes of .ai/denied and ignores the rest.
const (
	MaxTakenFile  = 8 << 20 // bytes of .ai/denied
	MaxTakenLines = 10000   // kept for one signer
	maxTakenRef   = len("directive:") + MaxIDLength
	maxTakenLine  = len(takenV1) + maxTakenRef + takenTail + 1

	MaxTakenKept = MaxTakenLines * maxTakenLine // bytes of the kept lines for one signer
)

const (
	takenV1 = "rye:denied:v1:"
	// takenTail is the length, in bytes, of the part after the ref: digest, time, signature and
	// key, each after a colon.
	takenTail = 1 + 64 + 1 + 20 + 1 + 86 + 1 + 43

	// TakenType is the DSSE payload type of a line that takes a version back.
	TakenType = "application/vnd.rye.denied.v1+json"
)

// Taken is one line of .ai/denied, not verified yet: a signer takes one content of one item
// back. docs/format/denied.md is normative.
type Taken struct {
	Ref    Ref
	Digest Digest    // of the whole file, or of its body
	At     time.Time // UTC, whole seconds
	Sig    [64]byte  // Ed25519
	Key    Fingerprint
}

// Line returns the line without line feed.
func (t Taken) Line() string {
	return takenV1 + t.Ref.String() + ":" + t.Digest.Hex() + ":" + t.At.UTC().Format(stampLayout) + ":" +
		b64.EncodeToString(t.Sig[:]) + ":" + t.Key.URL()
}

// Message returns the bytes that the key signs: the DSSE pre-authentication encoding of a
// canonical JSON object. For an item in the namespace "local" the object holds the project's
// genesis id ("" in the user space), like the item's own signature.
func (t Taken) Message(project string) []byte {
	p := []byte(`{"at":`)
	p = appendJSONString(p, t.At.UTC().Format(stampLayout))
	p = append(p, `,"digest":`...)
	p = appendJSONString(p, t.Digest.String())
	p = append(p, `,"key":`...)
	p = appendJSONString(p, t.Key.String())
	if t.Ref.ID.Namespace() == LocalNamespace {
		p = append(p, `,"project":`...)
		p = appendJSONString(p, project)
	}
	p = append(p, `,"ref":`...)
	p = appendJSONString(p, t.Ref.String())
	return PAE(TakenType, append(p, `,"v":1}`...))
}

// parseTaken is the inverse of Line. It accepts no other line, and returns the reason.
func parseTaken(line string) (t Taken, why string) {
	rest, ok := strings.CutPrefix(line, takenV1)
	if !ok || len(rest) <= takenTail {
		return t, fmt.Sprintf("%q: want %s, a ref, a digest, a time, a signature and a key", words.Brief(line), takenV1)
	}
	name, tail := rest[:len(rest)-takenTail], rest[len(rest)-takenTail:]
	if tail[0] != ':' || tail[65] != ':' || tail[86] != ':' || tail[173] != ':' {
		return t, fmt.Sprintf("%q: a part has the wrong length", words.Brief(line))
	}
	var err error
	if t.Ref, err = ParseRef(name); err != nil || t.Ref.String() != name {
		return t, fmt.Sprintf("item %q: want a ref like tool:acme/hello", words.Brief(name))
	}
	if t.Digest, err = ParseDigest("sha256:" + tail[1:65]); err != nil {
		return t, fmt.Sprintf("digest %q, want 64 lower-case hexadecimal digits", tail[1:65])
	}
	if t.At, err = time.Parse(stampLayout, tail[66:86]); err != nil || t.At.Format(stampLayout) != tail[66:86] {
		return t, fmt.Sprintf("time %q, want UTC like 2026-01-31T12:00:00Z", tail[66:86])
	}
	if n, err := b64.Decode(t.Sig[:], []byte(tail[87:173])); err != nil || n != len(t.Sig) {
		return t, "signature is not 86 characters of base64url"
	}
	if t.Key, err = ParseFingerprintURL(tail[174:]); err != nil {
		return t, fmt.Sprintf("key %q, want 43 characters of base64url", tail[174:])
	}
	return t, ""
}

// TakenFault is a malformed line of .ai/denied, which has no effect.
type TakenFault struct {
	Line int // from 1
	Why  string
}

// ParseTakenFile reads a file of such lines, each ended by a line feed. It removes
// duplicates, because git merges the file as a union. A malformed line has no effect, and the
// others are still read.
func ParseTakenFile(raw []byte) (all []Taken, faults []TakenFault) {
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		text, ended := strings.CutSuffix(line, "\n")
		t, why := parseTaken(text)
		if why == "" && !ended {
			why = "it does not end with a line feed"
		}
		switch {
		case why != "":
			faults = append(faults, TakenFault{n, why})
		case !seen[text]:
			seen[text] = true
			all = append(all, t)
		}
	}
	return all, faults
}

// AddTaken returns the text of .ai/denied with one more line, sorted, each line once. It
// keeps lines that it cannot read: a newer rye may have written them.
func AddTaken(raw []byte, t Taken) []byte {
	lines := []string{t.Line() + "\n"}
	for line := range strings.Lines(string(raw)) {
		lines = append(lines, strings.TrimSuffix(line, "\n")+"\n")
	}
	slices.Sort(lines)
	return []byte(strings.Join(slices.Compact(lines), ""))
}

// TakenIndex finds lines of a text by the digest that they take back. It parses only the
// lines that it returns. It is safe for concurrent use.
type TakenIndex struct {
	raw  []byte
	once sync.Once
	at   map[[64]byte][]int // where lines begin, by the digits of their digest
}

// NewTakenIndex returns the index of a text of lines. The caller must not change raw.
func NewTakenIndex(raw []byte) *TakenIndex { return &TakenIndex{raw: raw} }

// Find returns the lines that take a digest back.
func (x *TakenIndex) Find(d Digest) (all []Taken) {
	if x == nil || len(x.raw) == 0 {
		return nil
	}
	x.once.Do(x.index)
	for _, at := range x.at[hexOf(d)] {
		end := bytes.IndexByte(x.raw[at:], '\n')
		if t, why := parseTaken(string(x.raw[at : at+end])); why == "" {
			all = append(all, t)
		}
	}
	return all
}

func (x *TakenIndex) index() {
	x.at = map[[64]byte][]int{}
	for at := 0; ; {
		end := bytes.IndexByte(x.raw[at:], '\n')
		if end < 0 {
			return
		}
		if sum, ok := digestIn(x.raw[at : at+end]); ok {
			key := [64]byte(sum)
			x.at[key] = append(x.at[key], at)
		}
		at += end + 1
	}
}

// hexOf returns the digits of a digest as in a line.
func hexOf(d Digest) (key [64]byte) {
	hex.Encode(key[:], d[:])
	return key
}

// digestIn returns the digits of the digest of a line without line feed.
func digestIn(line []byte) ([]byte, bool) {
	if len(line) <= len(takenV1)+takenTail {
		return nil, false
	}
	at := len(line) - takenTail + 1
	return line[at : at+64], true
}

// EncodeTakenKept returns the text that keeps the lines of one signer: sorted by the digest
// that they take back, then by the line, each once.
func EncodeTakenKept(all []Taken) []byte {
	type row struct{ key, line string }
	rows := make([]row, len(all))
	for i, t := range all {
		rows[i] = row{t.Digest.Hex(), t.Line() + "\n"}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.line, b.line)) })
	rows = slices.Compact(rows)
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.line)
	}
	return []byte(b.String())
}

// ParseTakenKept reads all of such a text. Any other text is fault.Integrity, because rye
// wrote the file.
func ParseTakenKept(raw []byte) ([]Taken, error) {
	all, faults := ParseTakenFile(raw)
	if len(faults) > 0 || !bytes.Equal(EncodeTakenKept(all), raw) {
		return nil, damagedKept()
	}
	return all, nil
}

// FindTakenKept returns the lines of such a text that take a digest back. It uses a binary
// search, so it reads only a few lines. If one of them is malformed, the error is
// fault.Integrity.
func FindTakenKept(raw []byte, d Digest) (all []Taken, err error) {
	want := hexOf(d)
	low, high := 0, len(raw) // offsets of lines; all lines before low are less
	for low < high {
		mid := low + (high-low)/2
		begin := bytes.LastIndexByte(raw[low:mid], '\n') + 1 + low
		end := bytes.IndexByte(raw[begin:], '\n')
		sum, ok := []byte(nil), false
		if end >= 0 {
			sum, ok = digestIn(raw[begin : begin+end])
		}
		if !ok {
			return nil, damagedKept()
		}
		if bytes.Compare(sum, want[:]) < 0 {
			low = begin + end + 1
		} else {
			high = begin
		}
	}
	for low < len(raw) {
		end := bytes.IndexByte(raw[low:], '\n')
		if end < 0 {
			return nil, damagedKept()
		}
		t, why := parseTaken(string(raw[low : low+end]))
		switch {
		case why != "":
			return nil, damagedKept()
		case t.Digest != d:
			return all, nil
		}
		all = append(all, t)
		low += end + 1
	}
	return all, nil
}

func damagedKept() error {
	return fault.New(fault.Integrity, "the kept denials are damaged: not sorted lines of rye:denied:v1")
}
