package ward

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// Taken is one thing that was moved out of the project after a run.
type Taken struct {
	Path  string // relative to the project, with slashes
	Kind  string // the reason for its protection: "git directory", "VS Code"
	How   string // "new", "moved" or "changed"
	Where string // its new path, absolute; "" for a thing without content, such as a pipe
	Need  string // the path in needs.write that would have allowed it; "" if none does
}

// After searches again when the last process of the run has ended. It moves things that are new,
// moved or changed below the directory to, which it makes when necessary. Relative paths stay the
// same.
//
// unheld are absolute protected paths that did not stay read-only to the end. Either their mounts
// vanished, because another process replaced the file below them, or the system has no mounts.
// After judges them if they differ from what Remember saw.
//
// What is new, moved or changed stays if something excuses it (see Excuse). A new repository stays
// as far as it is what git itself makes.
//
// ctx bounds the time. It should not be one that an impatient user cancels, because unsearched
// things stay in the project. The error names the things that could not be moved; the result has
// the others.
func (w *Ward) After(ctx context.Context, unheld []string, to string) ([]Taken, error) {
	d, err := openDisk(w.o.Project)
	if err != nil {
		return nil, fault.Wrap(err, "look again for files that programs run by themselves in %s", w.o.Project)
	}
	defer d.Close()
	if !d.id.same(w.id) {
		return nil, fault.New(fault.Integrity, "%s was replaced during the run, so the files in it were not checked", w.o.Project).
			Advise("check it before you enter it, open it in an editor or use git in it")
	}
	walk := &walker{ctx: ctx, d: d, dirs: w.max * manyNew, entries: maxAfter, missed: &w.missed, after: true}
	if err := walk.again(w.tree); err != nil {
		return nil, err
	}
	defer w.closeRepos()
	if w.watch != nil {
		w.watch.end()
	}
	e := &ending{w: w, d: d, before: map[string]thing{}, inodes: map[uint64]thing{}, take: &taker{ctx: ctx, d: d, to: to}, patience: patience}
	for _, t := range w.before {
		e.before[t.path] = t
		e.inodes[t.ino] = t
	}
	e.unheld = w.relative(unheld)
	e.compare()
	slices.SortStableFunc(e.take.taken, func(a, b Taken) int { return strings.Compare(a.Path, b.Path) })
	return e.take.taken, errors.Join(e.take.failed...)
}

// An ending compares the things after a run with the things before it.
type ending struct {
	w      *Ward
	d      *disk
	before map[string]thing
	inodes map[uint64]thing // an inode alone is soon given to another file
	unheld []string
	there  map[string]bool // paths of the things after the run
	take   *taker

	patience time.Duration // with git commands at work
}

func (e *ending) compare() {
	c := &collector{d: e.d, write: e.w.write, missed: &e.w.missed, became: e.became}
	c.tree(e.w.tree)
	for _, t := range e.w.before { // submodules and targets of links are not reached from the tree
		c.all([]string{t.path}, t.kind)
	}
	c.all(e.w.links, gitDirectory)
	for _, a := range e.w.awaited {
		c.all([]string{a.path}, a.kind)
	}
	c.targets(slices.DeleteFunc(slices.Clone(c.things), func(t thing) bool { return !t.link() || !e.kept(t) }))
	e.there = c.paths
	// A new worktree comes first: its index excuses files in it.
	slices.SortStableFunc(c.things, func(a, b thing) int { return rank(a) - rank(b) })
	for _, t := range c.things {
		switch {
		case e.kept(t):
			if t.link() {
				continue
			}
			for _, p := range e.changed(t) {
				e.judge(p, "changed")
			}
		case e.w.excuses.Held && e.existed(t.path) && !slices.Contains(e.unheld, t.path): // replaced by another process
		case e.along(t):
			if e.untouched(t) {
				continue
			}
			if t.kind == gitDirectory && t.dir() {
				e.repository(t, "changed", true)
				continue
			}
			e.judge(t, "changed")
		default:
			e.judge(t, e.how(t))
		}
	}
}

func rank(t thing) int {
	if t.kind == gitDirectory {
		return 0
	}
	return 1
}

// kept reports whether a thing is the one from before the run.
func (e *ending) kept(t thing) bool {
	b, ok := e.before[t.path]
	return ok && b.same(t.info)
}

func (e *ending) how(t thing) string {
	switch {
	case e.inodes[t.ino].same(t.info):
		return "moved"
	case e.before[t.path].path != "":
		return "changed"
	}
	return "new"
}

// away moves one thing. Of the writable parts of a git directory it leaves the harmless ones.
func (e *ending) away(t thing, how string) {
	need := e.needOf(t)
	switch {
	case slices.Contains(folders, t.part) && t.dir():
		l, err := e.d.list(t.path, maxOpened, true)
		if err == nil && !l.more {
			for _, in := range l.entries {
				if !strings.HasSuffix(in.name, ".sample") {
					e.take.away(join(t.path, in.name), t.kind, how, "")
				}
			}
			return
		}
	case t.part == "config" && t.file():
		keep, all := harmlessConfig(e.d.small(t.path))
		if all && t.bytes <= maxGitFile {
			return
		}
		if e.take.away(t.path, t.kind, how, "") && keep != "" {
			e.take.put(t.path, keep)
		}
		return
	}
	e.take.away(t.path, t.kind, how, need)
}

// needOf returns the path in needs.write that would have allowed a thing; "" if none does.
func (e *ending) needOf(t thing) string {
	switch {
	case t.part != "":
		return ""
	case t.kind == python:
		if file := environmentOf(t.path, func(file string) bool { _, ok := e.there[file]; return ok }); file != "" {
			return file
		}
	}
	return t.path
}

// became handles an existing directory that the run turned into a git directory. It moves the
// names that make it one, and leaves the rest.
func (e *ending) became(n *node) bool {
	if slices.Contains(e.w.write, n.path) && n.path != "" {
		return false
	}
	was := n.was
	if n.fresh && n.path != "" {
		old := e.w.tree.find(n.ino)
		if old == nil {
			return false
		}
		was = old.was
	}
	if was.git() {
		return false
	}
	l, err := e.d.list(n.path, maxWide, true)
	if err != nil {
		return false
	}
	if l.more {
		l.entries = e.d.probe(n)
	}
	for _, in := range l.entries {
		if m := markOf(in.name); m != 0 && was&m == 0 {
			e.take.away(join(n.path, in.name), "part of a git directory", "new", n.path)
		}
	}
	return true
}

// find returns the directory that had an inode before the run.
func (n *node) find(ino uint64) *node {
	if n.ino == ino && !n.fresh {
		return n
	}
	for _, below := range [][]*node{n.kids, n.gone} {
		for _, k := range below {
			if f := k.find(ino); f != nil {
				return f
			}
		}
	}
	return nil
}

// changed returns the parts of an existing thing that the run wrote. If no mount held the thing,
// that is the whole thing. Otherwise these are the files with another name elsewhere, which a run
// could write past a mount.
func (e *ending) changed(t thing) []thing {
	if slices.Contains(e.unheld, t.path) {
		if t.kind == gitDirectory && t.dir() {
			return e.rewritten(t)
		}
		if e.same(t) {
			return nil
		}
		return []thing{t}
	}
	if t.kind == ryeItems {
		return nil // it is verified at every use
	}
	s := &search{d: e.d, since: e.w.began, most: maxOpened / 10, linked: true}
	if t.kind == gitDirectory && t.dir() {
		for _, p := range parts[:4] { // config, config.worktree, commondir, hooks
			if st, err := e.d.stat(join(t.path, p)); err == nil {
				s.thing(thing{info: st, path: join(t.path, p), kind: t.kind, part: p})
			}
		}
	} else {
		s.thing(t)
	}
	return s.hits
}

// rewritten returns the parts of an existing git directory that nothing held, and that differ from
// those before the run. The user's git works in the rest of it all the time.
func (e *ending) rewritten(t thing) (bad []thing) {
	differs := func(p, part string) {
		st, err := e.d.stat(p)
		if err != nil || e.w.seen != nil && e.w.seen.whole[t.path] && e.w.seen.same(e.d, p) {
			return
		}
		at := thing{info: st, path: p, kind: "part of a git directory", part: part}
		if e.w.seen == nil && e.untouched(at) || strings.HasSuffix(p, ".sample") && st.file() {
			return
		}
		if (part == "config" || part == "config.worktree") && st.file() && e.sameKeys(p) {
			return
		}
		bad = append(bad, at)
	}
	for _, part := range parts {
		at := join(t.path, part)
		if !slices.Contains(folders, part) {
			differs(at, part)
			continue
		}
		l, err := e.d.list(at, maxOpened, false)
		if err != nil || l.more {
			differs(at, part)
			continue
		}
		for _, in := range l.entries {
			differs(join(at, in.name), "")
		}
	}
	return bad
}

// sameKeys reports whether the settings of a config that are not harmless were there before.
func (e *ending) sameKeys(p string) bool {
	if e.w.seen == nil {
		return false
	}
	was, ok := parseConfig(e.w.seen.configs[p])
	is, ok2 := parseConfig(e.d.small(p))
	return ok && ok2 && !slices.ContainsFunc(is, func(s setting) bool { return !s.harmless() && !slices.Contains(was, s) })
}

// same reports whether a thing that nothing held is as it was before the run. Without a snapshot
// the times decide: another process replaced a mounted file, or there was too much to remember.
func (e *ending) same(t thing) bool {
	if e.w.seen != nil && e.w.seen.whole[t.path] {
		return e.w.seen.same(e.d, t.path)
	}
	s := &search{d: e.d, since: e.w.began, most: maxEntries}
	if s.thing(t); s.most <= 0 && len(s.hits) == 0 {
		e.w.missed.place(t.path, tooMany)
	}
	return len(s.hits) == 0
}

// tick is more than the time for which the kernel's clock stands still.
const tick = 20 * time.Millisecond

// A search finds the files that were written since a time. Only the kernel sets a ctime.
type search struct {
	d      *disk
	since  time.Time
	most   int  // names that may still be examined
	linked bool // only files with more than one name
	hits   []thing
}

func (s *search) thing(t thing) {
	if !s.linked || t.file() && t.links > 1 {
		if t.ctime >= s.since.Add(-tick).UnixNano() {
			s.hits = append(s.hits, t)
		}
	}
	if !t.dir() || !s.linked && len(s.hits) > 0 {
		return
	}
	l, err := s.d.list(t.path, s.most, false)
	if err != nil {
		return
	}
	for _, e := range l.entries {
		if s.most--; s.most <= 0 {
			return
		}
		in := thing{path: join(t.path, e.name), kind: t.kind, part: t.part}
		if s.linked && e.mode.Type() != 0 && !e.mode.IsDir() {
			continue
		}
		if in.info, err = s.d.stat(in.path); err == nil {
			s.thing(in)
		}
	}
}
