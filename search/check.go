package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// checker checks whether texts match a leaf. One search uses one for each leaf.
type checker struct {
	*leaf
	stem    func(string) string
	pattern string // for a leaf with *
	stemmed string // for a leaf with one word
	anchor  int    // the part of a phrase to look for first
	low     []byte // the text in lower case; reused
	window  []part // the last words, as many as may match together; reused
	scanner scanner
}

func (l *leaf) newChecker(stem func(string) string) *checker {
	c := &checker{leaf: l, stem: stem, anchor: -1}
	if l.wild {
		c.pattern = foldPattern(l.text)
		return c
	}
	if len(l.parts) == 1 {
		c.stemmed = stemOfWord(stem, l.parts[0])
	}
	for i, p := range l.parts {
		if c.anchor < 0 || len(p) > len(l.parts[c.anchor]) {
			c.anchor = i
		}
	}
	if !l.phrase || !ascii(strings.Join(l.parts, "")) {
		c.anchor = -1
	}
	return c
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// in reports whether a document matches, in the leaf's field or in any.
func (c *checker) in(d *Doc) bool {
	for _, f := range d.Fields {
		if (c.field == "" || c.field == f.Name) && c.find(f.Value) != nil {
			return true
		}
	}
	return (c.field == "" || c.field == Body) && c.find(d.Body) != nil
}

// find returns the first match in a text, or nil. It looks for phrases by bytes first, because
// splitting every text into words would take a hundred times as long.
func (c *checker) find(text string) *part {
	if c.anchor >= 0 && len(text) > 256 && c.lower(text) {
		if found := c.around(text); found != nil || len(c.parts) > 1 {
			return found
		}
	}
	return c.scan(text)
}

// lower sets low, and reports whether words look the same in it as after scanning: the text has no
// accents, and no apostrophes within words.
func (c *checker) lower(text string) bool {
	c.low = slices.Grow(c.low[:0], len(text))[:len(text)]
	seen := byte(0)
	for i := range len(text) {
		b := text[i]
		seen |= b
		c.low[i] = lowered[b]
	}
	return seen < utf8.RuneSelf && !contracted(text)
}

// lowered maps the letters of ASCII to lower case, and other bytes to themselves.
var lowered = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// contracted reports whether a word of a text contains an apostrophe, as in don't.
func contracted(text string) bool {
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '\'')
		if i < 0 {
			return false
		}
		at += i
		if at > 0 && at+1 < len(text) && wordByte(text[at-1]) && wordByte(text[at+1]) &&
			(text[at+1] != 's' || at+2 < len(text) && wordByte(text[at+2])) {
			return true
		}
	}
}

func wordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// around scans the text around each occurrence of the anchor.
func (c *checker) around(text string) *part {
	anchor := []byte(c.parts[c.anchor])
	for at := 0; ; {
		i := bytes.Index(c.low[at:], anchor)
		if i < 0 {
			return nil
		}
		i += at
		from := backward(c.low, i, c.anchor+c.slop+1)
		to := forward(c.low, i, len(c.parts)-c.anchor+c.slop+1)
		if c.all(c.low[from:to]) {
			if found := c.scan(text[from:to]); found != nil {
				found.start, found.end = found.start+from, found.end+from
				return found
			}
		}
		at = i + len(anchor)
	}
}

func (c *checker) all(low []byte) bool {
	for i, p := range c.parts {
		if i != c.anchor && !bytes.Contains(low, []byte(p)) {
			return false
		}
	}
	return true
}

// backward and forward return a position between words, at least n words away from i.
func backward(b []byte, i, n int) int {
	for word := false; i > 0; i-- {
		if wordByte(b[i-1]) {
			word = true
		} else if b[i-1] <= ' ' && word {
			if n--; n < 0 {
				return i
			}
			word = false
		}
	}
	return 0
}

func forward(b []byte, i, n int) int {
	for word := false; i < len(b); i++ {
		if wordByte(b[i]) {
			word = true
		} else if b[i] <= ' ' && word {
			if n--; n < 0 {
				return i
			}
			word = false
		}
	}
	return len(b)
}

// scan splits a text into words and returns the first match.
func (c *checker) scan(text string) (found *part) {
	c.window = c.window[:0]
	c.scanner.scan(text, func(parts []part) bool {
		if len(parts) > 1 && c.alone(join(parts)) {
			found = &part{join(parts), parts[0].start, parts[len(parts)-1].end}
			return false
		}
		for _, p := range parts {
			if c.alone(p.text) {
				found = &part{p.text, p.start, p.end}
			} else if len(c.parts) > 1 {
				found = c.next(p)
			}
			if found != nil {
				return false
			}
		}
		return true
	})
	return found
}

// next adds a word to the window, and returns a phrase that ends with it.
func (c *checker) next(p part) *part {
	if most := len(c.parts) + c.slop; len(c.window) == most {
		copy(c.window, c.window[1:])
		c.window = c.window[:most-1]
	}
	c.window = append(c.window, p)
	return together(c.window, c.parts)
}

// alone reports whether a single word matches the leaf.
func (c *checker) alone(word string) bool {
	switch {
	case c.wild:
		return glob(c.pattern, word)
	case c.whole != "":
		return word == c.whole
	case len(c.parts) != 1:
		return false
	case c.fuzzy > 0:
		return distance(c.parts[0], word, c.fuzzy) <= c.fuzzy
	case c.phrase:
		return word == c.parts[0]
	}
	return word == c.parts[0] || stemOfWord(c.stem, word) == c.stemmed
}

// together returns where words occur in order, with the last one at the end of the window.
func together(window []part, words []string) *part {
	i, end := len(words)-1, len(window)-1
	if window[end].text != words[i] {
		return nil
	}
	for j := end; j >= 0; j-- {
		if window[j].text != words[i] {
			continue
		}
		if i--; i < 0 {
			return &part{strings.Join(words, " "), window[j].start, window[end].end}
		}
	}
	return nil
}
