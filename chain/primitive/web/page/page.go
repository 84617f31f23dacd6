// Package page turns a page of the web into text or Markdown for readers that are models.
// It is a pure function of its input: nothing is fetched, no script runs, and text that a
// person would not see is left out.
//
// Its parser's tables cost every start of a program that links it a tenth of a
// millisecond, so only the engine does.
//
// # Reasons
//
// golang.org/x/net/html reads the tags. Its tables of entities take 0.07 to 0.15 ms of a
// start, so only the engine links it, and the front asks `rye-engine page`, some 15 ms
// beside a longer request. So a process that ends takes a stranger's page apart. A
// tokenizer of our own was 120 lines and as fast. The tree is ours: html.Parse refuses
// pages with more than 512 open elements, which unclosed <b> make, and a refused page
// cannot be shown without its hidden text.
package page

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Convert returns the content of a page as Markdown or as text. charset is the encoding from the
// server, or "". base is the page's address, the base of its links; nil leaves them.
func Convert(raw []byte, charset string, base *url.URL, markdown bool) []byte {
	w := &writer{base: base, markdown: markdown}
	w.children(parse(decode(raw, charset)), 0)
	return []byte(w.String())
}

// decode converts a page to UTF-8. Pages that declare Latin-1 use Windows-1252 (Encoding
// Standard, 4.2). Other old encodings lose every character outside of ASCII.
func decode(raw []byte, charset string) string {
	if charset == "" {
		head := strings.ToLower(string(raw[:min(len(raw), 1024)]))
		if _, rest, ok := strings.Cut(head, "charset="); ok {
			rest = strings.TrimLeft(rest, `"' `)
			charset = rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz0123456789-_"))]
		}
	}
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "windows-1252", "us-ascii", "ascii":
		var b strings.Builder
		for _, c := range raw {
			if c >= 0x80 && c < 0xa0 {
				b.WriteRune(windows1252[c-0x80])
			} else {
				b.WriteRune(rune(c))
			}
		}
		return b.String()
	}
	return strings.ToValidUTF8(string(raw), string(utf8.RuneError))
}

// windows1252 holds 0x80 to 0x9f (Encoding Standard, index windows-1252).
var windows1252 = [32]rune{0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
	0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178}

// unseen reports characters that are invisible to a reader but not to a model: zero widths, marks
// of direction, tags.
func unseen(r rune) bool {
	return r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r == 0xad ||
		r >= 0xe0000 && r <= 0xe007f || r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
}

// skipped reports whether an element has no text for readers.
func (n *node) skipped() bool {
	switch n.tag {
	case "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "embed", "canvas",
		"audio", "video", "noembed", "noframes", "select", "button", "input", "textarea", "meta", "link", "dialog":
		return true
	}
	for _, a := range n.attrs {
		style := strings.ReplaceAll(strings.ToLower(a[1]), " ", "")
		if a[0] == "hidden" || a[0] == "aria-hidden" && a[1] == "true" ||
			a[0] == "style" && (strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")) {
			return true
		}
	}
	return false
}
