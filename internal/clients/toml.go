package clients

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/rye-os/rye/fault"
)

// tomlText is TOML. An entry is a table with its own header.
type tomlText struct{}

var tables = tomlText{}

func (tomlText) values(raw []byte) (values map[string]any, err error) {
	values = map[string]any{}
	if err := toml.Unmarshal(raw, &values); err != nil {
		at := ""
		if d, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, _ := d.Position()
			at = "line " + string(encode(row)) + ": "
		}
		return nil, fault.New(fault.Malformed, "it is not TOML: %s%v", at, err)
	}
	return values, nil
}

// statement is a header, or a name with its value.
type statement struct {
	path       []string // from the top of the document
	header     bool
	line, end  int // offsets of its lines
	value, vto int // offsets of its value
}

func statements(raw []byte) (all []statement, err error) {
	p := unstable.Parser{}
	p.Reset(raw)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		s := statement{header: e.Kind != unstable.KeyValue}
		first, last := -1, 0
		for it := e.Key(); it.Next(); {
			k := it.Node()
			if first < 0 {
				first = int(k.Raw.Offset)
			}
			last = int(k.Raw.Offset + k.Raw.Length)
			s.path = append(s.path, string(k.Data))
		}
		s.line = bytes.LastIndexByte(raw[:max(first, 0)], '\n') + 1
		s.vto = last
		if s.header {
			table = s.path
		} else {
			s.path = slices.Concat(table, s.path)
			s.vto = int(e.Raw.Offset + e.Raw.Length)
			s.value = last + bytes.IndexByte(raw[last:], '=') + 1
			s.value += len(raw[s.value:]) - len(bytes.TrimLeft(raw[s.value:], " \t"))
		}
		s.end = lineEnd(raw, s.vto)
		all = append(all, s)
	}
	if err := p.Error(); err != nil {
		return nil, fault.New(fault.Malformed, "it is not TOML: %v", err)
	}
	return all, nil
}

// lineEnd returns the offset of the line after the one that contains at.
func lineEnd(raw []byte, at int) int {
	if n := bytes.IndexByte(raw[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(raw)
}

// below reports whether path equals in or leads to something inside it.
func below(path, in []string) bool { return len(path) >= len(in) && slices.Equal(path[:len(in)], in) }

func newline(raw []byte) string {
	if bytes.Contains(raw, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func (f tomlText) set(raw []byte, path []string, v any) ([]byte, error) {
	if o, ok := v.(object); ok && len(path) == 2 {
		return f.add(raw, path, o), nil
	}
	all, err := statements(raw)
	if err != nil {
		return nil, err
	}
	into := -1
	for _, s := range all {
		switch in := path[:len(path)-1]; {
		case !s.header && slices.Equal(s.path, path):
			return splice(raw, edit{s.value, s.vto, tomlValue(v)}), nil
		case s.header && slices.Equal(s.path, in), !s.header && into >= 0 && slices.Equal(s.path[:len(s.path)-1], in):
			into = s.end
		}
	}
	if into < 0 {
		return nil, fault.New(fault.Malformed, "%s is not a table with a header", strings.Join(path[:len(path)-1], "."))
	}
	line := tomlKey(path[len(path)-1]) + " = " + tomlValue(v) + newline(raw)
	return append(appendLines(raw[:into], line), raw[into:]...), nil
}

// add appends a table, with a blank line before it.
func (tomlText) add(raw []byte, path []string, o object) []byte {
	nl := newline(raw)
	var b strings.Builder
	if len(raw) > 0 {
		b.WriteString(nl)
	}
	keys := make([]string, len(path))
	for i, name := range path {
		keys[i] = tomlKey(name)
	}
	b.WriteString("[" + strings.Join(keys, ".") + "]" + nl)
	for _, m := range o {
		b.WriteString(tomlKey(m.name) + " = " + tomlValue(m.value) + nl)
	}
	return appendLines(raw, b.String())
}

// appendLines appends lines to a text. If the text has no line feed at its end, the result has
// none either, so that cutLines restores the old text.
func appendLines(raw []byte, lines string) []byte {
	if nl := newline(raw); len(raw) > 0 && raw[len(raw)-1] != '\n' {
		lines = nl + strings.TrimSuffix(lines, nl)
	}
	return append(bytes.Clone(raw), lines...)
}

// cutLines is splice for edits that remove whole lines.
func cutLines(raw []byte, edits ...edit) []byte {
	if n := len(edits) - 1; n >= 0 && edits[n].to == len(raw) && raw[len(raw)-1] != '\n' {
		before := bytes.TrimSuffix(bytes.TrimSuffix(raw[:edits[n].from], []byte("\n")), []byte("\r"))
		if n == 0 || len(before) >= edits[n-1].to {
			edits[n].from = len(before)
		}
	}
	return splice(raw, edits...)
}

// cut removes every statement about a path: a table with the tables in it, or one line.
func (tomlText) cut(raw []byte, path []string) ([]byte, error) {
	all, err := statements(raw)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for _, s := range all {
		if !below(s.path, path) {
			continue
		}
		from := s.line
		if len(edits) > 0 && inOneTable(raw, edits[len(edits)-1].to, s) {
			edits[len(edits)-1].to = s.end
			continue
		}
		if s.header {
			from = blankBefore(raw, from)
		}
		edits = append(edits, edit{from, s.end, ""})
	}
	return cutLines(raw, edits...), nil
}

// inOneTable reports whether a statement continues the table that ends at end. cut then
// removes the text between them, too.
func inOneTable(raw []byte, end int, s statement) bool {
	return !s.header || len(bytes.TrimSpace(raw[end:s.line])) == 0
}

// blankBefore returns the offset of the blank line before a line, if there is one, or of the
// line itself.
func blankBefore(raw []byte, line int) int {
	if before := bytes.TrimSuffix(bytes.TrimSuffix(raw[:line], []byte("\n")), []byte("\r")); len(before) < line {
		if n := len(before); n == 0 || raw[n-1] == '\n' {
			return n
		}
	}
	return line
}

func tomlKey(name string) string {
	for _, r := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			return string(encode(name))
		}
	}
	return name
}

// tomlValue writes a value. A JSON string is also a TOML string.
func tomlValue(v any) string {
	o, ok := v.(object)
	if !ok {
		return string(encode(v))
	}
	var all []string
	for _, m := range o {
		all = append(all, tomlKey(m.name)+" = "+tomlValue(m.value))
	}
	return "{ " + strings.Join(all, ", ") + " }"
}
