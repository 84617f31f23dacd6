package program

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Text reports whether data is mostly text, by content alone. Text in any 8-bit code and in UTF-16
// counts, also with a few stray bytes, since agents and shells read it all the same. A file that
// begins with #! is text, whatever follows, and an empty file is text.
func Text(data []byte) bool {
	if bytes.HasPrefix(data, []byte("#!")) || plain(data) || wide(data) {
		return true
	}
	for _, magic := range binaries {
		if bytes.HasPrefix(data, []byte(magic)) {
			return false
		}
	}
	controls := 0
	for _, c := range data {
		if isControl(c) {
			controls++
		}
	}
	return controls*fewControls <= len(data)
}

// plain reports whether data is text without any doubt: UTF-8 without control characters. No format
// of programs, archives or pictures is.
func plain(data []byte) bool {
	return utf8.Valid(data) && !slices.ContainsFunc(data, isControl)
}

// fewControls is the least number of bytes for each control character in a text. Of random or
// compressed bytes one in nine is one.
const fewControls = 32

// isControl reports whether texts have no such byte: the control characters without tabulators, ends
// of lines and pages, backspace and escape.
func isControl(c byte) bool {
	return c < 0x20 && (c < '\b' || c > '\r') && c != 0x1b || c == 0x7f
}

// wide reports whether data looks like UTF-16: any text behind a byte order mark, and without one a
// text that is mostly Latin.
func wide(data []byte) bool {
	for high, mark := range []string{"\xfe\xff", "\xff\xfe"} { // the high byte comes first, or second
		rest, marked := bytes.CutPrefix(data, []byte(mark))
		units, latin, bad, open := len(rest)/2, 0, 0, false
		for i := 0; i+1 < len(rest); i += 2 {
			h, l := rest[i+high], rest[i+1-high]
			first, second := h>>2 == 0xd8>>2, h>>2 == 0xdc>>2
			switch {
			case h == 0 && isControl(l), open != second:
				bad++
			case h == 0:
				latin++
			}
			open = first
		}
		if units > 1 && bad*fewControls <= units && (marked || latin*2 > units) {
			return true
		}
	}
	return false
}

// binaries are the first bytes of formats that can have few control characters.
var binaries = []string{
	"%PDF-", "\x89PNG\r\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "RIFF", "II*\x00", "MM\x00*",
	"PK\x03\x04", "PK\x05\x06", "\x1f\x8b", "BZh", "\xfd7zXZ", "\x28\xb5\x2f\xfd", "7z\xbc\xaf", "Rar!",
	"wOFF", "wOF2", "OTTO", "ttcf", "\x00\x01\x00\x00", "\x00\x00\x01\x00", "OggS", "ID3", "fLaC",
	"\x7fELF", "\xca\xfe\xba\xbe", "\x00asm", "SQLite format 3\x00", "\xd0\xcf\x11\xe0",
}
