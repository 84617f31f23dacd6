package audit

import (
	"unicode"
	"unicode/utf8"
)

// hidden finds characters that are invisible to a person and that a model reads.
func (s *scan) hidden(line string) {
	if plain(line) {
		return
	}
	runes := []rune(line)
	rtl := false
	for i, r := range runes {
		if r >= 0x590 && (unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)) {
			rtl = true
		}
		if why := unseen(runes, i, s.line == 1 && len(s.tail) == 0, rtl || mayBeRTL(runes, i)); why != "" {
			s.add("hidden-unicode", High, s.line, line, why)
			return
		}
	}
}

// plain reports whether a line is printable ASCII and tabs.
func plain(line string) bool {
	for i := range len(line) {
		if c := line[i]; c >= utf8.RuneSelf || c < ' ' && c != '\t' && c != '\f' || c == 0x7f {
			return false
		}
	}
	return true
}

// mayBeRTL reports whether a mark of direction at i has letters of a right-to-left script after
// it.
func mayBeRTL(runes []rune, i int) bool {
	if r := runes[i]; r != 0x200e && r != 0x200f && r != 0x61c {
		return false
	}
	for _, r := range runes[i:min(len(runes), i+64)] {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) {
			return true
		}
	}
	return false
}

// unseen returns the reason why the character at i hides something; "" for all others.
func unseen(runes []rune, i int, first, rtl bool) string {
	r, before, after := runes[i], at(runes, i-1), at(runes, i+1)
	switch {
	case r == '\t' || r == '\f' || r >= ' ' && r < 0x7f:
		return ""
	case r < ' ' || r >= 0x7f && r < 0xa0:
		if r == '\r' {
			return "a carriage return within a line: a terminal shows the text after it in its place"
		}
		return "a control character, which a terminal obeys"
	case r == 0xad:
		if after == 0xad {
			return "several soft hyphens in a row, which are invisible"
		}
	case r >= 0xe0000 && r <= 0xe007f:
		if !inFlag(runes, i) {
			return "tag characters, which are invisible and which a model reads"
		}
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return "a direction control: the text is shown in another order than it has"
	case r == 0x200e, r == 0x200f, r == 0x61c:
		if !rtl {
			return "a direction mark in a text that needs none"
		}
	case r == 0x200d, r == 0x200c:
		if !joins(runes, i) {
			return "a zero-width character, outside an emoji or a script that needs it"
		}
	case r == 0xfeff:
		if i != 0 || !first {
			return "a zero-width character"
		}
	case r == 0x200b, r >= 0x2060 && r <= 0x206f, r == 0x180e, r >= 0xfff9 && r <= 0xfffb, r >= 0x1d173 && r <= 0x1d17a:
		return "a zero-width character"
	case r >= 0xfe00 && r <= 0xfe0f:
		if selector(before) || before <= ' ' || before < 0x80 && unicode.IsLetter(before) {
			return "variation selectors that select nothing"
		}
	case r >= 0xe0100 && r <= 0xe01ef:
		if !unicode.Is(unicode.Han, before) {
			return "variation selectors that select nothing"
		}
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		if !unicode.Is(unicode.Hangul, before) || !unicode.Is(unicode.Hangul, after) {
			return "an invisible letter"
		}
	}
	return ""
}

func at(runes []rune, i int) rune {
	if i < 0 || i >= len(runes) {
		return 0
	}
	return runes[i]
}

func selector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }

// joins reports whether a joiner at i is inside an emoji, or in a script that needs it.
func joins(runes []rune, i int) bool {
	j := i - 1
	for j > 0 && (selector(runes[j]) || runes[j] >= 0x1f3fb && runes[j] <= 0x1f3ff) {
		j--
	}
	before, after := at(runes, j), at(runes, i+1)
	if runes[i] == 0x200d && pictograph(before) && pictograph(after) {
		return true
	}
	return unicode.In(at(runes, i-1), joining...) && (unicode.In(after, joining...) || runes[i] == 0x200d || after == 0 || after == ' ')
}

var joining = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali,
	unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

func pictograph(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff
}

// inFlag reports whether a tag character belongs to one of the only three flags with tags:
// England, Scotland, Wales.
func inFlag(runes []rune, i int) bool {
	for from := max(i-6, 0); from < i; from++ {
		if runes[from] != 0x1f3f4 {
			continue
		}
		var tags []rune
		for _, r := range runes[from+1 : min(len(runes), from+7)] {
			tags = append(tags, r-0xe0000)
		}
		switch string(tags) {
		case "gbeng\x7f", "gbsct\x7f", "gbwls\x7f":
			return true
		}
	}
	return false
}
