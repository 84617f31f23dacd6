package ward

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rye-os/rye/fault"
)

// Bounds of one walk, besides the number of directories.
const (
	maxEntries = 200_000   // names read before a run
	maxWide    = 100_000   // names read of one directory
	maxAfter   = 1_000_000 // names read after a run
	manyNew    = 20        // times Options.Max: the bound on directories that a run made
)

// A node is one directory of the project. Between two walks it holds the result of the earlier
// one, so that an unchanged directory is not read again.
type node struct {
	path  string
	up    *node
	rule  *rule // if the table has its name
	kids  []*node
	found []named // names in the table that are not directories
	gone  []*node // kids before the run that no longer exist after it

	ino   uint64
	ctime int64 // 0 if it proves nothing: read again
	marks marks // names of a git directory in it
	was   marks // the same before the run
	top   bool  // a repository begins here
	deps  bool  // it belongs to an installed package
	last  bool  // searched after the others
	more  bool  // it holds more names than were read
	seen  bool  // it was searched
	fresh bool  // it is new since the run
}

type named struct {
	name string
	rule *rule
}

func newNode(up *node, name string) *node {
	if up == nil {
		return &node{top: true}
	}
	f := fold(name)
	return &node{path: join(up.path, name), up: up, rule: ruleFor(up.above(), name), last: last[f], deps: up.deps || last[f] && dependencies[f]}
}

// above returns the argument above of ruleFor.
func (n *node) above() string {
	_, name := split(n.path)
	if f := fold(name); rules().above[f] {
		return f
	}
	return ""
}

// holds reports whether a rule applies to a name directly below n.
func (n *node) holds(r *rule) bool {
	if r == nil || n.deps && !r.always {
		return false
	}
	if !r.top {
		return true
	}
	if strings.Contains(r.name, "/") {
		return n.up != nil && n.up.top
	}
	return n.top
}

// whole reports whether n is protected as one thing by its name, so that it is not searched.
func (n *node) whole() bool { return n.up != nil && n.up.holds(n.rule) }

// A walker searches directories, those near the top first, because people open these.
type walker struct {
	ctx     context.Context
	d       *disk
	dirs    int // directories that may still be searched
	entries int // names that may still be read
	read    int // directories that were read and not remembered
	missed  *missed
	after   bool // the run is over: new names are separated from known ones
}

// wide visits the tree, breadth first, and the directories that programs made at the end. visit
// returns whether to continue below.
func (w *walker) wide(root *node, visit func(*node) bool) error {
	queue, later, behind := []*node{root}, []*node(nil), false
	for n := 0; len(queue) > 0 || len(later) > 0; n++ {
		if len(queue) == 0 {
			queue, later, behind = later, nil, true
		}
		at := queue[0]
		queue = queue[1:]
		if n%64 == 0 && w.ctx.Err() != nil {
			return fault.Wrap(w.ctx.Err(), "look for files that programs run by themselves")
		}
		if !visit(at) {
			continue
		}
		for _, k := range at.kids {
			switch {
			case k.whole():
			case k.last && !behind:
				later = append(later, k)
			default:
				queue = append(queue, k)
			}
		}
	}
	return nil
}

// look is the walk before a run.
func (w *walker) look(root *node) error {
	err := w.wide(root, func(n *node) bool {
		if w.dirs == 0 {
			n.forget()
			w.missed.beyond = true
			return false
		}
		w.dirs--
		if !w.unchanged(n) {
			w.into(n)
		} else if n.more {
			w.missed.place(n.path, tooMany)
		}
		n.was, n.gone = n.marks, nil
		return n.seen && (!n.marks.git() || n.up == nil)
	})
	if err == nil && !root.seen {
		return fault.New(fault.Failed, "look for files that programs run by themselves: %s cannot be read", w.d.root.Name())
	}
	return err
}

// again is the walk after a run. It visits the directories of the first walk, and new ones. A
// directory that the first walk did not see does not count as new.
func (w *walker) again(root *node) error {
	return w.wide(root, func(n *node) bool {
		if !n.seen && !n.fresh {
			return false
		}
		if n.seen && w.unchanged(n) {
			return !n.marks.git() || n.up == nil
		}
		if n.fresh {
			if w.dirs == 0 {
				w.missed.beyondNew = true
				return false
			}
			w.dirs--
		}
		w.into(n)
		return n.seen && (n.up == nil || !n.was.git()) // a new git directory may hold others
	})
}

// unchanged reports whether a directory is the one that was read, with the same content.
func (w *walker) unchanged(n *node) bool {
	if !n.seen || n.ctime == 0 {
		return false
	}
	st, err := w.d.stat(n.path)
	return err == nil && st.dir() && st.dev == w.d.id.dev && st.ino == n.ino && st.ctime == n.ctime
}

func (n *node) forget() {
	n.seen, n.kids, n.found, n.marks, n.more = false, nil, nil, 0, false
}

// into reads a directory.
func (w *walker) into(n *node) {
	at := time.Now()
	l, err := w.d.list(n.path, min(maxWide, w.entries), w.after)
	if err != nil {
		n.forget()
		w.missed.because(n.path, err)
		return
	}
	w.read++
	w.entries -= len(l.entries)
	if w.after && n.seen && l.ino != n.ino { // another directory in its place
		old := *n
		n.forget()
		n.fresh, n.was, n.gone = true, 0, append(n.gone, &old)
	}
	cut := n.seen && n.more // then an unseen name need not be new
	known := n.kids
	if n.more = l.more; n.more {
		w.missed.place(n.path, tooMany)
		l.entries = append(l.entries, w.d.probe(n)...)
	}
	n.fill(l.entries, w.after && !cut)
	if n.more {
		n.kids = append(n.kids, known...) // they may be among the unread names
	}
	top := n.top
	n.sort()
	if w.after && !n.fresh {
		n.top = top // a .git made by the run protects no existing names
	}
	if n.ino, n.ctime = l.ino, l.ctime; !w.d.trusted || racy(l.ctime, at) {
		n.ctime = 0
	}
}

// racy reports whether a directory that was read at a time could have changed since then with the
// same ctime. Kernels count in ticks of up to ten milliseconds, old file systems in seconds.
func racy(ctime int64, read time.Time) bool {
	slack := 20 * time.Millisecond
	if ctime%int64(time.Second) == 0 {
		slack = 2 * time.Second
	}
	return ctime >= read.Add(-slack).UnixNano()
}

// fill sets the content of n. Known subdirectories keep their nodes. Others are marked fresh if
// fresh is set.
func (n *node) fill(entries []entry, fresh bool) {
	known := map[string]*node{}
	for _, k := range n.kids {
		known[k.path] = k
	}
	above := n.above()
	n.kids, n.found, n.marks, n.seen = nil, nil, 0, true
	for _, e := range entries {
		n.marks |= markOf(e.name)
		if !e.mode.IsDir() {
			if r := ruleFor(above, e.name); r != nil {
				n.found = append(n.found, named{e.name, r})
			}
			continue
		}
		p := join(n.path, e.name)
		k := known[p]
		if delete(known, p); k == nil {
			k = newNode(n, e.name)
			k.fresh = fresh
		}
		n.kids = append(n.kids, k)
	}
	n.gone = slices.AppendSeq(n.gone, maps.Values(known))
}

func (n *node) sort() {
	slices.SortStableFunc(n.kids, func(a, b *node) int { return strings.Compare(a.path, b.path) })
	n.kids = slices.CompactFunc(n.kids, func(a, b *node) bool { return a.path == b.path })
	slices.SortFunc(n.found, func(a, b named) int { return strings.Compare(a.name, b.name) })
	n.found = slices.CompactFunc(n.found, func(a, b named) bool { return a.name == b.name })
	n.top = n.up == nil || n.has(".git")
}

// has reports whether n holds a name of this rule in the table.
func (n *node) has(rule string) bool {
	return slices.ContainsFunc(n.found, func(f named) bool { return f.rule.name == rule }) ||
		slices.ContainsFunc(n.kids, func(k *node) bool { return k.rule != nil && k.rule.name == rule })
}

// probe asks a directory with too many entries for every name that matters.
func (d *disk) probe(n *node) []entry {
	var out []entry
	ask := func(name string) {
		if st, err := d.stat(join(n.path, name)); err == nil {
			out = append(out, entry{name, st.mode.Type()})
		}
	}
	above := n.above()
	for _, r := range rules().whole {
		dir, name := split(r.name)
		if dir == above {
			ask(name)
		}
	}
	for name := range marked {
		ask(name)
	}
	return out
}

// missed has the places that were not searched.
type missed struct {
	beyond, beyondNew bool
	places            []string
	more              int
}

const (
	manyPlaces = 5
	tooMany    = "has more entries than are checked"
)

func (m *missed) place(path, why string) {
	if path == "" {
		path = "."
	}
	line := printable(path) + " " + why
	switch {
	case slices.Contains(m.places, line):
	case len(m.places) < manyPlaces:
		m.places = append(m.places, line)
	default:
		m.more++
	}
}

// because records why a directory was not read, unless it no longer exists.
func (m *missed) because(path string, err error) {
	switch {
	case crossed(err):
		m.place(path, "is another file system, and was not checked")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
	default:
		m.place(path, "cannot be read, and was not checked")
	}
}
