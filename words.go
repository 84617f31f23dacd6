package rye

import (
	"fmt"
	"strings"
)

// plural counts a noun whose plural ends in s.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// clipText keeps a message readable when what it quotes is not.
func clipText(s string) string { return clip(s, 80) }

// clipLine keeps a line of somebody's file short enough to be read among others.
func clipLine(s string) string { return clip(s, 120) }

// clip cuts s to so many bytes, within no character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
