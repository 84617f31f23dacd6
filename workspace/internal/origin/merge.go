package origin

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/diff"
)

// merged is the outcome of merging three versions of a bundle.
type merged struct {
	files     members
	conflicts []conflict
	edited    []string // files of the user's that upstream did not change, or that were merged
}

// conflict is a file that both sides changed.
type conflict struct{ path, why string }

// mergeFiles merges upstream's change, from base to theirs, into the user's files. What only one
// side changed, that side decides. Texts that both changed are merged line by line. Of anything else
// that both changed the user's version stays, and it is a conflict.
func mergeFiles(base, ours, theirs members, marks diff.Marks) merged {
	m := merged{files: members{}}
	all := map[string]bool{}
	for _, side := range []members{base, ours, theirs} {
		for p := range side {
			all[p] = true
		}
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		m.file(p, base, ours, theirs, marks)
	}
	return m
}

func (m *merged) file(p string, base, ours, theirs members, marks diff.Marks) {
	b, inBase := base[p]
	o, inOurs := ours[p]
	t, inTheirs := theirs[p]
	if inOurs && inBase {
		o = withEndsOf(o, b)
	}
	keep := func(f member, there bool) {
		if there {
			m.files[p] = f
		}
	}
	switch {
	case inOurs == inTheirs && o.same(t):
		keep(o, inOurs)
	case inOurs == inBase && o.same(b):
		keep(t, inTheirs)
	case inTheirs == inBase && t.same(b):
		keep(o, inOurs)
		m.edited = append(m.edited, p)
	case inOurs && inTheirs:
		m.both(p, b, o, t, marks)
	case inOurs:
		keep(o, true)
		m.conflicts = append(m.conflicts, conflict{p, "upstream removed it, and you edited it: yours stays"})
	default:
		keep(t, true)
		m.conflicts = append(m.conflicts, conflict{p, "you removed it, and upstream changed it: theirs is back"})
	}
}

// both merges a file that both sides have.
func (m *merged) both(p string, b, o, t member, marks diff.Marks) {
	f := member{exec: o.exec}
	if o.exec == b.exec {
		f.exec = t.exec
	}
	text, n := diff.Merge(string(b.data), string(o.data), string(t.data), marks)
	f.data = []byte(text)
	m.files[p] = f
	switch {
	case n == 0:
		if !bytes.Equal(o.data, b.data) {
			m.edited = append(m.edited, p)
		}
	case diff.Binary(string(o.data)) || diff.Binary(string(t.data)) || diff.Binary(string(b.data)):
		m.conflicts = append(m.conflicts, conflict{p, "both changed it, and it is no text: yours stays"})
	default:
		m.conflicts = append(m.conflicts, conflict{p, "both changed the same lines: both stand between marks"})
	}
}

func (f member) same(g member) bool { return f.exec == g.exec && bytes.Equal(f.data, g.data) }

// withEndsOf gives a text the line ends of its base where a checkout changed all of them: git for
// Windows writes CR LF. So that is no edit.
func withEndsOf(o, base member) member {
	text := string(o.data)
	if bytes.Contains(base.data, []byte("\r\n")) || diff.Binary(text) || strings.Count(text, "\r\n") == 0 || strings.Count(text, "\r\n") != strings.Count(text, "\n") {
		return o
	}
	o.data = []byte(strings.ReplaceAll(text, "\r\n", "\n"))
	return o
}
