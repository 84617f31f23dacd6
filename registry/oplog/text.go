package oplog

import (
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
)

// Bounds of human-written texts in a log, in bytes.
const (
	MaxReason      = trust.MaxReason
	MaxDescription = 300
	MaxName        = 60
)

// hidden reports characters that may not stand in a log: control characters, and invisible ones
// that change how the surrounding text is shown. The list is written out instead of taken from a
// Unicode table, because all readers of a log must decide alike, in whatever version they were
// built.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0xad, r == 0x61c, r == 0x180e,
		r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
		r == 0xfeff, r >= 0xfff9 && r <= 0xffff, r&0xfffe == 0xfffe,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// checkText refuses text that Plain would change.
func checkText(what, s string, limit int) error {
	if s == "" || Plain(s, limit) != s {
		return fault.New(fault.Malformed, "%s %q: want 1 to %d bytes on one line, single spaces, no hidden characters", what, words.Brief(s), limit)
	}
	return nil
}

// Plain makes text fit for a log. White space becomes single spaces, hidden and broken characters
// are removed, and text after limit bytes is cut off between characters. The result may be empty.
func Plain(s string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case r == ' ' || r >= '\t' && r <= '\r' || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029:
			space = b.Len() > 0
			continue
		case r == utf8.RuneError || hidden(r):
			continue
		}
		need := utf8.RuneLen(r)
		if space {
			need++
		}
		if b.Len()+need > limit {
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// appendQuoted appends s as a JSON string in ASCII, the only spelling that a log and a catalogue
// accept. s must be valid UTF-8.
func appendQuoted(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	unit := func(u rune) {
		b = append(b, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
	}
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20 || r >= 0x7f && r < 0x10000:
			unit(r)
		case r >= 0x10000:
			unit(0xd800 + (r-0x10000)>>10)
			unit(0xdc00 + (r-0x10000)&0x3ff)
		default:
			b = append(b, byte(r))
		}
	}
	return append(b, '"')
}

// yamlQuoted returns s, which passed checkText, as a double-quoted YAML scalar.
func yamlQuoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
