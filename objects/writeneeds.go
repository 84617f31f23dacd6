package objects

import (
	"bytes"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Access that rye writes into tools that state none.
var (
	OwnNeeds = Needs{Declared: true, Read: []string{"."}, Write: []string{"."}} // the user's own: the project, no hosts
	NoNeeds  = Needs{Declared: true}                                            // text that came from elsewhere
)

// httpRuntime runs tools without files: only the hosts count among their needs.
const httpRuntime ID = "rye/core/runtimes/http_runtime"

// WithNeeds returns the item with a line of needs. It returns the item itself if the tool states
// needs, if nothing runs it, if it runs other tools, or if its text has no place for the line.
func (it *Item) WithNeeds(n Needs) (*Item, error) {
	m := &it.Meta
	if _, stated := m.Fields["needs"]; stated || it.Ref.Kind != Tool || m.Executor == "" || it.Legacy != nil || strings.HasPrefix(string(m.Executor), "rye/core/primitives/") {
		return it, nil
	}
	if slices.Contains([]string{"runtime", "primitive", "extractor", "parser"}, m.ToolType) {
		return it, nil
	}
	if m.Executor == httpRuntime {
		host := fixedHost(m.Config)
		if host == "" {
			return it, nil
		}
		n = Needs{Declared: true, Net: []string{host}}
	}
	at, line := it.needsLine(n)
	if line == "" {
		return it, nil
	}
	raw := slices.Concat(it.Body[:at], []byte(line), it.Body[at:])
	if it.Signature != nil { // its time matters for the next one
		var err error
		if raw, err = WithSignature(it.Path, raw, *it.Signature); err != nil {
			return nil, err
		}
	}
	now, err := Parse(it.Path, raw)
	if err != nil {
		return nil, err
	}
	if now.Meta.Needs.String() != n.String() || now.Meta.Executor != m.Executor || now.Meta.Inferred != m.Inferred || len(now.Meta.Fields) != len(m.Fields)+1 {
		return nil, fault.New(fault.Malformed, "%s: needs cannot be written into its header", it.Ref).Advise("add %s to .ai/%s", it.Example("needs", n.yaml()), it.Path)
	}
	return now, nil
}

// fixedHost returns the host of a tool's URL as needs name it, "" if a template decides it.
func fixedHost(config map[string]any) string {
	text, _ := config["url"].(string)
	origin, _, _ := strings.Cut(text, "{")
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || strings.Contains(u.Host, "[") || strings.HasSuffix(origin, "$") || origin != text && !strings.HasPrefix(u.Path, "/") || u.Hostname() == u.Host && u.Scheme != "https" {
		return ""
	}
	return u.Host
}

// yaml returns the needs as the value of a field.
func (n Needs) yaml() string {
	list := func(all []string) string { return "[" + strings.Join(all, ", ") + "]" }
	return "{read: " + list(n.Read) + ", write: " + list(n.Write) + ", net: " + list(n.Net) + "}"
}

// python returns the needs as a literal of Python.
func (n Needs) python() string {
	list := func(all []string) string {
		if len(all) == 0 {
			return "[]"
		}
		return `["` + strings.Join(all, `", "`) + `"]`
	}
	return `{"read": ` + list(n.Read) + `, "write": ` + list(n.Write) + `, "net": ` + list(n.Net) + "}"
}

// needsLine returns a line of needs and the offset in the body where it goes: above the first
// field of the header. A file without a header gets one below its #! line, or, in Python, at its
// end, because a docstring and imports from __future__ come first.
func (it *Item) needsLine(n Needs) (at int, line string) {
	field := it.Example("needs", n.yaml())
	if it.dialect == dialectPython {
		field = "__needs__ = " + n.python()
	}
	first := mark{}
	for name, m := range it.places {
		if _, stated := it.Meta.Fields[name]; stated && (first.line == 0 || m.line < first.line) {
			first = m
		}
	}
	if first.line > 0 {
		return it.above(first, field)
	}
	switch c, known := comments[path.Ext(it.Path)]; {
	case it.dialect == dialectPython && bytes.HasSuffix(it.Body, []byte("\n")):
		return len(it.Body), "\n" + field + "\n"
	case it.dialect == dialectPython:
		return len(it.Body), "\n\n" + field + "\n"
	case !known || it.dialect != dialectOurs || !it.Executable() || c.close != "":
		return 0, ""
	default:
		at, line = lineEnd(it.Body, 0), c.line(field)+"\n"
		if !bytes.HasSuffix(it.Body[:at], []byte("\n")) {
			line = "\n" + line
		}
		if rest := it.Body[at:]; len(rest) > 0 && rest[0] != '\n' {
			line += "\n" // else a comment that follows would belong to the header
		}
		return at, line
	}
}

// above returns a field as a line above the one at a place of the file, with what stands before
// the text of that line. The line is empty if the place is not at the beginning of its line.
func (it *Item) above(m mark, field string) (at int, line string) {
	for n := m.line; n > 1; n-- {
		at = lineEnd(it.Raw, at)
	}
	ahead := it.Raw[at : at+max(m.col-1, 0)]
	if strings.Trim(string(ahead), " \t#/-*") != "" || bytes.Contains(ahead, []byte("/*")) || bytes.HasPrefix(bytes.TrimLeft(ahead, " \t"), []byte("- ")) {
		return 0, ""
	}
	if cut := len(it.Raw) - len(it.Body); cut > 0 && at >= gapStart(it.Raw, it.Body) {
		at -= cut
	}
	return at, string(ahead) + field + "\n"
}
