package objects

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/internal/words"
)

// element is a node of a directive's XML. The reader below knows elements, attributes,
// text, comments, CDATA, the five entities and character references. It has no document
// types and no namespaces, and it reads nothing outside the text.
type element struct {
	name  string
	attrs []attr
	kids  []*element
	text  string // the text before the first child
	off   int    // of "<" in the body
}

type attr struct{ name, value string }

// get returns the value of an attribute, and whether it exists.
func (e *element) get(name string) (string, bool) {
	for _, a := range e.attrs {
		if a.name == name {
			return a.value, true
		}
	}
	return "", false
}

// child returns the first child with the name, or nil.
func (e *element) child(name string) *element {
	for _, k := range e.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

// content returns the text before the first child without surrounding space.
func (e *element) content() string { return strings.TrimSpace(e.text) }

// values returns the attributes by name. It adds the content, unless it is empty, under the
// name text.
func (e *element) values(text string) map[string]any {
	m := map[string]any{}
	for _, a := range e.attrs {
		m[a.name] = a.value
	}
	if s := e.content(); s != "" {
		m[text] = s
	}
	return m
}

// opaque elements hold text for models, which need not be well formed. The reader takes
// it unchanged up to the first closing tag.
var opaque = map[string]bool{"template": true, "example": true, "raw": true}

// xmlReader reads one element out of the body of p between i and end.
type xmlReader struct {
	p      *parser
	i, end int
	hidden map[string]any // opaque texts, by the names that RYE OS gives them
}

func (r *xmlReader) bad(off int, format string, args ...any) error {
	return r.p.bad(r.p.at(off), "xml: "+format, args...)
}

func (r *xmlReader) rest() []byte { return r.p.body[r.i:r.end] }

func (r *xmlReader) has(s string) bool { return bytes.HasPrefix(r.rest(), []byte(s)) }

// document reads the only element of the text.
func (r *xmlReader) document() (*element, error) {
	if err := r.misc(); err != nil {
		return nil, err
	}
	if r.has("<!") || r.has("<?") {
		return nil, r.bad(r.i, "declarations are not allowed here")
	}
	if !r.has("<") {
		return nil, r.bad(r.i, "want an element")
	}
	root, err := r.element(1)
	if err != nil {
		return nil, err
	}
	if err := r.misc(); err != nil {
		return nil, err
	}
	if r.i < r.end {
		return nil, r.bad(r.i, "text after </%s>", root.name)
	}
	return root, nil
}

// misc skips space, comments and an XML declaration.
func (r *xmlReader) misc() error {
	for {
		r.space()
		switch {
		case r.has("<!--"):
			if err := r.skipTo("<!--", "-->", "comment"); err != nil {
				return err
			}
		case r.has("<?xml"):
			if err := r.skipTo("<?xml", "?>", "declaration"); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (r *xmlReader) space() {
	for r.i < r.end && isSpace(r.p.body[r.i]) {
		r.i++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (r *xmlReader) skipTo(open, closing, what string) error {
	n := bytes.Index(r.rest()[len(open):], []byte(closing))
	if n < 0 {
		return r.bad(r.i, "a %s that never ends", what)
	}
	r.i += len(open) + n + len(closing)
	return nil
}

// element reads from "<" to the end of the closing tag.
func (r *xmlReader) element(depth int) (*element, error) {
	e := &element{off: r.i}
	if depth > MaxDepth {
		return nil, r.bad(r.i, "nested deeper than %d levels", MaxDepth)
	}
	r.i++
	if e.name = r.name(); e.name == "" {
		return nil, r.bad(e.off, `a "<" that begins no element; write &lt;`)
	}
	empty, err := r.attributes(e)
	if err != nil || empty {
		return e, err
	}
	if opaque[e.name] {
		return e, r.opaque(e)
	}
	return e, r.inside(e, depth)
}

func (r *xmlReader) name() string {
	start := r.i
	for r.i < r.end {
		c := r.p.body[r.i]
		if !isWord(c) && (r.i == start || c != '-' && c != '.' && c != ':') || r.i == start && c >= '0' && c <= '9' {
			break
		}
		r.i++
	}
	return string(r.p.body[start:r.i])
}

// attributes reads up to ">" and reports whether the element is empty ("/>").
func (r *xmlReader) attributes(e *element) (empty bool, err error) {
	for {
		before := r.i
		r.space()
		switch {
		case r.has("/>"):
			r.i += 2
			return true, nil
		case r.has(">"):
			r.i++
			return false, nil
		case r.i == r.end:
			return false, r.bad(e.off, "<%s is never closed", e.name)
		case before == r.i:
			return false, r.bad(r.i, "in <%s>: want a space before an attribute", e.name)
		}
		at := r.i
		name := r.name()
		r.space()
		if name == "" || !r.has("=") {
			return false, r.bad(at, `in <%s>: want attributes like name="value"`, e.name)
		}
		r.i++
		r.space()
		value, err := r.quoted(e)
		if err != nil {
			return false, err
		}
		if _, twice := e.get(name); twice {
			return false, r.bad(at, "in <%s>: attribute %s is given twice", e.name, name)
		}
		if len(e.attrs) >= MaxDepth {
			return false, r.bad(at, "in <%s>: more than %d attributes", e.name, MaxDepth)
		}
		e.attrs = append(e.attrs, attr{name, value})
	}
}

func (r *xmlReader) quoted(e *element) (string, error) {
	if !r.has(`"`) && !r.has(`'`) {
		return "", r.bad(r.i, "in <%s>: want a value in quotation marks", e.name)
	}
	start := r.i + 1
	n := bytes.IndexByte(r.p.body[start:r.end], r.p.body[r.i])
	if n < 0 {
		return "", r.bad(r.i, "in <%s>: a quotation mark that is never closed", e.name)
	}
	if k := bytes.IndexByte(r.p.body[start:start+n], '<'); k >= 0 {
		return "", r.bad(start+k, "in <%s>: \"<\" in a value; write &lt;", e.name)
	}
	r.i = start + n + 1
	s, err := r.text(start, start+n)
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == '\t' {
			return ' '
		}
		return c
	}, s), err
}

// opaque takes everything up to the closing tag unchanged.
func (r *xmlReader) opaque(e *element) error {
	n := bytes.Index(r.rest(), []byte("</"+e.name+">"))
	if n < 0 {
		return r.bad(e.off, "<%s> is never closed", e.name)
	}
	e.text = string(r.rest()[:n])
	if r.hidden == nil {
		r.hidden = map[string]any{}
	}
	r.hidden["__opaque_"+e.name+"_"+strconv.Itoa(len(r.hidden))+"__"] = e.text
	r.i += n + len("</>") + len(e.name)
	return nil
}

// inside reads text and children up to the closing tag of e.
func (r *xmlReader) inside(e *element, depth int) error {
	for {
		n := bytes.IndexByte(r.rest(), '<')
		if n < 0 {
			return r.bad(e.off, "<%s> is never closed", e.name)
		}
		s, err := r.text(r.i, r.i+n)
		if err != nil {
			return err
		}
		r.i += n
		if len(e.kids) == 0 {
			e.text += s
		}
		switch {
		case r.has("</"):
			return r.closing(e)
		case r.has("<!--"):
			err = r.skipTo("<!--", "-->", "comment")
		case r.has("<![CDATA["):
			start := r.i + len("<![CDATA[")
			if err = r.skipTo("<![CDATA[", "]]>", "CDATA section"); err == nil && len(e.kids) == 0 {
				e.text += string(r.p.body[start : r.i-len("]]>")])
			}
		case r.has("<!") || r.has("<?"):
			return r.bad(r.i, "declarations are not allowed here")
		default:
			var k *element
			if k, err = r.element(depth + 1); err == nil {
				e.kids = append(e.kids, k)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (r *xmlReader) closing(e *element) error {
	at := r.i
	r.i += 2
	name := r.name()
	r.space()
	if name != e.name || !r.has(">") {
		m := r.p.at(e.off)
		return r.bad(at, "</%s> closes nothing; <%s> of line %d is open", words.Brief(name), e.name, m.line)
	}
	r.i++
	return nil
}

// text resolves the entities between two offsets.
func (r *xmlReader) text(from, to int) (string, error) {
	b := r.p.body[from:to]
	amp := bytes.IndexByte(b, '&')
	if amp < 0 {
		return string(b), nil
	}
	var out strings.Builder
	for i := 0; i < len(b); {
		if b[i] != '&' {
			n := bytes.IndexByte(b[i:], '&')
			if n < 0 {
				n = len(b) - i
			}
			out.Write(b[i : i+n])
			i += n
			continue
		}
		n := bytes.IndexByte(b[i:min(len(b), i+12)], ';')
		if n < 0 {
			return "", r.bad(from+i, `a "&" that begins no entity; write &amp;`)
		}
		c, ok := entity(string(b[i+1 : i+n]))
		if !ok {
			return "", r.bad(from+i, "unknown entity %q", b[i:i+n+1])
		}
		out.WriteRune(c)
		i += n + 1
	}
	return out.String(), nil
}

func entity(name string) (rune, bool) {
	if c, ok := map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"', "apos": '\''}[name]; ok {
		return c, true
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if h, hex := strings.CutPrefix(digits, "x"); hex {
		digits, base = h, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	c := rune(n)
	if !ok || err != nil || n > utf8.MaxRune || !utf8.ValidRune(c) || c < 0x20 && c != '\n' && c != '\t' && c != '\r' {
		return 0, false
	}
	return c, true
}
