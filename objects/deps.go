package objects

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// MaxDeps bounds how many other items one item can declare as dependencies.
const MaxDeps = 64

// Bounds in bytes, so that a catalogue line can hold the dependencies: for the text of one
// range, and for all names and ranges together.
const (
	maxDepRange = 100
	MaxDepsSize = 4 << 10
)

// depsOf reads the dependencies of an item: published item to range of versions. RYE OS had
// no such field. In an item that it signed, a field "deps" of another form is an unknown
// field, and Validate demands a correction before the item is signed again. A config item is
// free in its fields.
func (p *parser) depsOf() (map[string]string, error) {
	deps, err := p.strictDeps()
	if err != nil && p.ref.Kind == Config {
		return nil, nil
	}
	if err != nil && p.ryeOS {
		p.unknown = append(p.unknown, "deps")
		return nil, nil
	}
	return deps, err
}

func (p *parser) strictDeps() (map[string]string, error) {
	fields, err := p.mapping("deps")
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	if len(fields) > MaxDeps {
		return nil, p.badField("deps", "it names %d items, at most %d", len(fields), MaxDeps)
	}
	deps, size := make(map[string]string, len(fields)), 0
	for _, name := range sortedKeys(fields) {
		rng, ok := fields[name].(string)
		if !ok {
			return nil, p.badField("deps", "the range of %s is %s; want a text", words.Brief(name), Shape(fields[name]))
		}
		if err := checkDep(name, rng); err != nil {
			return nil, p.badField("deps", "%v", err)
		}
		if size += len(name) + len(rng); size > MaxDepsSize {
			return nil, p.badField("deps", "more than %d bytes of names and ranges", MaxDepsSize)
		}
		deps[name] = rng
	}
	return deps, nil
}

// checkDep refuses a dependency that a catalogue cannot hold.
func checkDep(name, rng string) error {
	ref, err := ParseRef(name)
	if err == nil {
		_, err = ParseRange(rng)
	}
	switch {
	case err != nil:
		return err
	case ref.Published() != name:
		return fault.New(fault.Malformed, "%s is published as %s", words.Brief(name), ref.Published())
	case ref.ID.Namespace() == LocalNamespace:
		return fault.New(fault.Malformed, "%s belongs to one project, and is never published", words.Brief(name))
	case len(rng) > maxDepRange || strings.IndexFunc(rng, func(r rune) bool { return r < ' ' || r > '~' }) >= 0:
		return fault.New(fault.Malformed, "the range of %s is longer than %d characters, or has others than ASCII", words.Brief(name), maxDepRange)
	}
	return nil
}

// depsElement reads <deps><dep item="acme/tool/hello" range="^1.2"/></deps>. A missing range
// means any version.
func (p *parser) depsElement(e *element) error {
	deps := map[string]any{}
	for _, k := range e.kids {
		item, named := k.get("item")
		rng, ranged := k.get("range")
		if !ranged {
			rng = "*"
		}
		known := func(a attr) bool { return a.name == "item" || a.name == "range" }
		_, twice := deps[item]
		switch {
		case k.name == "dep" && named && !twice && len(k.kids) == 0 && k.content() == "" && !slices.ContainsFunc(k.attrs, func(a attr) bool { return !known(a) }):
			deps[item] = rng
		case p.ryeOS:
			return p.set("deps", e.tree(), e.off)
		case twice:
			return p.bad(p.at(k.off), "xml: deps: %s is named twice", words.Brief(item))
		default:
			return p.bad(p.at(k.off), "xml: deps: want <dep item=\"acme/tool/hello\" range=\"^1.2\"/>")
		}
	}
	if len(e.kids) == 0 && (e.content() != "" || len(e.attrs) > 0) {
		return p.set("deps", e.tree(), e.off)
	}
	return p.set("deps", deps, e.off)
}

// deps reports declared dependencies that have no effect: the item itself, a Python
// expression, or another form from the time before this field existed.
func (v *validator) deps() {
	const mend = "deps: {acme/tool/hello: ^1.2}"
	m := &v.it.Meta
	value, given := m.Fields["deps"]
	switch empty, isMap := value.(map[string]any); {
	case !given && v.it.places["deps"].line > 0:
		v.add("deps", "deps is not a literal: Python is read here and never run", `__deps__ = {"acme/tool/hello": "^1.2"}`)
	case given && value != nil && len(m.Deps) == 0 && !(isMap && len(empty) == 0):
		v.add("deps", "deps must name published items, each with a range of versions", mend)
	case m.Deps[v.it.Ref.Published()] != "":
		v.add("deps", "the item names itself", "leave it out")
	}
}
