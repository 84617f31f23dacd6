package objects

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// naming matches the fields of an item that repeat a part of its path.
var naming = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(id|name|category):([ \t]+)(["']?)([^"'#\r\n]*?)(["']?)([ \t]*(?:#.*)?\r?\n?)$`)
})

// Retitled returns the item with its new id in the metadata fields that held the old one. A
// copy with the old id could not be signed. In a program without YAML metadata only the
// category repeats the path. Fields with other values stay unchanged.
func Retitled(it *Item, to Ref) *Item {
	ext := path.Ext(it.Path)
	if it.Ref.Kind != Knowledge && ext != ".yaml" && ext != ".yml" && !(ext == ".md" && bytes.HasPrefix(it.Body, []byte("---"))) {
		return recategorized(it, to) // its metadata is not YAML
	}
	was := map[string]string{"id": it.Ref.ID.Name(), "name": it.Ref.ID.Name(), "category": it.Ref.ID.Category()}
	is := map[string]string{"id": to.ID.Name(), "name": to.ID.Name(), "category": to.ID.Category()}
	from, end := metadata(it)
	var out bytes.Buffer
	out.Write(it.Body[:from])
	for line := range strings.Lines(string(it.Body[from:end])) {
		if m := naming().FindStringSubmatch(line); m != nil && m[3] == m[5] && m[4] == was[m[1]] {
			line = m[1] + ":" + m[2] + m[3] + is[m[1]] + m[5] + m[6]
		}
		out.WriteString(line)
	}
	out.Write(it.Body[end:])
	n := *it
	n.Body = out.Bytes()
	return &n
}

// heading matches the category in the comments of a program, and in a Python module.
var heading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:#|//|--) category:[ \t]+|__category__[ \t]*=[ \t]*)(["']?)([^"'#\r\n]*?)(["']?)([ \t]*\r?\n?)$`)
})

// recategorized changes the first category of a program, if it is the old one.
func recategorized(it *Item, to Ref) *Item {
	at := 0
	for line := range bytes.Lines(it.Body) {
		m := heading().FindSubmatch(line)
		if m == nil {
			at += len(line)
			continue
		}
		if string(m[3]) != it.Ref.ID.Category() || string(m[2]) != string(m[4]) {
			return it
		}
		n := *it
		n.Body = slices.Concat(it.Body[:at], m[1], m[2], []byte(to.ID.Category()), m[4], m[5], it.Body[at+len(line):])
		return &n
	}
	return it
}

// metadata returns the offsets of the metadata in an entry's body: the whole of a YAML file,
// the front matter, or else the first yaml fence.
func metadata(it *Item) (from, to int) {
	if ext := path.Ext(it.Path); ext == ".yaml" || ext == ".yml" {
		return 0, len(it.Body)
	}
	first, last, at := "```yaml", "```", 0
	if bytes.HasPrefix(it.Body, []byte("---")) {
		first, last = "---", "---"
	}
	inside := false
	for line := range bytes.Lines(it.Body) {
		text := string(bytes.TrimSpace(line))
		switch {
		case !inside && text == first:
			inside, from = true, at+len(line)
		case inside && text == last:
			return from, at
		}
		at += len(line)
	}
	return 0, 0
}
