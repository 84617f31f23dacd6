package objects

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"sync"
)

// naming are the fields of an item that repeat what its path says.
var naming = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(id|name|category):([ \t]+)(["']?)([^"'#\r\n]*?)(["']?)([ \t]*(?:#.*)?\r?\n?)$`)
})

// Retitled returns an item whose metadata says the id that it is to have, where it said the
// old one: a copy that cannot be signed is none. What has no YAML as metadata, and what says
// something else, is returned as it is.
func Retitled(it *Item, to Ref) *Item {
	ext := path.Ext(it.Path)
	if it.Ref.Kind != Knowledge && ext != ".yaml" && ext != ".yml" && !(ext == ".md" && bytes.HasPrefix(it.Body, []byte("---"))) {
		return it // its metadata is no YAML
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

// metadata returns where the metadata of an entry's body stands: all of a YAML file, the
// front matter, or else the first yaml fence.
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
