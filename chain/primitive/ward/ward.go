// Package ward finds what in a project other programs execute by themselves, so that it
// can be read-only during a run, and takes away what appeared of it when the run is over.
//
// A person who enters a directory, opens it in an editor or starts an agent in it, runs
// what lies there: a git hook, an .envrc, tasks of an editor, servers of an agent. Whoever
// can write such a file needs no way out of a sandbox; he waits. What exists can be covered
// by a mount. What does not exist cannot, and a name that is covered can be walked around:
//
//	mv sub s2; mkdir -p sub/.git/hooks
//
// So the project is looked at twice. Look, before the run, says what has to be covered, and
// remembers it by inode. After, when the last process has ended, looks again: what is new,
// lies elsewhere, or changed although it was covered, is moved out of the project. Until
// then it lies there, and a program outside can meet it.
//
// What is looked for is the table in names.go, and git directories by what they hold, not
// by their names. Both looks follow no link, open neither pipes nor devices, enter no other
// file system, and are bounded: what they did not see they say.
package ward

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// Options say where to look.
type Options struct {
	// Project is the directory, absolute and without links.
	Project string
	// Cache is the path of a file that remembers what directories held, so that the next
	// look need not read those that did not change; "" for none. It may be deleted at any
	// time, and whatever is odd about it makes it worth nothing.
	Cache string
	// Write are absolute paths of protected things that may be written, each by its very
	// own name: "/p/sub/.git", "/p/.vscode/settings.json". A directory above one does not
	// mean it. In a git directory they never mean what git executes.
	Write []string
	// Max is how many directories are looked into; 0 is 1,000.
	Max int
}

const usualMax = 1000

// A Mount is something that has to be read-only where it is.
type Mount struct {
	Path string // absolute, and no link
	Dir  bool
}

// A Ward is one project around one run. It is not safe for concurrent use.
type Ward struct {
	o      Options
	max    int
	write  []string // o.Write, relative to the project, with slashes
	began  time.Time
	id     info // of the project
	tree   *node
	before []thing
	links  []string // where .gitmodules says that .git of submodules are
	missed missed
}

// Look finds what has to be read-only during a run. An error means that the project could
// not be looked at, or that Write names what nothing may write (fault.Denied).
func Look(ctx context.Context, o Options) (*Ward, error) {
	w := &Ward{o: o, max: o.Max, began: time.Now()}
	if w.max <= 0 {
		w.max = usualMax
	}
	if err := w.names(); err != nil {
		return nil, err
	}
	d, err := openDisk(o.Project)
	if err != nil {
		return nil, fault.Wrap(err, "look for what runs by itself in %s", o.Project)
	}
	defer d.Close()
	w.id = d.id
	old := loadCache(o.Cache, d, w.max)
	w.tree = old.tree
	walk := &walker{ctx: ctx, d: d, dirs: w.max, entries: maxEntries, missed: &w.missed}
	if err := walk.look(w.tree); err != nil {
		return nil, err
	}
	w.links = d.submodules()
	c := &collector{d: d, write: w.write, missed: &w.missed}
	c.tree(w.tree)
	c.all(w.links, gitDirectory)
	c.remembered(old.found)
	c.targets(c.things)
	for _, p := range w.write { // perhaps a repository
		c.hooks(p)
	}
	w.before = c.things
	if walk.read > 0 {
		saveCache(o.Cache, d, w.max, memory{w.tree, foundBefore(w.before)})
	}
	return w, nil
}

// names checks Write and makes it relative.
func (w *Ward) names() error {
	for _, p := range w.o.Write {
		rel, err := filepath.Rel(w.o.Project, p)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue // not of the project, or all of it: no protected thing
		}
		rel = filepath.ToSlash(rel)
		if executed(rel) {
			return fault.New(fault.Denied, "needs.write names %q, which git executes", rel).
				Advise("leave %s out of needs.write: no tool may write it", rel)
		}
		w.write = append(w.write, rel)
	}
	return nil
}

// Protected returns what has to be read-only, sorted, none below another.
func (w *Ward) Protected() []Mount {
	var out []Mount
	c := &collector{}
	for _, t := range slices.SortedFunc(slices.Values(w.before), func(a, b thing) int { return strings.Compare(a.path, b.path) }) {
		if !t.link() && !c.covered(t.path) {
			c.keep(t)
			out = append(out, Mount{Path: filepath.Join(w.o.Project, filepath.FromSlash(t.path)), Dir: t.dir()})
		}
	}
	return out
}

// Unbound says in words for a person what was not looked at; after After, what was not
// looked at then either. It is empty when all was.
func (w *Ward) Unbound() []string { return w.missed.words(w.max) }
