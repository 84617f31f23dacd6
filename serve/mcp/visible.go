package mcp

import (
	"fmt"
	"strings"
	"unicode"
)

// visible escapes what could hide or reorder text in front of a person: control
// characters, bidirectional and zero-width formatting, tag characters.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
