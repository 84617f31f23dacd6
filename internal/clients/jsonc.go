package clients

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// jsonText is JSON, and with comments set JSON as editors write it: with comments of both
// kinds and a comma behind the last member.
type jsonText struct{ comments bool }

var strict, commented = jsonText{}, jsonText{comments: true}

func (f jsonText) values(raw []byte) (map[string]any, error) {
	t, err := f.scan(raw)
	if err != nil || t.empty() {
		return map[string]any{}, err
	}
	d := json.NewDecoder(bytes.NewReader(t.plain))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil || values == nil {
		return nil, fault.New(fault.Malformed, "it is JSON, but not an object with members")
	}
	return values, nil
}

// jsonc is a text of JSON, and the same with blanks for what only people read. Both have
// the same length, so that a place in one is the place in the other.
type jsonc struct {
	raw, plain []byte
	commas     []int // behind the last member of something
}

func (t *jsonc) empty() bool { return len(bytes.TrimSpace(t.plain)) == 0 }

// scan blanks out comments and last commas, and refuses what is not JSON then.
func (f jsonText) scan(raw []byte) (*jsonc, error) {
	t := &jsonc{raw: raw, plain: bytes.Clone(raw)}
	if f.comments {
		t.blankMark()
		t.blank()
	}
	if t.empty() {
		return t, nil
	}
	if !json.Valid(t.plain) {
		var v any
		err := json.Unmarshal(t.plain, &v)
		return nil, fault.New(fault.Malformed, "it is not JSON: %v", err)
	}
	return t, nil
}

// blankMark blanks out the mark with which some editors begin a file.
func (t *jsonc) blankMark() {
	if bytes.HasPrefix(t.plain, []byte("\xef\xbb\xbf")) {
		copy(t.plain, "   ")
	}
}

func (t *jsonc) blank() {
	b := t.plain
	comma, before, last := -1, byte('['), byte('[') // the last significant byte, and the one before a comma
	for i := 0; i < len(b); {
		end := i + 1
		switch {
		case b[i] == '"':
			end = stringEnd(b, i)
		case bytes.HasPrefix(b[i:], []byte("//")):
			for end = i; end < len(b) && b[end] != '\n'; end++ {
				b[end] = ' '
			}
			i = end
			continue
		case bytes.HasPrefix(b[i:], []byte("/*")):
			n := bytes.Index(b[i+2:], []byte("*/"))
			if n < 0 {
				return // which is no JSON, and refused
			}
			for end = i + 2 + n + 2; i < end; i++ {
				if b[i] != '\n' && b[i] != '\r' {
					b[i] = ' '
				}
			}
			continue
		case isBlank(b[i]):
			i++
			continue
		}
		if (b[i] == ']' || b[i] == '}') && last == ',' && !strings.ContainsRune("[{,:", rune(before)) {
			b[comma] = ' '
			t.commas = append(t.commas, comma)
		}
		if b[i] == ',' {
			comma, before = i, last
		}
		last, i = b[i], end
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// stringEnd returns where the string ends that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// node is one member of an object: where its name begins, where its value does, where that ends.
type node struct {
	name              string
	start, value, end int
}

// members returns those of the object that begins at open, and where its brace closes.
func (t *jsonc) members(open int) (all []node, closing int) {
	b := t.plain
	i := t.skip(open + 1)
	for b[i] != '}' {
		n := node{start: i}
		i = stringEnd(b, i)
		_ = json.Unmarshal(b[n.start:i], &n.name) // it is valid
		n.value = t.skip(t.skip(i) + 1)
		n.end = t.valueEnd(n.value)
		all = append(all, n)
		if i = t.skip(n.end); b[i] == ',' {
			i = t.skip(i + 1)
		}
	}
	return all, i
}

// skip returns where the next byte stands that is not blank.
func (t *jsonc) skip(i int) int {
	for i < len(t.plain) && isBlank(t.plain[i]) {
		i++
	}
	return i
}

func (t *jsonc) valueEnd(i int) int {
	b, depth := t.plain, 0
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			i = stringEnd(b, i) - 1
		case c == '{' || c == '[':
			depth++
			continue
		case c == '}' || c == ']':
			depth--
		default:
			for i+1 < len(b) && !isBlank(b[i+1]) && !strings.ContainsRune(",]}", rune(b[i+1])) && depth == 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// find returns the member that a path leads to, the object that holds it, and how many
// names of the path are there.
func (t *jsonc) find(path []string) (n node, open, found int, err error) {
	open = t.skip(0)
	for i, name := range path {
		if t.plain[open] != '{' {
			return n, open, i, fault.New(fault.Malformed, "%s is not an object", strings.Join(path[:i], "."))
		}
		all, _ := t.members(open)
		at := slices.IndexFunc(all, func(n node) bool { return n.name == name })
		if at < 0 {
			return n, open, i, nil
		}
		if slices.ContainsFunc(all[at+1:], func(n node) bool { return n.name == name }) {
			return n, open, i, fault.New(fault.Malformed, "%s is there twice", strings.Join(path[:i+1], "."))
		}
		if n = all[at]; i+1 < len(path) {
			open = n.value
		}
	}
	return n, open, len(path), nil
}

func (f jsonText) set(raw []byte, path []string, v any) ([]byte, error) {
	t, err := f.scan(raw)
	if err != nil {
		return nil, err
	}
	if t.empty() {
		return append(bytes.Clone(raw), f.fresh(path, v)...), nil
	}
	n, open, found, err := t.find(path)
	if err != nil {
		return nil, err
	}
	l := t.layout(open)
	if found == len(path) {
		return splice(raw, edit{n.value, n.end, l.text(v, l.member)}), nil
	}
	for i := len(path) - 1; i > found; i-- {
		v = object{{name: path[i], value: v}}
	}
	return splice(raw, t.insert(open, l, l.text(path[found], "")+": "+l.text(v, l.member))...), nil
}

// fresh is a text with one member.
func (f jsonText) fresh(path []string, v any) string {
	for i := len(path) - 1; i >= 0; i-- {
		v = object{{name: path[i], value: v}}
	}
	return layout{newline: "\n", unit: "  "}.text(v, "") + "\n"
}

// layout is how an object is written.
type layout struct {
	newline, unit string
	member        string // the indentation of its members
	brace         string // the indentation of the line on which it begins
	lines         bool   // its members stand on lines of their own
}

// layout looks at the object at open, and at the text around where that says nothing.
func (t *jsonc) layout(open int) layout {
	l := layout{newline: "\n", unit: "  "}
	if bytes.Contains(t.raw, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	l.brace = t.indent(open)
	if top, _ := t.members(t.skip(0)); len(top) > 0 {
		if unit := t.indent(top[0].start); unit != "" {
			l.unit = unit
		}
	}
	l.member = l.brace + l.unit
	all, closing := t.members(open)
	l.lines = bytes.ContainsRune(t.raw[open:closing], '\n')
	if l.lines && len(all) > 0 && t.first(all[0].start) {
		l.member = t.indent(all[0].start)
	}
	return l
}

// indent returns the blanks with which the line of a place begins.
func (t *jsonc) indent(at int) string {
	line := bytes.LastIndexByte(t.raw[:at], '\n') + 1
	end := line
	for end < len(t.raw) && (t.raw[end] == ' ' || t.raw[end] == '\t') {
		end++
	}
	return string(t.raw[line:end])
}

// first reports whether there are only blanks before a place on its line.
func (t *jsonc) first(at int) bool {
	line := bytes.LastIndexByte(t.raw[:at], '\n') + 1
	return len(bytes.Trim(t.raw[line:at], " \t")) == 0
}

// text writes a value; objects with members get a line for each.
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

// insert adds a member at the end of the object at open, so that remove gives back what was
// there: where the last member had a comma behind it, this one gets one, too.
func (t *jsonc) insert(open int, l layout, text string) []edit {
	all, closing := t.members(open)
	end := t.contentEnd(open, closing)
	if len(all) == 0 {
		if end == open+1 {
			return []edit{{open + 1, closing, l.newline + l.member + text + l.newline + l.brace}}
		}
		return []edit{{end, end, l.newline + l.member + text + l.newline + l.brace}}
	}
	gap := " "
	if l.lines {
		gap = l.newline + l.member
	}
	last := all[len(all)-1]
	if _, ok := t.comma(last.end, closing); ok {
		return []edit{{end, end, gap + text + ","}}
	}
	return []edit{{last.end, last.end, ","}, {end, end, gap + text}}
}

// contentEnd returns where what an object holds ends, comments included.
func (t *jsonc) contentEnd(open, closing int) int {
	end := closing
	for end > open+1 && isBlank(t.raw[end-1]) {
		end--
	}
	return end
}

// comma finds the comma behind a value, before end; one before the closing brace counts.
func (t *jsonc) comma(from, end int) (at int, ok bool) {
	if at = t.skip(from); at < len(t.plain) && t.plain[at] == ',' {
		return at, true
	}
	for _, at := range t.commas {
		if at >= from && at < end && t.skip(from) >= end {
			return at, true
		}
	}
	return 0, false
}

func (f jsonText) cut(raw []byte, path []string) ([]byte, error) {
	t, err := f.scan(raw)
	if err != nil {
		return nil, err
	}
	n, open, found, err := t.find(path)
	if err != nil || found < len(path) {
		return raw, err
	}
	all, closing := t.members(open)
	start := t.gapBefore(n.start)
	if at, ok := t.comma(n.end, closing); ok {
		return splice(raw, edit{start, n.end, ""}, edit{at, at + 1, ""}), nil
	}
	if len(all) == 1 {
		if start == open+1 && t.contentEnd(open, closing) == n.end {
			return splice(raw, edit{open + 1, closing, ""}), nil
		}
		return splice(raw, edit{start, n.end, ""}), nil
	}
	at, _ := t.comma(all[len(all)-2].end, n.start)
	return splice(raw, edit{at, at + 1, ""}, edit{start, n.end, ""}), nil
}

// gapBefore returns where the blanks begin that stand before a place: those of its line,
// with the end of the line before, or those up to what stands before it.
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

// edit puts a text in place of a part of another.
type edit struct {
	from, to int
	text     string
}

// splice makes edits, which do not overlap and are sorted.
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
