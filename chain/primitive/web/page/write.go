package page

import (
	"net/url"
	"strconv"
	"strings"
)

// maxDepth bounds the recursion; the parser stops earlier.
const maxDepth = 2 * maxOpen

// writer collects blocks of text. The next piece decides the gap before it (space, line feeds).
type writer struct {
	base     *url.URL
	markdown bool

	b      strings.Builder
	gap    int    // line feeds that are due
	around string // the empty lines of a gap: the shortest prefix since it began
	space  bool   // a space is due
	trim   bool   // a mark was opened: no space comes after it
	prefix string // of every line: quotation and indentation
	bullet string // of the next line, in place of the end of prefix
	pre    bool
	code   bool
	lists  []int // numbers of the open lists; -1 for bullets
}

func (w *writer) String() string {
	if s := strings.TrimSpace(w.b.String()); s != "" {
		return s + "\n"
	}
	return ""
}

// block begins a new paragraph, or a new line.
func (w *writer) block(gap int) {
	if w.gap == 0 || len(w.prefix) < len(w.around) {
		w.around = w.prefix
	}
	w.gap, w.space = max(w.gap, gap), false
}

// raw writes a piece unchanged.
func (w *writer) raw(s string) {
	if s == "" {
		return
	}
	if w.b.Len() == 0 {
		w.gap, w.space = 0, false
	}
	for ; w.gap > 0; w.gap-- {
		w.b.WriteByte('\n')
		if w.gap == 1 {
			w.start()
		} else {
			w.b.WriteString(strings.TrimRight(w.around, " "))
		}
	}
	if w.bullet != "" {
		w.start()
	}
	if w.space {
		w.b.WriteByte(' ')
		w.space = false
	}
	w.b.WriteString(s)
}

// start begins a line.
func (w *writer) start() {
	if w.bullet != "" {
		w.b.WriteString(w.bullet)
		w.bullet = ""
		return
	}
	w.b.WriteString(w.prefix)
}

// text writes running text. It merges spaces into one.
func (w *writer) text(s string) {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == 0xa0:
			return ' '
		case unseen(r):
			return -1
		}
		return r
	}, s)
	if w.pre {
		for i, line := range strings.Split(s, "\n") {
			if i > 0 {
				w.block(w.gap + 1)
			}
			w.raw(line)
		}
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		w.space = w.space || s != "" && w.gap == 0 && !w.trim
		return
	}
	if strings.ContainsAny(s[:1], " \t\n\r") && w.gap == 0 && !w.trim {
		w.space = true
	}
	w.trim = false
	line := strings.Join(words, " ")
	if w.markdown && !w.code {
		line = escape(line)
	}
	w.raw(line)
	w.space = strings.ContainsAny(s[len(s)-1:], " \t\n\r")
}

// escape prevents a page's text from being read as Markdown.
func escape(s string) string {
	const special = "\\*_`[]<"
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (w *writer) children(n *node, depth int) {
	if depth > maxDepth {
		return
	}
	for c := n.first; c != nil; c = c.next {
		if c.tag == "" {
			w.text(c.text)
		} else if !c.skipped() {
			w.element(c, depth+1)
		}
	}
}

func (w *writer) element(n *node, depth int) {
	switch n.tag {
	case "br":
		w.block(1)
	case "hr":
		w.block(2)
		if w.markdown {
			w.raw("---")
		}
		w.block(2)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.block(2)
		if w.markdown {
			w.raw(strings.Repeat("#", int(n.tag[1]-'0')))
			w.space = true
		}
		w.children(n, depth)
		w.block(2)
	case "title":
		w.block(2)
		w.children(n, depth)
		w.block(2)
	case "p", "table", "figure", "dl", "form", "article", "section", "header", "footer", "main", "aside", "nav":
		w.block(2)
		w.children(n, depth)
		w.block(2)
	case "div", "tr", "dt", "dd", "figcaption", "option", "caption", "address", "details", "summary":
		w.block(1)
		w.children(n, depth)
		w.block(1)
	case "td", "th":
		if n.prev != nil && w.gap == 0 {
			w.space = true
			w.raw("|")
			w.space = true
		}
		w.children(n, depth)
	case "blockquote":
		w.indent(n, "> ", depth)
	case "pre":
		w.preformatted(n, depth)
	case "ul", "ol", "menu":
		w.list(n, depth)
	case "li":
		w.item(n, depth)
	default:
		w.inline(n, depth)
	}
}

// indent writes a quotation.
func (w *writer) indent(n *node, prefix string, depth int) {
	w.block(2)
	was := w.prefix
	if w.markdown && len(was) < 200 {
		if w.b.Len() == 0 {
			w.bullet = was + prefix
		}
		w.prefix += prefix
	}
	w.children(n, depth)
	w.prefix, w.bullet = was, ""
	w.block(2)
}

func (w *writer) preformatted(n *node, depth int) {
	w.block(2)
	was := w.pre
	if c := n.first; c != nil && c.tag == "" { // a line feed right after the tag is ignored
		c.text = strings.TrimPrefix(c.text, "\n")
	}
	if w.markdown && !was {
		w.raw("```")
		w.block(1)
	}
	w.pre = true
	w.children(n, depth)
	w.pre = was
	if w.markdown && !was {
		w.block(1)
		w.raw("```")
	}
	w.block(2)
}

func (w *writer) list(n *node, depth int) {
	number := -1
	if n.tag == "ol" {
		number = 1
		if v, err := strconv.Atoi(n.attr("start")); err == nil && v >= 0 && v < 1<<20 {
			number = v
		}
	}
	if len(w.lists) == 0 {
		w.block(2)
	}
	w.lists = append(w.lists, number)
	w.children(n, depth)
	w.lists = w.lists[:len(w.lists)-1]
	w.block(1)
	if len(w.lists) == 0 {
		w.block(2)
	}
}

func (w *writer) item(n *node, depth int) {
	mark := "- "
	if k := len(w.lists); k > 0 && w.lists[k-1] >= 0 {
		mark = strconv.Itoa(w.lists[k-1]) + ". "
		w.lists[k-1]++
	}
	w.block(1)
	if n.prev != nil {
		w.gap = min(w.gap, 1) // lists are tight, with any content
	}
	was := w.prefix
	w.bullet = was + mark
	if len(was) < 200 {
		w.prefix += strings.Repeat(" ", len(mark))
	}
	w.children(n, depth)
	w.prefix, w.bullet = was, ""
	w.block(1)
}

// inline writes an element inside a line.
func (w *writer) inline(n *node, depth int) {
	mark := ""
	switch n.tag {
	case "img":
		if alt := strings.Join(strings.Fields(n.attr("alt")), " "); alt != "" {
			w.text(alt)
		}
		return
	case "a":
		w.link(n, depth)
		return
	case "b", "strong":
		mark = "**"
	case "i", "em":
		mark = "*"
	case "code", "kbd", "samp":
		mark = "`"
	}
	if mark == "" || !w.markdown || w.pre || empty(n) {
		w.children(n, depth)
		return
	}
	code := w.code
	w.code = code || mark == "`"
	w.raw(mark)
	w.trim = true
	w.children(n, depth)
	due := w.space
	w.space, w.trim, w.code = false, false, code
	w.raw(mark)
	w.space = due
}

// empty reports that an element has no text, so that a mark would have no content. It examines a
// limited number of nodes; an element with hundreds of empty ones counts as full.
func empty(n *node) bool {
	left := 100
	return n.hollow(&left)
}

func (n *node) hollow(left *int) bool {
	for c := n.first; c != nil; c = c.next {
		*left--
		full := c.tag == "img" || c.tag == "" && strings.TrimSpace(c.text) != "" || c.tag != "" && !c.skipped() && !c.hollow(left)
		if *left < 0 || full {
			return false
		}
	}
	return true
}

// link writes a web link with its address, and only the text of any other link.
func (w *writer) link(n *node, depth int) {
	to, err := url.Parse(strings.TrimSpace(n.attr("href")))
	if err == nil && w.base != nil {
		to = w.base.ResolveReference(to)
	}
	if !w.markdown || err != nil || to.Scheme != "http" && to.Scheme != "https" && to.Scheme != "mailto" || n.attr("href") == "" || empty(n) {
		w.children(n, depth)
		return
	}
	w.raw("[")
	w.children(n, depth)
	due := w.space
	w.gap, w.space = 0, false
	w.raw("](" + address(to) + ")")
	w.space = due
}

// address writes a URL so that it cannot extend beyond its link.
func address(u *url.URL) string {
	var b strings.Builder
	for _, c := range []byte(u.String()) {
		if c <= ' ' || strings.IndexByte("()<>\\", c) >= 0 || c >= 0x7f {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)+0x100, 16))[1:])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
