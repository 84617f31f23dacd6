package objects

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/rye-os/rye/internal/words"
)

// Validate returns the problems of an item under the rules of its kind, in the order
// of the file; nil for none. rye can read, show and correct an item with problems, but
// not sign it. docs/format/item.md lists the rules.
func (it *Item) Validate() []Problem {
	v := &validator{it: it}
	if it.dialect == dialectSkill {
		v.checkSkill()
		return v.problems
	}
	if it.Meta.Part {
		return nil
	}
	v.common()
	v.mistaken()
	switch it.Ref.Kind {
	case Directive:
		v.directive()
	case Tool:
		v.tool()
	case Knowledge:
		v.knowledge()
	}
	sort.SliceStable(v.problems, func(i, j int) bool { return v.problems[i].Line < v.problems[j].Line })
	return v.problems
}

type validator struct {
	it       *Item
	problems []Problem
}

func (v *validator) add(field, rule, mend string) {
	m, ok := v.it.places[field]
	if !ok {
		m = v.start()
	}
	v.problems = append(v.problems, Problem{Line: m.line, Column: m.col, Field: field, Rule: rule, Mend: mend})
}

// start returns the line where the metadata begins, as the place of a missing field.
func (v *validator) start() mark {
	line := 0
	for _, m := range v.it.places {
		if line == 0 || m.line < line {
			line = m.line
		}
	}
	return mark{line: max(line, 1)}
}

// need reports a field that must not be empty.
func (v *validator) need(field, value, example string) {
	_, given := v.it.Meta.Fields[field]
	switch {
	case value != "":
	case !given && v.it.places[field].line > 0:
		v.add(field, field+" is not a literal: Python is read here and never run", v.example(field, example))
	default:
		v.add(field, "required field is missing: "+field, v.example(field, example))
	}
}

// needIn is need for an item that must have the field. A program may lack it, and may not state it
// in a way that rye does not read.
func (v *validator) needIn(field, value, example string) {
	_, read := v.it.Meta.Fields[field]
	if stated := v.it.places[field].line > 0; !v.program() || stated && !read {
		v.need(field, value, example)
	}
}

// Example returns a field and a value in the syntax of the item's file.
func (it *Item) Example(field, value string) string {
	v := validator{it: it}
	return v.example(field, value)
}

// example writes a field in the item's dialect.
func (v *validator) example(field, value string) string {
	switch v.it.dialect {
	case dialectPython:
		name := "__" + field + "__"
		if field == "description" {
			name = "__tool_description__"
		}
		return name + " = " + strconv.Quote(value)
	case dialectXML:
		if field == "name" || field == "version" {
			return fmt.Sprintf("<directive %s=%q>", field, value)
		}
		return fmt.Sprintf("<%s>%s</%s> in <metadata>", field, value, field)
	}
	return field + ": " + value
}

// common checks the fields of every kind: a version, a name and category that match
// the path, and texts without invisible characters.
func (v *validator) common() {
	m, id := &v.it.Meta, v.it.Ref.ID
	if v.it.Ref.Kind == Config {
		return // free in its fields
	}
	v.needIn("version", m.Version, "1.0.0")
	if m.Version != "" {
		if _, ok := parseVersion(m.Version); !ok {
			v.add("version", fmt.Sprintf("version %q is not a semantic version", words.Brief(m.Version)), v.example("version", "1.0.0"))
		}
	}
	name := "name"
	if v.it.Ref.Kind == Knowledge && m.Fields["id"] != nil {
		name = "id"
	}
	if m.Name != id.Name() {
		v.add(name, fmt.Sprintf("%s %q is not the file's name %q", name, words.Brief(m.Name), id.Name()), v.example(name, id.Name()))
	}
	if _, given := m.Fields["category"]; given && m.Category != id.Category() {
		v.add("category", fmt.Sprintf("category %q is not the file's directory %q", words.Brief(m.Category), id.Category()), v.example("category", id.Category()))
	}
	v.apparent()
	v.examples()
	v.deps()
}

// apparent refuses invisible characters in texts.
func (v *validator) apparent() {
	m := &v.it.Meta
	for _, f := range []struct{ name, text string }{
		{"description", m.Description}, {"title", m.Title}, {"author", m.Author},
	} {
		if r, bad := deceptive(f.text); bad {
			v.add(f.name, fmt.Sprintf("%s holds the invisible character U+%04X", f.name, r), "delete the character")
		}
	}
}

// deceptive returns the first invisible character, which makes a text look like another.
func deceptive(s string) (rune, bool) {
	for _, r := range s {
		if hidden(r) || r >= 0x200b && r <= 0x200d || r == 0x2060 || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return r, true
		}
	}
	return 0, false
}

// directiveLimits maps each limit that the runner knows to its type of value.
var directiveLimits = map[string]string{
	"turns": "whole", "tokens": "whole", "spawns": "whole", "depth": "whole", "duration_seconds": "whole", "output": "whole",
	"spend": "number", "spend_currency": "text",
}

func (v *validator) directive() {
	m := &v.it.Meta
	if v.it.dialect == dialectXML {
		if m.Fields["name"] == nil {
			v.add("name", "required field is missing: name", v.example("name", v.it.Ref.ID.Name()))
		}
		v.need("author", m.Author, "your name")
	}
	v.need("description", m.Description, "its purpose, in a sentence")
	for _, k := range sortedKeys(m.Budget) {
		want, known := directiveLimits[k]
		if !known {
			v.add("limits", "unknown limit "+strconv.Quote(words.Brief(k)), "turns, tokens, spend, spend_currency, spawns, depth, duration_seconds or output")
			continue
		}
		if !limitIs(m.Budget[k], want) {
			v.add("limits", fmt.Sprintf("limit %s: want a %s value that is not negative", k, want), k+"=\"10\"")
		}
	}
	for i, c := range m.Permissions {
		if why := CheckCapability(c); why != "" {
			line, col := v.it.Place("permissions", strconv.Itoa(i))
			v.problems = append(v.problems, Problem{Line: line, Column: col, Field: "permissions",
				Rule: fmt.Sprintf("capability %q: %s", words.Brief(c), why), Mend: capabilityMend(c)})
		}
	}
	v.model()
	v.inputs()
	v.outputs()
	v.hooksShape()
}

func limitIs(v any, want string) bool {
	switch v := v.(type) {
	case int:
		return want != "text" && v >= 0
	case float64:
		return want == "number" && v >= 0
	case string:
		return want == "text"
	}
	return false
}

func (v *validator) tool() {
	m := &v.it.Meta
	v.needIn("description", m.Description, "its purpose, in a sentence")
	v.needIn("tool_type", m.ToolType, "python")
	if _, given := m.Fields["executor_id"]; !given && v.program() {
		if _, why, mend := ExecutorOf(path.Ext(v.it.Path), v.it.Body); why != "" {
			v.add("executor_id", why, mend)
		}
	}
	v.needs()
	if tier, given := m.Fields["tier"]; given && tier != nil && !isTier(tier) {
		v.add("tier", "want t0 to t4", v.example("tier", "t2"))
	}
	if m.Executor == v.it.Ref.ID {
		v.add("executor_id", "the tool names itself as its executor", "name a runtime")
	}
}

// program reports whether the item is a tool in a programming language. Its header is optional.
func (v *validator) program() bool {
	return v.it.Ref.Kind == Tool && (v.it.dialect == dialectOurs || v.it.dialect == dialectPython)
}

func isTier(v any) bool {
	s, _ := v.(string)
	return len(s) == 2 && s[0]|0x20 == 't' && s[1] >= '0' && s[1] <= '4'
}

// needs checks the paths and hosts that rye shows to a person and gives to the sandbox.
func (v *validator) needs() {
	n := &v.it.Meta.Needs
	for _, path := range slices.Concat(n.Read, n.Write) {
		if _, bad := deceptive(path); bad || path == "" || len(path) > 4096 || strings.ContainsAny(path, "\n\r\t") {
			v.add("needs", fmt.Sprintf("path %q is empty, too long or holds invisible characters", words.Brief(path)), "a path below the project, or an absolute one")
		}
	}
	for _, port := range n.Listen {
		if !validPort(port) {
			v.add("needs", fmt.Sprintf("listen %q is not a port", words.Brief(port)), "a port from 1024 to 65535")
		}
		if host := n.dials(port); host != "" {
			v.add("needs", fmt.Sprintf("listen %s: net %q has the same port of this machine", port, words.Brief(host)), "another port in listen")
		}
	}
	if len(n.Listen) > maxListen {
		v.add("needs", fmt.Sprintf("listen has %d ports", len(n.Listen)), fmt.Sprintf("at most %d", maxListen))
	}
	for _, host := range n.Net {
		if !validHost(host) {
			v.add("needs", fmt.Sprintf("net %q is not a host", words.Brief(host)), "example.org, example.org:443 or *")
		}
	}
}

// dials returns the entry of net that leads to a port of this machine, "" for none.
func (n *Needs) dials(port string) string {
	for _, text := range n.Net {
		host, at, _ := cutLast(text, ":")
		host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
		a, err := netip.ParseAddr(host)
		if at == port && (host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && a.Unmap().IsLoopback()) {
			return text
		}
	}
	return ""
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// validHost accepts "*", a name or IPv4 address with or without port, and an
// IPv6 address in brackets.
func validHost(s string) bool {
	if s == "*" {
		return true
	}
	host, port, hasPort := s, "", false
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port, hasPort = s[:i], s[i+1:], true
	}
	if n, ok := parseNumber(port); hasPort && (!ok || n == 0 || n > 65535) {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		return strings.HasSuffix(inner, "]") && len(inner) > 2 && strings.Trim(inner[:len(inner)-1], "0123456789abcdefABCDEF:.") == ""
	}
	host = strings.TrimPrefix(host, "*.")
	for _, label := range strings.Split(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || !identifiers(label, false) {
			return false
		}
	}
	return len(host) <= 253
}

func (v *validator) knowledge() {
	m := &v.it.Meta
	v.need("title", m.Title, "its subject")
	v.need("entry_type", m.EntryType, "reference")
	if v.it.dialect == dialectFence || v.it.dialect == dialectData {
		if m.Fields["id"] == nil && m.Fields["name"] == nil {
			v.add("id", "required field is missing: id", v.example("id", v.it.Ref.ID.Name()))
		}
	}
}
