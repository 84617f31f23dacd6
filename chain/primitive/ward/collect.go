package ward

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A thing must not be written: a file, a directory with all its content, or a link.
type thing struct {
	info
	path string
	kind string
	part string // the part of a git directory, if only that part is protected
}

// A collector makes things from the result of a walk.
type collector struct {
	d      *disk
	write  []string
	things []thing
	paths  map[string]bool // of things; true for directories
	missed *missed
	budget int // directories searched inside git directories

	awaited []awaited

	// became is called for a directory with the names of a git directory. If it returns true, it
	// has handled the directory. It may be nil.
	became func(*node) bool
}

// An awaited path is one that something protected leads to, and that is not there.
type awaited struct{ path, kind string }

const (
	maxOpened = 10_000 // names in a protected directory with a writable part
	maxInGit  = 2_000  // directories inside of a writable git directory
)

// tree collects the things that a walk found.
func (c *collector) tree(n *node) {
	if !n.seen {
		return
	}
	if n.marks.git() {
		switch {
		case c.became != nil && c.became(n):
		case n.up == nil:
			c.git("")
		default:
			c.add(n.path, gitDirectory)
			return
		}
	}
	for _, f := range n.found {
		if n.holds(f.rule) {
			c.add(join(n.path, f.name), f.rule.kind)
		}
	}
	for _, k := range n.kids {
		if k.whole() {
			c.add(k.path, k.rule.kind)
		} else {
			c.tree(k)
		}
	}
}

// add makes a thing of a path, or of its parts if Write names the path or a path inside it.
func (c *collector) add(p, kind string) {
	st, err := c.d.stat(p)
	if err != nil {
		return
	}
	switch {
	case slices.Contains(c.write, p), kind == python && environmentOf(p, func(file string) bool { return slices.Contains(c.write, file) }) != "":
		switch _, name := split(p); {
		case kind != gitDirectory:
		case st.dir():
			c.git(p)
		case fold(name) == ".git": // what it leads to may be written, and not where it leads
			c.keep(thing{info: st, path: p, kind: kind})
		}
	case st.dir() && slices.ContainsFunc(c.write, func(w string) bool { return below(w, p) }):
		c.open(p, kind)
	default:
		c.keep(thing{info: st, path: p, kind: kind})
	}
}

// environmentOf returns the pyvenv.cfg of the virtual environment that a path belongs to, or "" if
// there is none.
func environmentOf(p string, is func(string) bool) string {
	for dir, _ := split(p); ; dir, _ = split(dir) {
		if file := join(dir, environment); is(file) {
			return file
		}
		if dir == "" {
			return ""
		}
	}
}

func (c *collector) keep(t thing) {
	if c.paths == nil {
		c.paths = map[string]bool{}
	}
	c.things = append(c.things, t)
	c.paths[t.path] = t.dir()
}

// open makes things of the entries of a directory with a writable part.
func (c *collector) open(p, kind string) {
	l, err := c.d.list(p, maxOpened, false)
	if err != nil || l.more {
		c.missed.place(p, tooMany)
	}
	for _, e := range l.entries {
		if kind == gitDirectory && isPart(e.name) {
			c.part(p, e.name)
			continue
		}
		c.add(join(p, e.name), kind)
	}
}

// all collects known paths that can still be reached without a link.
func (c *collector) all(paths []string, kind string) {
	for _, p := range paths {
		if !c.covered(p) && c.d.plain(p) {
			c.add(p, kind)
		}
	}
}

// remembered collects earlier git directories that still are git directories.
func (c *collector) remembered(paths []string) {
	for _, p := range paths {
		if c.covered(p) || !c.d.plain(p) {
			continue
		}
		_, name := split(p)
		if l, err := c.d.list(p, maxOpened, false); fold(name) == ".git" || err == nil && marksOf(l.entries).git() {
			c.add(p, gitDirectory)
		}
	}
}

// covered reports whether p is inside a protected thing, or may be written.
func (c *collector) covered(p string) bool {
	if _, ok := c.paths[p]; ok {
		return true
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if c.paths[dir] {
			return true
		}
	}
	return slices.ContainsFunc(c.write, func(w string) bool { return below(p, w) })
}

// targets collects the targets of things inside the project: of links, of .git files, and the
// directory that a repository uses for its hooks.
func (c *collector) targets(of []thing) {
	for _, t := range of {
		_, name := split(t.path)
		switch {
		case t.link():
			c.target(c.d.abs(t.path), t.kind)
		case fold(name) != ".git":
		case t.file():
			if to := c.d.gitFile(t.path); to != "" {
				c.target(to, gitDirectory)
				if common := commonDir(to); common != "" {
					c.target(common, gitDirectory)
				}
			}
		case t.dir():
			c.hooks(t.path)
		}
	}
}

// hooks collects the other places of a repository's hooks.
func (c *collector) hooks(git string) {
	for _, to := range c.d.hooksOf(git) {
		c.target(to, "git hooks")
	}
	for _, to := range c.d.includedBy(git) {
		c.target(to, gitConfig)
	}
}

// target collects one absolute path, with links resolved, if it is in the project.
func (c *collector) target(abs, kind string) {
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		if rel, rerr := filepath.Rel(c.d.root.Name(), abs); rerr == nil && filepath.IsLocal(rel) && os.IsNotExist(err) {
			c.awaited = append(c.awaited, awaited{filepath.ToSlash(rel), kind})
		}
		return
	}
	rel, err := filepath.Rel(c.d.root.Name(), real)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return
	}
	c.all([]string{filepath.ToSlash(rel)}, kind)
}

// plain reports whether no directory above rel is a link.
func (d *disk) plain(rel string) bool {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if st, err := d.stat(dir); err != nil || !st.dir() {
			return false
		}
	}
	return !strings.HasPrefix(rel, "/")
}
