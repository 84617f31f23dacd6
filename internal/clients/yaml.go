package clients

import (
	"bytes"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// yamlText is YAML in which the mappings around the entry are blocks: a line for each name,
// with its value indented. The rules of rye's own files apply, so anchors and tags are
// refused.
type yamlText struct{}

var block = yamlText{}

func (yamlText) values(raw []byte) (map[string]any, error) {
	values, err := objects.YAMLValues(raw, MaxFile)
	if err != nil {
		return nil, fault.Wrap(err, "it is not YAML, or uses YAML features that rye does not read")
	}
	return values, nil
}

// row is one line.
type row struct {
	from, to int // offsets, including the line feed
	indent   int
	text     string // without surrounding blanks
}

// says reports whether the line is neither blank nor a comment.
func (r row) says() bool { return r.text != "" && r.text[0] != '#' }

// item reports whether the line begins a list item, which may have the same indentation as the
// name of the list.
func (r row) item() bool { return r.text == "-" || strings.HasPrefix(r.text, "- ") }

func rows(raw []byte) (all []row) {
	at := 0
	for line := range bytes.Lines(raw) {
		text := strings.TrimLeft(string(line), " ")
		all = append(all, row{from: at, to: at + len(line), indent: len(line) - len(text), text: strings.TrimSpace(text)})
		at += len(line)
	}
	return all
}

// span is the range of rows for a name and its value. The last one is not blank.
type span struct{ first, end int }

// named finds the row of a name among rows[from:end], at an indentation.
func named(all []row, in span, indent int, name string) (s span, ok bool) {
	for i := in.first; i < in.end; i++ {
		if !all[i].says() || all[i].indent != indent || !keyIs(all[i].text, name) {
			continue
		}
		s = span{i, i + 1}
		for j := i + 1; j < in.end; j++ {
			if all[j].says() && (all[j].indent < indent || all[j].indent == indent && !all[j].item()) {
				break
			}
			if all[j].says() || all[j].indent > indent && all[j].text != "" {
				s.end = j + 1
			}
		}
		return s, true
	}
	return s, false
}

// keyIs reports whether a line begins with a name, quoted or not.
func keyIs(text, name string) bool {
	for _, form := range []string{name, `"` + name + `"`, "'" + name + "'"} {
		if rest, ok := strings.CutPrefix(text, form); ok {
			if rest = strings.TrimLeft(rest, " "); rest == ":" || strings.HasPrefix(rest, ": ") {
				return true
			}
		}
	}
	return false
}

// childIndent returns the indentation of the names in a mapping.
func childIndent(all []row, s span) int {
	for _, r := range all[s.first+1 : s.end] {
		if r.says() {
			return r.indent
		}
	}
	return all[s.first].indent + 2
}

// find follows a path as far as it has rows.
func find(all []row, path []string) (s span, indent, found int) {
	s = span{-1, len(all)}
	for found < len(path) {
		in := span{s.first + 1, s.end}
		next, ok := named(all, in, indent, path[found])
		if !ok {
			return s, indent, found
		}
		s, indent, found = next, childIndent(all, next), found+1
	}
	return s, indent, found
}

func (f yamlText) set(raw []byte, path []string, v any) ([]byte, error) {
	all, nl := rows(raw), newline(raw)
	s, indent, found := find(all, path)
	if found == len(path) {
		at := all[s.first].indent
		return splice(raw, edit{all[s.first].from, all[s.end-1].to, yamlLines(at, nl, path[found-1], v)}), nil
	}
	for i := len(path) - 1; i > found; i-- {
		v = object{{name: path[i], value: v}}
	}
	text := yamlLines(indent, nl, path[found], v)
	if found == 0 {
		return appendLines(raw, text), nil
	}
	if e, ok := opened(raw, all[s.first], nl); ok && s.end == s.first+1 {
		return splice(raw, edit{e.from, e.to, e.text + text}), nil
	}
	at := all[s.end-1].to
	return append(appendLines(raw[:at], text), raw[at:]...), nil
}

// opened removes the {} of an empty mapping, so that names can follow on separate lines.
func opened(raw []byte, r row, nl string) (edit, bool) {
	line := raw[r.from:r.to]
	i := bytes.Index(line, []byte(": {}"))
	if i < 0 {
		return edit{}, false
	}
	rest := strings.TrimRight(string(line[i+4:]), "\r\n")
	return edit{r.from + i, r.to, ":" + rest + nl}, true
}

func (yamlText) cut(raw []byte, path []string) ([]byte, error) {
	all := rows(raw)
	s, _, found := find(all, path)
	if found < len(path) {
		return nil, fault.New(fault.Malformed, "%s is not on lines of its own", strings.Join(path, "."))
	}
	edits := []edit{{all[s.first].from, all[s.end-1].to, ""}}
	if over, _, n := find(all, path[:len(path)-1]); n == len(path)-1 && n > 0 && lonely(all, over, s) {
		r := all[over.first]
		at := r.from + bytes.IndexByte(raw[r.from:r.to], ':') + 1
		edits = append([]edit{{at, at, " {}"}}, edits...)
	}
	return cutLines(raw, edits...), nil
}

// lonely reports whether a span is the only content of a mapping.
func lonely(all []row, over, s span) bool {
	for i := over.first + 1; i < over.end; i++ {
		if all[i].says() && (i < s.first || i >= s.end) {
			return false
		}
	}
	return true
}

// yamlLines writes a name and its value. A JSON value is also a YAML value.
func yamlLines(indent int, nl, name string, v any) string {
	head := strings.Repeat(" ", indent) + name + ":"
	o, ok := v.(object)
	if !ok || len(o) == 0 {
		return head + " " + string(encode(v)) + nl
	}
	var b strings.Builder
	b.WriteString(head + nl)
	for _, m := range o {
		b.WriteString(yamlLines(indent+2, nl, m.name, m.value))
	}
	return b.String()
}
