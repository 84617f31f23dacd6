package modelhost

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// A node is a decoded value of a request, with its path from the top:
// "messages.0.content.1.text".
type node struct {
	path string
	v    any
}

// A problem is a fault in a node.
type problem struct {
	path string
	kind string // missing, unknown or invalid
	says string // description of an invalid node
}

const (
	missing = "missing"
	unknown = "unknown"
	invalid = "invalid"
)

func (p *problem) Error() string {
	switch p.kind {
	case missing:
		return p.path + ": must be given"
	case unknown:
		return p.path + ": unknown member"
	}
	return p.path + ": " + p.says
}

func (n node) bad(format string, args ...any) *problem {
	return &problem{n.path, invalid, fmt.Sprintf(format, args...)}
}

func (n node) at(name string) string {
	if n.path == "" {
		return name
	}
	return n.path + "." + name
}

// list returns the elements of a list.
func (n node) list() ([]node, *problem) {
	l, ok := n.v.([]any)
	if !ok {
		return nil, n.bad("want a list, got %s", kindOf(n.v))
	}
	out := make([]node, len(l))
	for i, v := range l {
		out[i] = node{n.at(strconv.Itoa(i)), v}
	}
	return out, nil
}

// members returns the members of an object. It refuses members that are not known; without known
// names it accepts all.
func (n node) members(known ...string) (*members, *problem) {
	m, ok := n.v.(map[string]any)
	if !ok {
		return nil, n.bad("want an object, got %s", kindOf(n.v))
	}
	if len(known) > 0 {
		for _, k := range sortedKeys(m) {
			if !slices.Contains(known, k) {
				return nil, &problem{n.at(words.Brief(k)), unknown, ""}
			}
		}
	}
	return &members{n, m, nil}, nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// members are the members of one object, read one after another. The field wrong has the first
// fault after all of them were read.
type members struct {
	node
	m     map[string]any
	wrong *problem
}

// get returns a member that exists and is not null.
func (m *members) get(name string) (node, bool) {
	v := m.m[name]
	return node{m.at(name), v}, v != nil
}

// need returns a member that must exist.
func (m *members) need(name string) node {
	n, ok := m.get(name)
	if !ok {
		m.fail(&problem{n.path, missing, ""})
	}
	return n
}

func (m *members) fail(p *problem) {
	if m.wrong == nil {
		m.wrong = p
	}
}

// text returns a member that is a text; "" when it is missing.
func (m *members) text(name string) string {
	n, ok := m.get(name)
	if !ok {
		return ""
	}
	s, ok := n.v.(string)
	if !ok {
		m.fail(n.bad("want a text, got %s", kindOf(n.v)))
	}
	return s
}

// needText returns a member that must exist and be a text that is not empty.
func (m *members) needText(name string) string {
	n := m.need(name)
	s := m.text(name)
	if n.v == "" {
		m.fail(n.bad("is empty"))
	}
	return s
}

func (m *members) flag(name string) bool {
	n, ok := m.get(name)
	if !ok {
		return false
	}
	b, ok := n.v.(bool)
	if !ok {
		m.fail(n.bad("want true or false, got %s", kindOf(n.v)))
	}
	return b
}

// count returns a member that is a whole number from least to most; ok reports whether it exists.
func (m *members) count(name string, least, most int64) (i int64, ok bool) {
	n, ok := m.get(name)
	if !ok {
		return 0, false
	}
	i, whole := expr.Integer(n.v)
	switch {
	case !whole:
		m.fail(n.bad("want a whole number, got %s", kindOf(n.v)))
	case i < least || i > most:
		m.fail(n.bad("%d is not between %d and %d", i, least, most))
	}
	return i, true
}

// number checks that a member, if it exists, is a number from least to most.
func (m *members) number(name string, least, most float64) {
	n, ok := m.get(name)
	if !ok {
		return
	}
	f, ok := expr.Number(n.v)
	switch {
	case !ok:
		m.fail(n.bad("want a number, got %s", kindOf(n.v)))
	case !(f >= least && f <= most):
		m.fail(n.bad("%v is not between %v and %v", f, least, most))
	}
}

// oneOf returns a member that is one of these texts; the first of them when it is missing.
func (m *members) oneOf(name string, allowed ...string) string {
	s := m.text(name)
	n, ok := m.get(name)
	if !ok {
		return allowed[0]
	}
	if m.wrong == nil && !slices.Contains(allowed, s) {
		m.fail(n.bad("%q is none of %q", words.Brief(s), allowed))
	}
	return s
}

// texts returns a member that is a text or a list of texts.
func (m *members) texts(name string) []string {
	n, ok := m.get(name)
	if !ok {
		return nil
	}
	if s, ok := n.v.(string); ok {
		return []string{s}
	}
	l, p := n.list()
	if p != nil {
		m.fail(n.bad("want a text or a list of texts, got %s", kindOf(n.v)))
	}
	out := make([]string, 0, len(l))
	for _, e := range l {
		s, ok := e.v.(string)
		if !ok {
			m.fail(e.bad("want a text, got %s", kindOf(e.v)))
		}
		out = append(out, s)
	}
	return out
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// checkName requires a name that both services allow for tools and ids of calls.
func (m *members) checkName(name, s string, most int) {
	if m.wrong == nil && (!plainName.MatchString(s) || len(s) > most) {
		m.fail(node{m.at(name), nil}.bad("%q: want at most %d letters, digits, _ and -", words.Brief(s), most))
	}
}

// read passes an existing member to f.
func (m *members) read(name string, f func(node) *problem) {
	n, ok := m.get(name)
	if !ok || m.wrong != nil {
		return
	}
	if p := f(n); p != nil {
		m.fail(p)
	}
}
