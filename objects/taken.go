package objects

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// TakenFile is the name, below .ai, of the file in which signers take versions back.
const TakenFile = "denied"

// Bounds of such a file.
const (
	MaxTakenFile  = 1 << 20 // bytes
	MaxTakenLines = 10000
)

const (
	takenV1 = "rye:denied:v1:"
	// takenTail is what follows the ref: digest, time, signature and key, each after a colon.
	takenTail = 1 + 64 + 1 + 20 + 1 + 86 + 1 + 43

	// TakenType is the DSSE payload type of a line that takes a version back.
	TakenType = "application/vnd.rye.denied.v1+json"
)

// Taken is one line of .ai/denied: a signer takes one content of one item back.
// docs/format/denied.md is normative. Nothing in it was verified.
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
// canonical JSON object. For an item of the namespace "local" it binds the project's
// genesis id ("" in the user space), as the item's own signature does.
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

// parseTaken accepts exactly what Line returns; else it says in words what is wrong.
func parseTaken(line string) (t Taken, why string) {
	rest, ok := strings.CutPrefix(line, takenV1)
	if !ok || len(rest) <= takenTail {
		return t, fmt.Sprintf("%q: want %s, a ref, a digest, a time, a signature and a key", words.Brief(line), takenV1)
	}
	name, tail := rest[:len(rest)-takenTail], rest[len(rest)-takenTail:]
	if tail[0] != ':' || tail[65] != ':' || tail[86] != ':' || tail[173] != ':' {
		return t, fmt.Sprintf("%q: its parts do not have their lengths", words.Brief(line))
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

// ParseTakenFile reads a file of such lines, each ended by a line feed, without those that
// occur twice: git merges it as a union. Anything else in it is Malformed, with the line.
func ParseTakenFile(raw []byte) ([]Taken, error) {
	if len(raw) > MaxTakenFile {
		return nil, fault.New(fault.Limit, "read .ai/%s: %d bytes, at most %d are read", TakenFile, len(raw), MaxTakenFile)
	}
	var all []Taken
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(raw)) {
		if n++; n > MaxTakenLines {
			return nil, fault.New(fault.Limit, "read .ai/%s: more than %d lines", TakenFile, MaxTakenLines)
		}
		text, ended := strings.CutSuffix(line, "\n")
		t, why := parseTaken(text)
		if why == "" && !ended {
			why = "it does not end with a line feed"
		}
		if why != "" {
			return nil, fault.New(fault.Malformed, "read .ai/%s: line %d: %s", TakenFile, n, why).Advise("delete line %d of .ai/%s", n, TakenFile)
		}
		if !seen[text] {
			seen[text] = true
			all = append(all, t)
		}
	}
	return all, nil
}

// EncodeTakenFile returns the file of some lines, sorted, each once.
func EncodeTakenFile(all []Taken) []byte {
	var lines []string
	for _, t := range all {
		lines = append(lines, t.Line()+"\n")
	}
	slices.Sort(lines)
	return []byte(strings.Join(slices.Compact(lines), ""))
}
