package page

import (
	"html"
	"slices"
	"strings"
)

// node is an element, or a text when it has no tag.
type node struct {
	tag   string // in lower case
	text  string
	attrs [][2]string

	first, last, next, prev *node
}

func (n *node) append(c *node) {
	if c.prev = n.last; n.last != nil {
		n.last.next = c
	} else {
		n.first = c
	}
	n.last = c
}

func (n *node) attr(key string) string {
	for _, a := range n.attrs {
		if a[0] == key {
			return a[1]
		}
	}
	return ""
}

// maxOpen bounds the elements that are open at once. Deeper ones are siblings.
const maxOpen = 300

// parser builds the tree that reading needs, not the one that browsers show: tags
// close what they must, in the cases that authors rely on, and what is malformed
// becomes text or nothing. Every byte is looked at a bounded number of times.
type parser struct {
	rest string
	open []*node
}

func parse(s string) *node {
	root := &node{tag: "#"}
	p := &parser{rest: s, open: []*node{root}}
	for p.rest != "" {
		i := strings.IndexByte(p.rest, '<')
		if i < 0 {
			p.words(p.rest)
			break
		}
		p.words(p.rest[:i])
		p.rest = p.rest[i:]
		p.markup()
	}
	return root
}

func (p *parser) top() *node { return p.open[len(p.open)-1] }

// words adds running text.
func (p *parser) words(s string) {
	if s != "" {
		p.top().append(&node{text: html.UnescapeString(s)})
	}
}

// skip drops what comes up to and with end, or everything.
func (p *parser) skip(end string) {
	_, p.rest, _ = strings.Cut(p.rest, end)
}

func letter(s string, i int) bool {
	return i < len(s) && (s[i]|0x20) >= 'a' && (s[i]|0x20) <= 'z'
}

// markup takes what begins with "<".
func (p *parser) markup() {
	s := p.rest
	switch {
	case strings.HasPrefix(s, "<!--"):
		p.rest = s[4:]
		p.skip("-->")
	case strings.HasPrefix(s, "<!"), strings.HasPrefix(s, "<?"):
		p.skip(">")
	case strings.HasPrefix(s, "</") && letter(s, 2):
		p.rest = s[2:]
		name := p.name()
		p.skip(">")
		p.close(name)
	case letter(s, 1):
		p.rest = s[1:]
		p.element()
	default:
		p.words("<")
		p.rest = s[1:]
	}
}

// name takes a name of a tag.
func (p *parser) name() string {
	n := strings.IndexAny(p.rest, " \t\r\n\f/>")
	if n < 0 {
		n = len(p.rest)
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	return strings.ToLower(name[:min(n, 64)])
}

var (
	void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
	// verbatim elements hold text up to their end tag, whatever it looks like.
	verbatim = []string{"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"}
	// blocks end a paragraph that is open.
	blocks = []string{"p", "div", "ul", "ol", "menu", "dl", "table", "pre", "blockquote", "hr", "h1", "h2", "h3", "h4", "h5", "h6",
		"section", "article", "aside", "header", "footer", "nav", "main", "figure", "form", "address", "details"}
)

func (p *parser) element() {
	n := &node{tag: p.name()}
	if !p.attributes(n) {
		return // the text ends inside the tag
	}
	p.imply(n.tag)
	p.top().append(n)
	switch {
	case slices.Contains(void, n.tag):
	case slices.Contains(verbatim, n.tag):
		body := p.until(n.tag)
		if n.tag == "title" {
			n.append(&node{text: html.UnescapeString(body)})
		}
	case len(p.open) < maxOpen:
		p.open = append(p.open, n)
	}
}

// attributes takes what follows a tag's name, with the ">".
func (p *parser) attributes(n *node) bool {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\r\n\f/")
		if p.rest == "" {
			return false
		}
		if p.rest[0] == '>' {
			p.rest = p.rest[1:]
			return true
		}
		k := strings.IndexAny(p.rest[1:], " \t\r\n\f/>=") + 1
		if k == 0 {
			p.rest = ""
			return false
		}
		key := strings.ToLower(p.rest[:k])
		p.rest = strings.TrimLeft(p.rest[k:], " \t\r\n\f")
		value := ""
		if rest, ok := strings.CutPrefix(p.rest, "="); ok {
			p.rest = strings.TrimLeft(rest, " \t\r\n\f")
			value = p.value()
		}
		if len(n.attrs) < 64 {
			n.attrs = append(n.attrs, [2]string{key, html.UnescapeString(value)})
		}
	}
}

func (p *parser) value() (v string) {
	if p.rest != "" && (p.rest[0] == '"' || p.rest[0] == '\'') {
		v, p.rest, _ = strings.Cut(p.rest[1:], p.rest[:1])
		return v
	}
	k := strings.IndexAny(p.rest, " \t\r\n\f>")
	if k < 0 {
		k = len(p.rest)
	}
	v, p.rest = p.rest[:k], p.rest[k:]
	return v
}

// until takes text up to the end tag of a name.
func (p *parser) until(name string) string {
	s := p.rest
	for i := 0; ; {
		k := strings.Index(s[i:], "</")
		if k < 0 {
			p.rest = ""
			return s
		}
		i += k
		if end := i + 2 + len(name); end <= len(s) && strings.EqualFold(s[i+2:end], name) && !letter(s, end) {
			p.rest = s[end:]
			p.skip(">")
			return s[:i]
		}
		i += 2
	}
}

// imply closes what a tag closes by beginning.
func (p *parser) imply(tag string) {
	switch tag {
	case "li":
		p.closeWithin([]string{"li"}, "ul", "ol", "menu")
	case "dt", "dd":
		p.closeWithin([]string{"dt", "dd"}, "dl")
	case "tr":
		p.closeWithin([]string{"tr"}, "table")
	case "td", "th":
		p.closeWithin([]string{"td", "th"}, "tr", "table")
	case "option":
		p.closeWithin([]string{"option"}, "select")
	case "a":
		p.closeWithin([]string{"a"}, "td", "th", "table")
	}
	if slices.Contains(blocks, tag) {
		p.closeWithin([]string{"p"}, "td", "th", "li", "blockquote", "div", "table", "section", "article")
	}
}

// closeWithin closes the innermost of the named elements, unless one of the walls
// stands before it.
func (p *parser) closeWithin(names []string, walls ...string) {
	for i := len(p.open) - 1; i > 0; i-- {
		switch tag := p.open[i].tag; {
		case slices.Contains(names, tag):
			p.open = p.open[:i]
			return
		case slices.Contains(walls, tag):
			return
		}
	}
}

// close ends an element. An end without a beginning is passed over, and one inside
// a cell does not end what stands around the table.
func (p *parser) close(name string) {
	if name == "br" || name == "p" && p.top().tag != "p" {
		return
	}
	if name == "table" || name == "td" || name == "th" || name == "tr" {
		p.closeWithin([]string{name}, map[bool]string{true: "#", false: "table"}[name == "table"])
		return
	}
	p.closeWithin([]string{name}, "td", "th", "table")
}
