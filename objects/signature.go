package objects

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Parts of the signature line; docs/format/signature.md is normative.
const (
	signedWord  = "rye:signed:"
	signedV2    = "rye:signed:v2:"
	stampLayout = "2006-01-02T15:04:05Z"
	stampLen    = len(stampLayout)
	lineLen     = len(signedV2) + stampLen + 1 + 64 + 1 + 86 + 1 + 43 // 230 bytes, always

	// PayloadType is the DSSE payload type of a signed item.
	PayloadType = "application/vnd.rye.signed-item.v2+json"

	// formerType is the payload type that rye 0.1 signed before its release, without the extension.
	formerType = "application/vnd.rye.item.v2+json"
)

var b64 = base64.RawURLEncoding.Strict()

// Line returns the signature line without comment syntax and without line feed.
// It writes SignedAt in UTC, without the fraction of a second.
func (s Signature) Line() string {
	return signedV2 + s.SignedAt.UTC().Format(stampLayout) + ":" + s.Digest.Hex() + ":" +
		b64.EncodeToString(s.Sig[:]) + ":" + s.Key.URL()
}

// parseSignature is the inverse of Line. It accepts no other line, and returns the
// reason.
func parseSignature(line string) (s Signature, why string) {
	rest, ok := strings.CutPrefix(line, signedV2)
	if !ok {
		return s, fmt.Sprintf("%q: want %s", words.Brief(line), signedV2)
	}
	if len(line) != lineLen || rest[20] != ':' || rest[85] != ':' || rest[172] != ':' {
		return s, fmt.Sprintf("%d bytes, want %d: time, SHA-256, signature and key, joined by colons", len(line), lineLen)
	}
	stamp, sum, sig, key := rest[:20], rest[21:85], rest[86:172], rest[173:]
	t, err := time.Parse(stampLayout, stamp)
	var again [stampLen]byte
	if err != nil || string(t.AppendFormat(again[:0], stampLayout)) != stamp {
		return s, fmt.Sprintf("time %q, want UTC like 2026-01-31T12:00:00Z", stamp)
	}
	d, err := ParseDigest("sha256:" + sum)
	if err != nil {
		return s, fmt.Sprintf("digest %q, want 64 lower-case hexadecimal digits", sum)
	}
	if n, err := b64.Decode(s.Sig[:], []byte(sig)); err != nil || n != len(s.Sig) {
		return s, "signature is not 86 characters of base64url"
	}
	f, err := ParseFingerprintURL(key)
	if err != nil {
		return s, fmt.Sprintf("key %q, want 43 characters of base64url", key)
	}
	s.SignedAt, s.Digest, s.Key = t, d, f
	return s, ""
}

// SignedMessage returns the bytes that the key signs: the DSSE pre-authentication
// encoding of a canonical JSON object (RFC 8785). Therefore a line cannot be moved to
// another kind, id, file type, version, time or key. In the namespace "local", whose
// names have no owner, it cannot be moved to another project either. There project is
// the project's genesis id ("" in user space); elsewhere it is not part of the message.
// s.Sig is not part of the message.
func SignedMessage(ref Ref, b Bound, s Signature) []byte {
	return PAE(PayloadType, signedObject(ref, b, false, s))
}

// Bound is what a signature binds of a file beside its bytes and its name.
type Bound struct {
	Ext      string // Ext of the file's path; it decides which program executes the file
	Executor ID     // of a tool that names none itself; else ""
	Version  string
	Project  string // the project's genesis id; only in the namespace "local"
}

// Bound returns what a signature of the item binds, for a project.
func (it *Item) Bound(project string) Bound {
	b := Bound{Ext: Ext(it.Path), Version: it.Meta.Version, Project: project}
	if it.Meta.Inferred {
		b.Executor = it.Meta.Executor
	}
	return b
}

// FormerMessage returns the bytes that rye signed before the message had the extension. Such
// a signature has no effect. rye only distinguishes it from a forged one, to advise the user
// to sign again.
func FormerMessage(ref Ref, version, project string, s Signature) []byte {
	return PAE(formerType, signedObject(ref, Bound{Version: version, Project: project}, true, s))
}

// Ext returns the extension of a path without its dot, as signatures bind it.
func Ext(p string) string { return strings.TrimPrefix(path.Ext(p), ".") }

// signedObject is the payload of a message. The former one has no extension and no executor.
func signedObject(ref Ref, b Bound, former bool, s Signature) []byte {
	p := make([]byte, 0, 384)
	p = append(p, `{"digest":`...)
	p = appendJSONString(p, s.Digest.String())
	if b.Executor != "" {
		p = append(p, `,"executor":`...)
		p = appendJSONString(p, string(b.Executor))
	}
	if !former {
		p = append(p, `,"ext":`...)
		p = appendJSONString(p, b.Ext)
	}
	p = append(p, `,"id":`...)
	p = appendJSONString(p, string(ref.ID))
	p = append(p, `,"key":`...)
	p = appendJSONString(p, s.Key.String())
	p = append(p, `,"kind":`...)
	p = appendJSONString(p, string(ref.Kind))
	if ref.ID.Namespace() == LocalNamespace {
		p = append(p, `,"project":`...)
		p = appendJSONString(p, b.Project)
	}
	p = append(p, `,"signed_at":`...)
	p = appendJSONString(p, s.SignedAt.UTC().Format(stampLayout))
	p = append(p, `,"v":2,"version":`...)
	p = appendJSONString(p, b.Version)
	return append(p, '}')
}

// LocalNamespace is the namespace without owners: its ids belong to one project.
const LocalNamespace = "local"

// PAE returns the pre-authentication encoding of DSSE v1: the type and the
// payload, each with its length in bytes, so that no two pairs give the same bytes.
func PAE(payloadType string, payload []byte) []byte {
	out := make([]byte, 0, len(payloadType)+len(payload)+32)
	out = fmt.Appendf(out, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload))
	return append(out, payload...)
}

// appendJSONString appends s as RFC 8785 spells strings: the short escapes, \u00xx
// for other control characters, everything else as it is.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		default:
			if k := strings.IndexByte("\b\t\n\f\r", c); k >= 0 {
				b = append(b, '\\', "btnfr"[k])
			} else {
				b = append(b, `\u00`...)
				b = hex.AppendEncode(b, []byte{c})
			}
		}
	}
	return append(b, '"')
}

// Split splits a file into its body and its signature line, native or from RYE OS.
// The body is every byte except the line. In an unsigned file sig and legacy are nil,
// and the body is the whole file without a merge line (SplitMerged). Split verifies nothing and does not change raw;
// body shares raw's memory where possible.
//
// Errors are Malformed (a line that is damaged, misplaced or not the only one, a
// byte order mark, a carriage return around the line) or Limit.
func Split(path string, raw []byte) (body []byte, sig *Signature, legacy *LegacySignature, err error) {
	if len(raw) > MaxItemSize {
		return nil, nil, nil, fault.New(fault.Limit, "read %s: %d bytes, at most %d are allowed", path, len(raw), MaxItemSize)
	}
	if bytes.HasPrefix(raw, bom) {
		if IsSkill(path) {
			return raw, nil, nil, nil // other programs wrote it, and the manifest covers its bytes
		}
		return nil, nil, nil, malformed(path, 1, 1, "the file begins with a byte order mark").
			Advise("save %s as UTF-8 without a byte order mark", path)
	}
	c, ok := comments[extOf(path)]
	if !ok {
		return raw, nil, nil, nil
	}
	if l := findLegacy(path, raw); l != nil {
		return splitLegacy(path, raw, l)
	}
	lines := lookalikes(path, raw, 2)
	body, _, merged := SplitMerged(path, raw)
	if len(lines) == 0 {
		return body, nil, nil, nil
	}
	if merged { // otherwise nobody had signed the merge line
		line := markOf(raw, lines[0].start).line
		return nil, nil, nil, malformed(path, line, 0, "a signature line in a file with a line %s", mergedWord).Advise("delete line %d of %s and run rye sign", line, path)
	}
	if len(lines) > 1 {
		return nil, nil, nil, secondLine(path, raw, lines[1].start)
	}
	body, s, at, err := splitNative(path, raw, c, lines[0])
	if err != nil {
		return nil, nil, nil, err
	}
	if at != lines[0].start {
		line := markOf(raw, lines[0].start).line
		return nil, nil, nil, malformed(path, line, 0, "the signature line is not in its place (line 1, after a #! line, or last after front matter)").
			Advise("rye sign, if it is the line of the recorded version; else delete line %d of %s and run rye sign", line, path)
	}
	return body, s, nil, nil
}

// Misplaced splits a file whose signature line is well formed but in the wrong place,
// because text was added before or after it. ok is false for every other file.
func Misplaced(path string, raw []byte) (body []byte, sig *Signature, ok bool) {
	c, known := comments[extOf(path)]
	if !known || len(raw) > MaxItemSize || bytes.HasPrefix(raw, bom) || findLegacy(path, raw) != nil {
		return nil, nil, false
	}
	lines := lookalikes(path, raw, 2)
	if len(lines) != 1 {
		return nil, nil, false
	}
	body, sig, at, err := splitNative(path, raw, c, lines[0])
	return body, sig, err == nil && at != lines[0].start
}

var bom = []byte("\xef\xbb\xbf")

// splitNative removes l, the only line of raw that looks like a signature. at is the
// offset in the body where the line belongs.
func splitNative(path string, raw []byte, c comment, l span) (body []byte, sig *Signature, at int, err error) {
	m := markOf(raw, l.start)
	bad := func(format string, args ...any) ([]byte, *Signature, int, error) {
		return nil, nil, 0, malformed(path, m.line, 0, format, args...).Advise("delete line %d of %s and run rye sign again", m.line, path)
	}
	text := string(raw[l.start:l.end])
	if l.end == len(raw) {
		return bad("the signature line does not end with a line feed")
	}
	if raw[l.end] == '\r' || l.start > 0 && raw[l.start-1] == '\r' {
		return bad("a carriage return at the signature line: something converted the line endings")
	}
	inner, ok := strings.CutPrefix(text, c.open+" ")
	if ok && c.close != "" {
		inner, ok = strings.CutSuffix(inner, " "+c.close)
	}
	if !ok || !strings.HasPrefix(inner, signedWord) {
		return bad("signature line %q: want %q", words.Brief(text), c.line("rye:signed:v2:..."))
	}
	s, why := parseSignature(inner)
	if why != "" {
		return bad("signature line: %s", why)
	}
	body = without(raw, l.start, l.end+1)
	if at, err = signaturePlace(path, body); err != nil {
		return nil, nil, 0, err
	}
	return body, &s, at, nil
}

// without returns raw without the bytes from i up to j. It copies only if necessary.
func without(raw []byte, i, j int) []byte {
	switch {
	case i == 0:
		return raw[j:]
	case j == len(raw):
		return raw[:i:i]
	}
	out := make([]byte, 0, len(raw)-(j-i))
	return append(append(out, raw[:i]...), raw[j:]...)
}

// signaturePlace returns the offset in body for its signature line: the beginning,
// or after a "#!" line. It is the end when the file begins with text that must stay
// at byte 0 (front matter, an XML declaration).
func signaturePlace(path string, body []byte) (int, error) {
	if bytes.HasPrefix(body, []byte("#!")) {
		if i := bytes.IndexByte(body, '\n'); i >= 0 {
			return i + 1, nil
		}
		return 0, noFinalNewline(path)
	}
	if !startTaken(path, body) {
		return 0, nil
	}
	if body[len(body)-1] != '\n' {
		return 0, noFinalNewline(path)
	}
	return len(body), nil
}

func noFinalNewline(path string) error {
	return malformed(path, 0, 0, "the signature line goes below the last line, which does not end with a line feed").
		Advise("end %s with a newline", path)
}

// startTaken reports whether body begins with text that must stay at byte 0.
func startTaken(path string, body []byte) bool {
	if comments[extOf(path)] != angle {
		return false
	}
	return bytes.HasPrefix(body, []byte("---")) || bytes.HasPrefix(body, []byte("<?xml"))
}

// WithSignature returns the file with s as its signature line, the inverse of
// Split. It refuses a body that already has such a line, and a file type without
// comments. It does not check s against the body.
func WithSignature(path string, body []byte, s Signature) ([]byte, error) {
	c, ok := comments[extOf(path)]
	if !ok {
		return nil, fault.New(fault.Malformed, "sign %s: files of this type cannot carry a signature line", path).
			Advise("put it in .ai/bundles/<namespace>/<name>, and rye sign that directory")
	}
	if _, why := parseSignature(s.Line()); why != "" {
		return nil, fault.New(fault.Malformed, "sign %s: %s", path, why)
	}
	line := c.line(s.Line()) + "\n"
	if len(body)+len(line) > MaxItemSize {
		return nil, fault.New(fault.Limit, "sign %s: %d bytes, at most %d are allowed", path, len(body)+len(line), MaxItemSize)
	}
	if bytes.HasPrefix(body, bom) {
		return nil, malformed(path, 1, 1, "the file begins with a byte order mark").
			Advise("save %s as UTF-8 without a byte order mark", path)
	}
	if found := lookalikes(path, body, 1); len(found) > 0 {
		return nil, secondLine(path, body, found[0].start)
	}
	at, err := signaturePlace(path, body)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+len(line))
	out = append(out, body[:at]...)
	out = append(out, line...)
	return append(out, body[at:]...), nil
}

func secondLine(path string, raw []byte, off int) error {
	m := markOf(raw, off)
	return malformed(path, m.line, m.col, "a second line that begins with %s", signedWord).
		Advise("delete line %d of %s, or, if it is an example, put a word before %s", m.line, path, signedWord)
}

// span is a line: from its first byte up to the LF or CR that ends it, or the end.
type span struct{ start, end int }

// openers may precede the word in a signature line, in every file type. A body therefore
// cannot hide a line that another program would read as a signature line.
var openers = []string{"<!--", "//", "/*", "--", "#", ";", "%"}

// lookalikes is signedLines without the examples in Markdown, which are lines in a closed
// fence. A line there cannot be the signature line, which is the first or the last line.
func lookalikes(path string, raw []byte, max int) []span {
	found := signedLines(raw, max)
	if len(found) == 0 || extOf(path) != ".md" {
		return found
	}
	fences := closedFences(raw)
	if len(fences) == 0 {
		return found
	}
	found = slices.DeleteFunc(signedLines(raw, math.MaxInt), func(s span) bool {
		i, _ := slices.BinarySearchFunc(fences, s.start, func(f span, at int) int { return cmp.Compare(f.end, at) })
		return i < len(fences) && fences[i].start < s.start
	})
	return found[:min(len(found), max)]
}

// closedFences returns the closed fences of a Markdown text in order, each from its opening
// line to its closing one. A fence of n backticks or tildes ends with a line of at least n of
// them and nothing else.
func closedFences(raw []byte) []span {
	if !bytes.Contains(raw, []byte("```")) && !bytes.Contains(raw, []byte("~~~")) { // most texts
		return nil
	}
	var all []span
	open, mark, ticks := -1, byte(0), 0
	for i := 0; i < len(raw); {
		next := lineEnd(raw, i)
		line := bytes.TrimRight(bytes.TrimLeft(raw[i:next], " "), " \t\r\n")
		n := 0
		for n < len(line) && (line[0] == '`' || line[0] == '~') && line[n] == line[0] {
			n++
		}
		switch {
		case n < 3:
		case open < 0 && !(line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0):
			open, mark, ticks = i, line[0], n
		case open >= 0 && line[0] == mark && n >= ticks && n == len(line):
			all = append(all, span{open, i})
			open = -1
		}
		i = next
	}
	return all
}

// signedLines returns the first max lines that look like signature lines.
func signedLines(raw []byte, max int) []span {
	var found []span
	for from := 0; len(found) < max; {
		i := bytes.Index(raw[from:], []byte(signedWord))
		if i < 0 {
			break
		}
		i += from
		from = i + len(signedWord)
		start, ok := lineStart(raw, i)
		if !ok {
			continue
		}
		end := bytes.IndexAny(raw[from:], "\r\n")
		if end < 0 {
			end = len(raw) - from
		}
		found = append(found, span{start, from + end})
	}
	return found
}

// lineStart returns the start of the line that contains raw[i]. ok is true when only
// blanks and at most one comment opener are between them.
func lineStart(raw []byte, i int) (int, bool) {
	i = skipBlanks(raw, i)
	for _, o := range openers {
		if bytes.HasSuffix(raw[:i], []byte(o)) {
			i = skipBlanks(raw, i-len(o))
			break
		}
	}
	return i, i == 0 || raw[i-1] == '\n' || raw[i-1] == '\r'
}

// skipBlanks returns the offset of the first of the blanks that end at i.
func skipBlanks(raw []byte, i int) int {
	for i > 0 && (raw[i-1] == ' ' || raw[i-1] == '\t' || raw[i-1] == '\v' || raw[i-1] == '\f') {
		i--
	}
	return i
}
