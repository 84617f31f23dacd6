package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
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

// maxOpen is the most open elements. Deeper ones become siblings.
const maxOpen = 300

// parser builds a tree for reading, and not the tree of a browser. The library finds tags and
// texts. Here a tag closes others in the cases that authors rely on. The library's own tree is
// not used, because it refuses a page with more than 512 open elements. A refused page could not
// be cleaned of its invisible parts.
type parser struct{ open []*node }

func parse(s string) *node {
	root := &node{tag: "#"}
	p := &parser{open: []*node{root}}
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return root
		case html.TextToken:
			p.top().append(&node{text: string(z.Text())})
		case html.StartTagToken, html.SelfClosingTagToken:
			p.element(z)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.close(string(name))
		}
	}
}

func (p *parser) top() *node { return p.open[len(p.open)-1] }

var (
	void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
	// blocks end an open paragraph.
	blocks = []string{"p", "div", "ul", "ol", "menu", "dl", "table", "pre", "blockquote", "hr", "h1", "h2", "h3", "h4", "h5", "h6",
		"section", "article", "aside", "header", "footer", "nav", "main", "figure", "form", "address", "details"}
)

func (p *parser) element(z *html.Tokenizer) {
	name, more := z.TagName()
	n := &node{tag: string(name)}
	for more {
		var k, v []byte
		k, v, more = z.TagAttr()
		if len(n.attrs) < 64 {
			n.attrs = append(n.attrs, [2]string{string(k), string(v)})
		}
	}
	p.imply(n.tag)
	p.top().append(n)
	if !slices.Contains(void, n.tag) && len(p.open) < maxOpen {
		p.open = append(p.open, n)
	}
}

// imply closes the elements that a start tag closes.
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

// closeWithin closes the innermost of the named elements, unless one of the walls comes first.
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

// close ends an element. It skips an end without a start. An end inside a cell does not close an
// element around the table.
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
