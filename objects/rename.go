package objects

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Renames maps items to their new names. A Ref without a kind stands for a whole namespace, in
// capabilities with a *.
type Renames map[Ref]Ref

// spelled matches the texts that can name an item, or a capability for one.
var spelled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[a-zA-Z0-9_*][a-zA-Z0-9_:./*-]*`) })

// declared matches a line of the metadata of a program: a field in a comment, or of a Python module.
var declared = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:#|//|--)[ \t]|__[a-z_]+__[ \t]*=)`)
})

// In returns the item with the new names in its metadata: in deps, in executor_id, in permissions,
// in actions and in every other declared field. It leaves the text below the metadata as it is.
func (r Renames) In(it *Item) *Item {
	var out bytes.Buffer
	from, end := metadata(it)
	if it.Ref.Kind == Directive && from == end {
		from, end = fenced(it.Body, "```xml")
	}
	program := it.Ref.Kind == Tool && from == end
	at := 0
	for line := range bytes.Lines(it.Body) {
		switch inside := at >= from && at < end; {
		case inside, program && declared().Match(line):
			out.WriteString(r.line(string(line)))
		default:
			out.Write(line)
			// Comments below the first line of code are no metadata.
			program = program && (len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(line, []byte("#")) || bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("--")))
		}
		at += len(line)
	}
	n := *it
	n.Body = out.Bytes()
	return &n
}

// line returns a line with the new names.
func (r Renames) line(text string) string {
	return spelled().ReplaceAllStringFunc(text, func(word string) string {
		name := strings.TrimRight(word, ".,:")
		if now, ok := r.word(name); ok {
			return now + word[len(name):]
		}
		return word
	})
}

// word returns the new form of a name: a ref, a published name, an id, or a capability.
func (r Renames) word(name string) (string, bool) {
	if ref, err := ParseRef(name); err == nil {
		if to, ok := r[ref]; ok {
			if strings.Contains(name, ":") {
				return to.String(), true
			}
			return to.Published(), true
		}
	}
	for _, kind := range Kinds {
		if to, ok := r[Ref{Kind: kind, ID: ID(name)}]; ok && strings.Contains(name, "/") {
			return string(to.ID), true
		}
	}
	return r.capability(name)
}

// capability returns the new form of a capability: rye.<verb>.<kind>.<id with dots>.
func (r Renames) capability(name string) (string, bool) {
	parts := strings.SplitN(name, ".", 4)
	if len(parts) < 4 || parts[0] != "rye" {
		return "", false
	}
	head := strings.Join(parts[:3], ".") + "."
	if to, ok := r[Ref{Kind: Kind(parts[2]), ID: ID(strings.ReplaceAll(parts[3], ".", "/"))}]; ok {
		return head + to.ID.Dots(), true
	}
	ns, rest, _ := strings.Cut(parts[3], ".")
	if to, ok := r[Ref{ID: ID(ns)}]; ok && strings.Contains(rest, "*") {
		return head + string(to.ID) + "." + rest, true
	}
	return "", false
}

// Deps returns dependencies with the new names.
func (r Renames) Deps(deps map[string]string) map[string]string {
	if len(deps) == 0 {
		return deps
	}
	out := make(map[string]string, len(deps))
	for name, rng := range deps {
		if now, ok := r.word(name); ok {
			name = now
		}
		out[name] = rng
	}
	return out
}

// fenced returns the offsets of the first fence that begins with a line.
func fenced(body []byte, first string) (from, to int) {
	at, inside := 0, false
	for line := range bytes.Lines(body) {
		switch text := string(bytes.TrimSpace(line)); {
		case !inside && text == first:
			inside, from = true, at+len(line)
		case inside && text == "```":
			return from, at
		}
		at += len(line)
	}
	return 0, 0
}

// Relocated returns an item at another path, without its signature line. The metadata that stated
// the old id states the new one, and names the items of r by their new names.
func (r Renames) Relocated(it *Item, p string) (*Item, error) {
	to, _, err := RefOfPath(p)
	if err != nil {
		return nil, err
	}
	now := r.In(Retitled(it, to))
	if path.Ext(p) != path.Ext(it.Path) {
		return nil, malformed(p, 0, 0, "the extension changes from %s", path.Ext(it.Path))
	}
	return Parse(p, now.Body)
}
