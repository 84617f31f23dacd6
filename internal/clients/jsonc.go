package clients

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/rye-os/rye/fault"
)

// jsonText is JSON. With comments set it is JSON as editors write it, with comments of both
// kinds and a comma after the last member.
type jsonText struct{ comments bool }

var strict, commented = jsonText{}, jsonText{comments: true}

// jsonc is a text of JSON with the places of its values. A text of blanks and comments has none.
type jsonc struct {
	raw  []byte
	root hujson.Value
}

func (t *jsonc) empty() bool { return t.root.Value == nil }

// byteOrderMark begins the files of some editors.
var byteOrderMark = []byte("\xef\xbb\xbf")

// maxNested bounds the depth of a file. hujson has no bound of its own, and ends the program where
// the stack does.
const maxNested = 1000

// scan reads a text with the places of its values.
func (f jsonText) scan(raw []byte) (*jsonc, error) {
	t := &jsonc{raw: raw}
	text := append(bytes.Clone(raw), '\n') // hujson wants one behind a comment
	if f.comments && bytes.HasPrefix(raw, byteOrderMark) {
		copy(text, "   ") // the places stay
	}
	if nested(text) > maxNested {
		return nil, fault.New(fault.Limit, "it is nested deeper than %d", maxNested)
	}
	root, err := hujson.Parse(text)
	if blank := root.Value == nil && onlyExtra(text); blank && (f.comments || len(bytes.TrimSpace(text)) == 0) {
		return t, nil
	}
	switch {
	case err != nil:
		return nil, fault.New(fault.Malformed, "it is not JSON: %v", err)
	case !f.comments && !root.IsStandard():
		return nil, fault.New(fault.Malformed, "it is not JSON: it has comments, or a comma behind the last member")
	}
	t.root = root
	return t, nil
}

// onlyExtra reports whether a text has blanks and comments only.
func onlyExtra(text []byte) bool {
	_, err := hujson.Parse(append(bytes.Clone(text), "null"...))
	return err == nil
}

// nested returns how deep a text is nested at most.
func nested(text []byte) (most int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(text[i:], []byte("//")):
			i = endOf(text, i, "\n")
		case bytes.HasPrefix(text[i:], []byte("/*")):
			i = endOf(text, i+2, "*/")
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// endOf returns the last byte of the first mark from a place on, or of the text.
func endOf(text []byte, from int, mark string) int {
	if n := bytes.Index(text[from:], []byte(mark)); n >= 0 {
		return from + n + len(mark) - 1
	}
	return len(text)
}

func (f jsonText) values(raw []byte) (map[string]any, error) {
	t, err := f.scan(raw)
	if err != nil || t.empty() {
		return map[string]any{}, err
	}
	plain := t.root.Clone()
	plain.Standardize()
	d := json.NewDecoder(bytes.NewReader(plain.Pack()))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil || values == nil {
		return nil, fault.New(fault.Malformed, "it is JSON, but not an object with members")
	}
	return values, nil
}

// held is an object of a text: its members, and the places of its braces.
type held struct {
	*hujson.Object
	open, closing int
}

func heldBy(v *hujson.Value) (held, bool) {
	o, ok := v.Value.(*hujson.Object)
	return held{o, v.StartOffset, v.EndOffset - 1}, ok
}

// find returns the index of the member that a path leads to, the object that holds it, and how
// many names of the path are there.
func (t *jsonc) find(path []string) (o held, at, found int, err error) {
	v := &t.root
	for i, name := range path {
		is := func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == name }
		var ok bool
		if o, ok = heldBy(v); !ok {
			return o, 0, i, fault.New(fault.Malformed, "%s is not an object", strings.Join(path[:i], "."))
		}
		if at = slices.IndexFunc(o.Members, is); at < 0 {
			return o, at, i, nil
		}
		if slices.ContainsFunc(o.Members[at+1:], is) {
			return o, at, i, fault.New(fault.Malformed, "%s occurs twice", strings.Join(path[:i+1], "."))
		}
		v = &o.Members[at].Value
	}
	return o, at, len(path), nil
}

// comma returns the place of the comma behind a member. The last one may have none.
func (t *jsonc) comma(m *hujson.ObjectMember) (at int, ok bool) {
	at = m.Value.EndOffset + len(m.Value.AfterExtra)
	return at, at < len(t.raw) && t.raw[at] == ','
}

func (f jsonText) set(raw []byte, path []string, v any) ([]byte, error) {
	t, err := f.scan(raw)
	if err != nil {
		return nil, err
	}
	if t.empty() {
		return append(bytes.Clone(raw), f.fresh(path, v)...), nil
	}
	o, at, found, err := t.find(path)
	if err != nil {
		return nil, err
	}
	l := t.layout(o)
	if found == len(path) {
		old := o.Members[at].Value
		return splice(raw, edit{old.StartOffset, old.EndOffset, l.text(v, l.member)}), nil
	}
	for i := len(path) - 1; i > found; i-- {
		v = object{{name: path[i], value: v}}
	}
	return splice(raw, t.insert(o, l, l.text(path[found], "")+": "+l.text(v, l.member))...), nil
}

// fresh returns a new text with one member.
func (f jsonText) fresh(path []string, v any) string {
	for i := len(path) - 1; i >= 0; i-- {
		v = object{{name: path[i], value: v}}
	}
	return layout{newline: "\n", unit: "  "}.text(v, "") + "\n"
}

// layout is the layout of an object.
type layout struct {
	newline, unit string
	member        string // the indentation of its members
	brace         string // the indentation of the line on which it begins
	lines         bool   // its members are on separate lines
}

// layout looks at an object, and at the text around it where the object does not tell.
func (t *jsonc) layout(o held) layout {
	l := layout{newline: "\n", unit: "  "}
	if bytes.Contains(t.raw, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	l.brace = t.indent(o.open)
	if top, ok := heldBy(&t.root); ok && len(top.Members) > 0 {
		if unit := t.indent(top.Members[0].Name.StartOffset); unit != "" {
			l.unit = unit
		}
	}
	l.member = l.brace + l.unit
	l.lines = bytes.ContainsRune(t.raw[o.open:o.closing], '\n')
	if l.lines && len(o.Members) > 0 && t.first(o.Members[0].Name.StartOffset) {
		l.member = t.indent(o.Members[0].Name.StartOffset)
	}
	return l
}

// indent returns the blanks at the beginning of the line that contains at.
func (t *jsonc) indent(at int) string {
	line := bytes.LastIndexByte(t.raw[:at], '\n') + 1
	end := line
	for end < len(t.raw) && (t.raw[end] == ' ' || t.raw[end] == '\t') {
		end++
	}
	return string(t.raw[line:end])
}

// first reports whether only blanks precede at on its line.
func (t *jsonc) first(at int) bool {
	line := bytes.LastIndexByte(t.raw[:at], '\n') + 1
	return len(bytes.Trim(t.raw[line:at], " \t")) == 0
}

// text writes a value. In objects each member gets a line.
func (l layout) text(v any, indent string) string {
	o, ok := v.(object)
	if !ok || len(o) == 0 {
		return string(encode(v))
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.newline + indent + l.unit + string(encode(m.name)) + ": " + l.text(m.value, indent+l.unit))
	}
	b.WriteString(l.newline + indent + "}")
	return b.String()
}

// insert adds a member at the end of an object, so that cut gives back the text before: where the
// last member had a comma behind it, this one gets one, too.
func (t *jsonc) insert(o held, l layout, text string) []edit {
	end := t.contentEnd(o)
	if len(o.Members) == 0 {
		if end == o.open+1 {
			return []edit{{o.open + 1, o.closing, l.newline + l.member + text + l.newline + l.brace}}
		}
		return []edit{{end, end, l.newline + l.member + text + l.newline + l.brace}}
	}
	gap := " "
	if l.lines {
		gap = l.newline + l.member
	}
	last := &o.Members[len(o.Members)-1]
	if _, ok := t.comma(last); ok {
		return []edit{{end, end, gap + text + ","}}
	}
	return []edit{{last.Value.EndOffset, last.Value.EndOffset, ","}, {end, end, gap + text}}
}

// contentEnd returns where the content of an object ends, comments included.
func (t *jsonc) contentEnd(o held) int {
	end := o.closing
	for end > o.open+1 && strings.IndexByte(" \t\r\n", t.raw[end-1]) >= 0 {
		end--
	}
	return end
}

func (f jsonText) cut(raw []byte, path []string) ([]byte, error) {
	t, err := f.scan(raw)
	if err != nil {
		return nil, err
	}
	o, i, found, err := t.find(path)
	if err != nil || found < len(path) {
		return raw, err
	}
	m := &o.Members[i]
	start, end := t.gapBefore(m.Name.StartOffset), m.Value.EndOffset
	if at, ok := t.comma(m); ok {
		return splice(raw, edit{start, end, ""}, edit{at, at + 1, ""}), nil
	}
	if i == 0 {
		if start == o.open+1 && t.contentEnd(o) == end {
			return splice(raw, edit{o.open + 1, o.closing, ""}), nil
		}
		return splice(raw, edit{start, end, ""}), nil
	}
	at, _ := t.comma(&o.Members[i-1])
	return splice(raw, edit{at, at + 1, ""}, edit{start, end, ""}), nil
}

// gapBefore returns the beginning of the blanks before at on its line. If at is the first on
// its line, they include the line feed before it.
func (t *jsonc) gapBefore(at int) int {
	for at > 0 && (t.raw[at-1] == ' ' || t.raw[at-1] == '\t') {
		at--
	}
	if at > 0 && t.raw[at-1] == '\n' {
		at--
		if at > 0 && t.raw[at-1] == '\r' {
			at--
		}
	}
	return at
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     string
}

// splice applies edits, which must be sorted and must not overlap.
func splice(raw []byte, edits ...edit) []byte {
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		b.Write(raw[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.Write(raw[at:])
	return b.Bytes()
}
