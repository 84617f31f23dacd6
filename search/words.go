package search

import "unicode/utf8"

// maxWord bounds the kept part of a word, in bytes: longer ones are no words of a language.
const maxWord = 64

// maxParts bounds the parts of one compound.
const maxParts = 32

// part is one word, folded for comparison, and its position.
type part struct {
	text       string // folded
	start, end int    // in the source, in bytes
}

// scan splits text into words. visit gets the parts of one compound at a time: readFile, read_file
// and read-file have two, a word of prose one, a run of ideographs one for each. It ends when visit
// returns false. parts is reused.
func scan(text string, visit func(parts []part) bool) {
	var s scanner
	s.scan(text, visit)
}

func (s *scanner) scan(text string, visit func(parts []part) bool) {
	s.src, s.at = text, 0
	for s.next() {
		if len(s.parts) > 0 && !visit(s.parts) {
			return
		}
	}
}

// scanner is a scan under way. It may be reused.
type scanner struct {
	src   string
	at    int
	parts []part

	buf   []byte // the current part, if it differs from the source
	plain bool   // it equals the source: nothing had to be folded
	start int    // where the current part began
	last  int    // kind of the previous character
}

// next reads one compound into parts.
func (s *scanner) next() bool {
	s.parts, s.buf, s.last = s.parts[:0], s.buf[:0], between
	for s.at < len(s.src) && s.src[s.at] < utf8.RuneSelf && !wordByte(s.src[s.at]) {
		s.at++ // no word begins with these; a file may be full of them
	}
	if s.plainWord() {
		return true
	}
	for s.at < len(s.src) {
		r, size := rune(s.src[s.at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.src[s.at:])
		}
		k := kindOf(r)
		switch {
		case k == mark:
			s.at += size
			continue
		case k == between, k == quote && !s.holds(size), k == link && len(s.buf) == 0 && len(s.parts) == 0:
			if len(s.buf) > 0 || len(s.parts) > 0 {
				s.cut(s.at)
				s.at += size
				return true
			}
			s.at += size
			continue
		case k == quote:
			s.at += size
			continue
		case k == link:
			s.cut(s.at)
			s.last = between
			s.at += size
			continue
		case s.turns(k, size):
			s.cut(s.at)
		}
		if len(s.buf) == 0 {
			s.start, s.plain = s.at, true
		}
		if len(s.buf) < maxWord {
			s.plain = s.plain && (k == lower || k == digit) && r < utf8.RuneSelf && s.at-s.start == len(s.buf)
			s.buf = fold(s.buf, r)
		}
		s.last = k
		s.at += size
	}
	s.cut(s.at)
	return len(s.parts) > 0
}

// plainWord reads the most common kind of word: small letters and digits, followed by a separator.
func (s *scanner) plainWord() bool {
	end := s.at
	for end < len(s.src) && (s.src[end] >= 'a' && s.src[end] <= 'z' || s.src[end] >= '0' && s.src[end] <= '9') {
		end++
	}
	if end == s.at || end-s.at > maxWord || end < len(s.src) && (s.src[end] >= utf8.RuneSelf || kindOf(rune(s.src[end])) != between) {
		return false
	}
	s.parts = append(s.parts, part{s.src[s.at:end], s.at, end})
	s.at = end
	return true
}

// holds reports whether an apostrophe belongs to a word, as in don't, but not before the s in
// item's.
func (s *scanner) holds(size int) bool {
	if len(s.buf) == 0 || s.at+size >= len(s.src) {
		return false
	}
	rest := s.src[s.at+size:]
	if k := kindOf(rune(rest[0])); k != lower && k != upper {
		return false
	}
	return !(rest[0] == 's' && (len(rest) == 1 || kindOf(rune(rest[1])) == between))
}

// turns reports whether a new part begins with a character of kind k.
func (s *scanner) turns(k, size int) bool {
	switch {
	case s.last == between || len(s.buf) == 0:
		return false
	case k == ideograph || s.last == ideograph:
		return true
	case s.last == lower && k == upper:
		return true
	case s.last == upper && k == upper: // the last of several capitals begins the next part: HTTPServer
		rest := s.src[s.at+size:]
		return len(s.buf) > 0 && len(rest) > 0 && rest[0] >= 'a' && rest[0] <= 'z' && !plural(rest)
	}
	return false
}

// plural reports whether an abbreviation ends here with a plural s: URLs, IDs.
func plural(rest string) bool {
	return rest[0] == 's' && (len(rest) == 1 || kindOf(rune(rest[1])) != lower)
}

// cut ends the current part.
func (s *scanner) cut(end int) {
	if len(s.buf) == 0 {
		return
	}
	if len(s.parts) < maxParts {
		text := ""
		if s.plain { // most words need no memory of their own
			text = s.src[s.start : s.start+len(s.buf)]
		} else {
			text = string(s.buf)
		}
		s.parts = append(s.parts, part{text, s.start, end})
	}
	s.buf = s.buf[:0]
}

// joined calls visit with the compounds of parts: each pair of neighbours, and all together.
func joined(parts []part, visit func(text string)) {
	n := len(parts)
	for i := 0; i+1 < n; i++ {
		visit(parts[i].text + parts[i+1].text)
	}
	if n > 2 && n <= 6 {
		visit(join(parts))
	}
}

func join(parts []part) string {
	var b []byte
	for _, p := range parts {
		b = append(b, p.text...)
	}
	return string(b)
}

// squeeze returns a whole text as one word, to compare names.
func squeeze(text string) string {
	var b []byte
	scan(text, func(parts []part) bool {
		for _, p := range parts {
			b = append(b, p.text...)
		}
		return len(b) < 4*maxWord
	})
	return string(b)
}
