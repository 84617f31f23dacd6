package ward

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// Options select the paths to search.
type Options struct {
	// Project is the directory, absolute and without links.
	Project string
	// Cache is the path of a file that remembers the content of directories, so that the next
	// search skips unchanged ones; "" for none. It may be deleted at any time. An invalid file is
	// ignored.
	Cache string
	// Write are absolute paths of protected things that may be written, each by its exact name:
	// "/p/sub/.git", "/p/.vscode/settings.json". A directory above such a thing does not include
	// it. A git directory here does not include the parts that git executes.
	Write []string
	// Max is the most directories to search; 0 is 1,000.
	Max int
}

const usualMax = 1000

// A Mount is a path that must be read-only.
type Mount struct {
	Path string // absolute, and not a link
	Dir  bool
}

// A Ward is one project around one run. It is not safe for concurrent use.
type Ward struct {
	o       Options
	max     int
	write   []string // o.Write, relative to the project, with slashes
	began   time.Time
	id      info // of the project
	tree    *node
	before  []thing
	links   []string // the .git of submodules by .gitmodules
	awaited []awaited
	seen    *snapshot // nil without Remember
	missed  missed

	since   time.Time // of a killed run: the indexes before it are unknown
	excuses Excuses
	left    []Left
	inDirs  map[string]bool // of files in protected directories; nil without Watch
	repos   []*repo         // around the project and in it
	watch   *watch          // nil without Remember
}

// Look finds the things that must be read-only during a run. It fails if it cannot search the
// project, or if Write names a path that no tool may write (fault.Denied).
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
		return nil, fault.Wrap(err, "look for files that programs run by themselves in %s", o.Project)
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
	for _, p := range w.write { // it may be a repository
		c.hooks(p)
	}
	w.before, w.awaited = c.things, c.awaited
	w.findRepos(d)
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
			continue // outside of the project, or all of it: not a protected thing
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

// Protected returns the paths that must be read-only, sorted, none below another.
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

// Unbound lists, in words for a person, the places that were not searched; after After also those
// that After did not search. It is empty if everything was searched.
func (w *Ward) Unbound() []string { return w.missed.words(w.max) }
