package objects

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/words"
)

// DeniedKeysFile is the name, below .ai, of the file in which owners of namespaces deny keys.
const DeniedKeysFile = "denied-keys"

// Bounds of a text with dismissals.
const (
	MaxDismissalFile = 1 << 20 // bytes
	maxDismissals    = 10000   // lines that are read
)

// DismissalKind is the effect of a dismissal. It decides the prefix of its line and the
// payload type that is signed.
type DismissalKind string

// The kinds of dismissals.
const (
	SignerRemoved DismissalKind = "removed"    // a line in .ai/allowed_signers: it ends all earlier grants
	KeyDenied     DismissalKind = "key-denied" // a line in .ai/denied-keys: all signatures by the key are refused
)

// every returns the prefix of a kind's lines in all versions, and prefix the one in this
// version. To ssh-keygen and git a removal is a comment.
func (k DismissalKind) every() string {
	if k == SignerRemoved {
		return "# rye:removed:"
	}
	return "rye:key-denied:"
}

func (k DismissalKind) prefix() string { return k.every() + "v1:" }

// Type is the DSSE payload type of the kind.
func (k DismissalKind) Type() string { return "application/vnd.rye." + string(k) + ".v1+json" }

// Dismissal is one signed line that takes a key out of a namespace, not verified yet.
// docs/format/statement.md and docs/format/denied-keys.md are normative.
type Dismissal struct {
	Kind      DismissalKind
	Namespace string
	Signer    Fingerprint // the key that is taken out
	At        time.Time   // UTC, whole seconds
	Sig       [64]byte    // Ed25519
	Key       Fingerprint // the key that signed the line
}

// dismissalTail is the length, in bytes, of the part after the namespace: signer, time,
// signature and key, each after a colon.
const dismissalTail = 1 + 43 + 1 + 20 + 1 + 86 + 1 + 43

// Line returns the line without line feed.
func (d Dismissal) Line() string {
	return d.Kind.prefix() + d.Namespace + ":" + d.Signer.URL() + ":" + d.At.UTC().Format(stampLayout) + ":" +
		b64.EncodeToString(d.Sig[:]) + ":" + d.Key.URL()
}

// Message returns the bytes that the key signs: the DSSE pre-authentication encoding of a
// canonical JSON object. The object holds the project's genesis id, so the line has no effect
// in another project.
func (d Dismissal) Message(project string) []byte {
	p := []byte(`{"at":`)
	for _, f := range [...]struct{ text, next string }{
		{d.At.UTC().Format(stampLayout), `,"key":`}, {d.Key.String(), `,"namespace":`}, {d.Namespace, `,"project":`},
		{project, `,"signer":`}, {d.Signer.String(), `,"v":1}`},
	} {
		p = append(appendJSONString(p, f.text), f.next...)
	}
	return PAE(d.Kind.Type(), p)
}

// ParseDismissal is the inverse of Line. It accepts no other line, and returns the reason.
func ParseDismissal(kind DismissalKind, line string) (d Dismissal, why string) {
	d.Kind = kind
	rest, ok := strings.CutPrefix(line, kind.prefix())
	switch {
	case !ok && strings.HasPrefix(line, kind.every()):
		return d, "this rye reads version 1 of such a line: install a newer rye"
	case !ok || len(rest) <= dismissalTail:
		return d, "want " + kind.prefix() + ", a namespace, a key, a time, a signature and a key"
	}
	ns, tail := rest[:len(rest)-dismissalTail], rest[len(rest)-dismissalTail:]
	if tail[0] != ':' || tail[44] != ':' || tail[65] != ':' || tail[152] != ':' {
		return d, "a part has the wrong length"
	}
	if id, err := ParseID(ns); err != nil || id.Namespace() != ns {
		return d, fmt.Sprintf("namespace %q: want lower-case letters, digits, _ and -", words.Brief(ns))
	}
	d.Namespace = ns
	var err error
	if d.Signer, err = ParseFingerprintURL(tail[1:44]); err != nil {
		return d, fmt.Sprintf("key %q, want 43 characters of base64url", tail[1:44])
	}
	if d.At, err = time.Parse(stampLayout, tail[45:65]); err != nil || d.At.Format(stampLayout) != tail[45:65] {
		return d, fmt.Sprintf("time %q, want UTC like 2026-01-31T12:00:00Z", tail[45:65])
	}
	if n, err := b64.Decode(d.Sig[:], []byte(tail[66:152])); err != nil || n != len(d.Sig) {
		return d, "signature is not 86 characters of base64url"
	}
	if d.Key, err = ParseFingerprintURL(tail[153:]); err != nil {
		return d, fmt.Sprintf("key %q, want 43 characters of base64url", tail[153:])
	}
	return d, ""
}

// BadLine is a line that breaks the format and has no effect.
type BadLine struct {
	N   int // from 1
	Why string
}

// ParseDismissals reads the lines of a kind in a text, each once. A line that breaks the
// format has no effect, and the others are still read. In .ai/denied-keys every line that is
// not empty must be a dismissal; in .ai/allowed_signers only lines with the prefix are read.
func ParseDismissals(kind DismissalKind, raw []byte) (all []Dismissal, bad []BadLine) {
	seen, n := map[string]bool{}, 0
	for line := range strings.Lines(string(raw)) {
		n++
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if text == "" || seen[text] || kind == SignerRemoved && !strings.HasPrefix(text, kind.every()) {
			continue
		}
		if seen[text] = true; len(seen) > maxDismissals {
			return all, append(bad, BadLine{n, fmt.Sprintf("more than %d lines: the rest is not read", maxDismissals)})
		}
		if d, why := ParseDismissal(kind, text); why == "" {
			all = append(all, d)
		} else {
			bad = append(bad, BadLine{n, why})
		}
	}
	return all, bad
}

// EncodeDismissals returns the text of some dismissals: their lines, sorted, each once.
func EncodeDismissals(all []Dismissal) []byte {
	var lines []string
	for _, d := range all {
		lines = append(lines, d.Line()+"\n")
	}
	slices.Sort(lines)
	return []byte(strings.Join(slices.Compact(lines), ""))
}
