package objects

import (
	"bytes"
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
)

// RYE OS's line, as its own expression reads it. Its signature is base64url
// with or without padding, its fingerprint 16 digits, its provenance unsigned.
var (
	legacyFields = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^rye:signed:(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z):([a-f0-9]{64}):([A-Za-z0-9_-]+)(={0,2}):([a-f0-9]{16})(?:\|([A-Za-z0-9_-]+@[A-Za-z0-9_-]+))?$`)
	})
	laterFields = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ryeos:signed:(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z):([a-f0-9]{64}):([A-Za-z0-9+/]{86}==):([a-f0-9]{64})$`)
	})
	legacyStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<directive[^>]*>`) })
)

// legacyWords are the prefixes of the lines that RYE OS strips before it hashes a file.
var legacyWords = []string{"rye:signed:", "rye:validated:", "kiwi-mcp:validated:", "kiwi-mcp:signed:"}

// legacyLine is a line of RYE OS and its position.
type legacyLine struct {
	span
	text string // without comment syntax
}

// laterWord begins the line of RyeOS 0.5, whose signature covers every byte below the line.
// Its signature is standard base64, its fingerprint 64 digits.
const laterWord = "ryeos:signed:"

// maxLegacyLine bounds a line of RYE OS, in bytes; real ones have about 250.
const maxLegacyLine = 4096

// legacyKind returns the kind whose rules RYE OS applied to the file at path. RYE OS
// treats everything except directives and knowledge as a tool.
func legacyKind(path string) Kind {
	switch {
	case strings.HasPrefix(path, Directive.Dir()+"/"):
		return Directive
	case strings.HasPrefix(path, Knowledge.Dir()+"/"):
		return Knowledge
	}
	return Tool
}

// findLegacy returns RYE OS's line, or nil when there is none in its place.
// Directives and knowledge have it at byte 0 as an HTML comment, with any extension.
// Tools have it at byte 0 or below a "#!/" line, as # or //.
func findLegacy(path string, raw []byte) *legacyLine {
	start := 0
	tool := legacyKind(path) == Tool
	if tool && bytes.HasPrefix(raw, []byte("#!/")) {
		start = bytes.IndexByte(raw, '\n') + 1
	}
	end := bytes.IndexByte(raw[start:], '\n')
	if end < 0 || end > maxLegacyLine {
		return nil
	}
	line := string(raw[start : start+end])
	if text, ok := laterText(path, line); ok {
		return &legacyLine{span{start, start + end}, text}
	}
	text, ok := strings.CutPrefix(line, "<!-- ")
	if ok && !tool {
		text, ok = strings.CutSuffix(text, "-->")
		text = strings.TrimRight(text, " ")
	} else if tool {
		if text, ok = strings.CutPrefix(line, "# "); !ok {
			text, ok = strings.CutPrefix(line, "// ")
		}
	}
	if !ok || laterVersion(text) {
		return nil
	}
	for _, w := range legacyWords {
		if strings.HasPrefix(text, w) {
			return &legacyLine{span{start, start + end}, text}
		}
	}
	return nil
}

// laterText returns the line of RyeOS 0.5 without the comment syntax, which depends on the
// file's extension and not on its kind.
func laterText(path, line string) (string, bool) {
	c := comments[extOf(path)]
	text, ok := strings.CutPrefix(line, c.open+" ")
	if ok && c.close != "" {
		text, ok = strings.CutSuffix(text, " "+c.close)
	}
	return text, ok && strings.HasPrefix(text, laterWord)
}

// laterVersion reports whether text names a version of the native line. RYE OS has a
// date in the place of "v2".
func laterVersion(text string) bool {
	rest, ok := strings.CutPrefix(text, signedWord+"v")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// splitLegacy takes RYE OS's line out of raw and finds the bytes that it covers.
// Like RYE OS, it accepts examples of signature lines further down. It refuses a
// native line there: two signature lines would be ambiguous.
func splitLegacy(path string, raw []byte, l *legacyLine) ([]byte, *Signature, *LegacySignature, error) {
	body := without(raw, l.start, l.end+1)
	for _, s := range lookalikes(path, body, math.MaxInt) {
		if i := bytes.Index(body[s.start:s.end], []byte(signedWord)); laterVersion(string(body[s.start+i : s.end])) {
			off := s.start
			if off >= l.start {
				off += l.end + 1 - l.start
			}
			return nil, nil, nil, secondLine(path, raw, off)
		}
	}
	sig := parseLegacy(l.text)
	switch {
	case sig.Unsigned != "":
	case sig.Later():
		sig.Payload, sig.Covers, sig.Complete = body[l.start:], "the whole file", true
		if l.start > 0 {
			sig.Covers, sig.Complete = "the file without its #! line", false
		}
	default:
		sig.cover(legacyKind(path), body)
	}
	return body, nil, sig, nil
}

// parseLegacy reads the fields. For a line that is not a complete signature the
// result has Unsigned set, and cannot verify.
func parseLegacy(text string) *LegacySignature {
	for _, w := range legacyWords[1:] {
		if strings.HasPrefix(text, w) {
			return &LegacySignature{Unsigned: strings.TrimSuffix(w, ":") + " line without a signature"}
		}
	}
	if strings.HasPrefix(text, laterWord) {
		return parseLater(text)
	}
	m := legacyFields().FindStringSubmatch(text)
	if m == nil {
		return &LegacySignature{Unsigned: "placeholder or incomplete signature line"}
	}
	at, err := time.Parse(stampLayout, m[1])
	b, err2 := base64.RawURLEncoding.Strict().DecodeString(m[3])
	d, err3 := ParseDigest("sha256:" + m[2])
	if err != nil || err2 != nil || err3 != nil || len(b) != 64 || len(m[4]) == 1 {
		return &LegacySignature{Unsigned: "incomplete signature line"}
	}
	s := &LegacySignature{SignedAt: at, Digest: d, Key: m[5], Provenance: m[6]}
	copy(s.Sig[:], b)
	return s
}

// parseLater reads the fields of RyeOS 0.5.
func parseLater(text string) *LegacySignature {
	m := laterFields().FindStringSubmatch(text)
	if m == nil {
		return &LegacySignature{Unsigned: "placeholder or incomplete signature line"}
	}
	at, err := time.Parse(stampLayout, m[1])
	b, err2 := base64.StdEncoding.Strict().DecodeString(m[3])
	d, err3 := ParseDigest("sha256:" + m[2])
	if err != nil || err2 != nil || err3 != nil || len(b) != 64 {
		return &LegacySignature{Unsigned: "incomplete signature line"}
	}
	s := &LegacySignature{SignedAt: at, Digest: d, Key: m[4]}
	copy(s.Sig[:], b)
	return s
}

// Later reports whether the line is one of RyeOS 0.5. Only its fingerprint has 64 digits.
func (s *LegacySignature) Later() bool { return len(s.Key) == 64 }

// Message returns the bytes that RYE OS's key signed: the digest's hexadecimal
// digits as text. Time, key and provenance were never signed.
func (s *LegacySignature) Message() []byte { return []byte(s.Digest.Hex()) }

// cover sets Payload to the bytes that RYE OS hashed, and describes them in Covers.
func (s *LegacySignature) cover(k Kind, body []byte) {
	s.Payload, s.Covers, s.Complete = body, "the whole file", true
	switch k {
	case Directive:
		s.coverDirective(body)
	case Knowledge:
		if !bytes.HasPrefix(body, []byte("---")) {
			return
		}
		if end := bytes.Index(body[3:], []byte("---")); end >= 0 {
			s.Payload = trimPython(body[3+end+3:])
			s.Covers = "only the text below the front matter"
		}
	default:
		if !bytes.HasPrefix(body, []byte("#!/")) {
			return
		}
		if i := bytes.IndexByte(body, '\n'); i >= 0 {
			s.Payload = body[i+1:]
			s.Covers, s.Complete = "the file without its #! line", false
		}
	}
}

func (s *LegacySignature) coverDirective(body []byte) {
	const closing = "</directive>"
	at := legacyStart().FindIndex(body)
	end := bytes.LastIndex(body, []byte(closing))
	if at == nil || end < at[0] {
		s.Payload, s.Covers, s.Complete = nil, "nothing: the file has no <directive> element", false
		return
	}
	end += len(closing)
	s.Payload = body[at[0]:end]
	rest := bytes.TrimPrefix(bytes.TrimSpace(body[end:]), []byte("```"))
	if s.Complete = len(bytes.TrimSpace(rest)) == 0; s.Complete {
		s.Covers = "only the <directive> element"
	} else {
		s.Covers = "only the <directive> element, not the text below it that a model is given"
	}
}

// trimPython trims like Python's str.strip, which removes a little more than Go's TrimSpace.
func trimPython(b []byte) []byte {
	return bytes.TrimFunc(b, func(r rune) bool {
		return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
	})
}

// RyeOSDigest returns the SHA-256 that RYE OS would compute for an item as it is
// now, over the bytes that its signature would cover. The item's own signature does
// not matter. RYE OS's lock files pin tools by this digest.
func RyeOSDigest(it *Item) Digest {
	var s LegacySignature
	s.cover(legacyKind(it.Path), it.Body)
	return DigestOf(s.Payload)
}
