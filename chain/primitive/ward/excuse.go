package ward

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Excuses are facts about a run and its surroundings, by which After leaves new and changed things
// in place. The zero value excuses nothing.
type Excuses struct {
	// Held is set if every protected path, except those that After is given, was protected by its
	// name to the end. Another file there was then put there by another process.
	Held bool

	// Git is set if neither this run nor an overlapping one could write in a git directory of the
	// project. A file then may stay if its bytes are those of the user's index.
	Git bool

	// Closed reports whether neither this run nor an overlapping one could write in an absolute
	// directory outside of the project; nil is no.
	Closed func(dir string) bool

	// Own reports whether rye itself wrote a file with these bytes, or a link with this target, to a
	// path of the project, and would write it again; nil is no.
	Own func(rel string, link bool, read func() ([]byte, error)) bool

	// Others are the other runs of the same time.
	Others []Other
}

// An Other is a run that was in progress at the same time. What it may write can be its own.
type Other struct {
	Tool  string
	Write []string // as Options.Write
}

// Left is a thing that was not moved, because another run may write it.
type Left struct {
	Path string // relative to the project, with slashes
	Kind string
	By   string // the tool of the other run
}

// Excuse sets the excuses for After.
func (w *Ward) Excuse(x Excuses) {
	for i := range x.Others {
		x.Others[i].Write = w.relative(x.Others[i].Write)
	}
	w.excuses = x
}

// Left lists the things that After left to other runs.
func (w *Ward) Left() []Left { return w.left }

const (
	maxBytes  = 4 << 20 // of a file that is compared with an index or with rye's own writes
	maxJudged = 10_000  // names judged in one directory
)

// judge decides about a thing that is not the one from before the run, and moves the parts of it
// that nothing excuses.
func (e *ending) judge(t thing, how string) {
	switch {
	case t.part != "":
		e.away(t, how)
	case t.kind == gitDirectory && e.other(t):
	case t.kind == gitDirectory && t.dir():
		e.repository(t, how, false)
	case t.kind == gitDirectory && t.file() && e.linked(t):
	case t.kind != gitDirectory:
		e.content(t, how)
	default:
		e.away(t, how)
	}
}

// content judges the files of a thing one by one. A directory without an excused file goes as a whole.
func (e *ending) content(t thing, how string) {
	if r := e.repoOf(t.path); r != nil && e.closed(r.git) { // a git at work makes directories before files
		r.moves(e.take.ctx, &e.patience)
		if st, err := e.d.stat(t.path); err == nil {
			t.info = st
		}
	}
	budget := maxJudged
	bad, some := e.unexcused(t, &budget)
	if !some || budget < 0 {
		bad = []thing{t}
	}
	for _, b := range bad {
		e.away(b, how)
	}
}

// unexcused returns what has to go of a thing, and whether something of it may stay. A budget below
// zero means that it holds too much to judge.
func (e *ending) unexcused(t thing, budget *int) (bad []thing, some bool) {
	if *budget--; *budget < 0 {
		return nil, false
	}
	if !t.dir() {
		if e.excused(t) {
			return nil, true
		}
		return []thing{t}, false
	}
	l, err := e.d.list(t.path, *budget, false)
	if err != nil || l.more {
		*budget = -1
		return nil, false
	}
	for _, in := range l.entries {
		f := thing{path: join(t.path, in.name), kind: t.kind}
		if f.info, err = e.d.stat(f.path); err != nil {
			continue
		}
		below, stay := e.unexcused(f, budget)
		bad, some = append(bad, below...), some || stay
	}
	if !some {
		bad = []thing{t}
	}
	return bad, some
}

// excused reports whether a file may stay.
func (e *ending) excused(t thing) bool {
	return t.file() && e.w.replaced(e.d, t) || e.tracked(t) || e.own(t) || e.other(t)
}

// other reports whether another run may write a path, and notes that it was left.
func (e *ending) other(t thing) bool {
	for _, o := range e.w.excuses.Others {
		if slices.ContainsFunc(o.Write, func(w string) bool { return below(t.path, w) }) {
			e.w.left = append(e.w.left, Left{Path: t.path, Kind: t.kind, By: o.Tool})
			return true
		}
	}
	return false
}

// own reports whether rye itself wrote a file.
func (e *ending) own(t thing) bool {
	own := e.w.excuses.Own
	return own != nil && (t.link() || t.file() && t.links == 1) && own(t.path, t.link(), func() ([]byte, error) { return e.d.contentOf(t) })
}

// bytes reads a file that is not too long, and follows no link.
func (d *disk) bytes(t thing) ([]byte, error) {
	if t.info.bytes > maxBytes {
		return nil, io.ErrShortBuffer
	}
	f, err := d.open(t.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, t.info.bytes+1))
	if err == nil && int64(len(raw)) != t.info.bytes {
		err = io.ErrUnexpectedEOF
	}
	return raw, err
}

// along reports whether a thing was moved together with the directory that holds it. Its new place
// then decides, and there it means the same.
func (e *ending) along(t thing) bool {
	at, known := e.inodes[t.ino]
	if !known || !at.same(t.info) || e.before[t.path].path != "" {
		return false
	}
	dir, name := split(t.path)
	from, old := split(at.path)
	here, err := e.d.stat(dir)
	was := e.w.tree.find(here.ino)
	return err == nil && name == old && was != nil && was.path == from
}

// untouched reports whether nothing of a thing was written since the look before the run. Only the
// kernel sets a ctime.
func (e *ending) untouched(t thing) bool {
	s := &search{d: e.d, since: e.w.began, most: maxEntries}
	s.thing(t)
	return e.d.trusted && s.most > 0 && len(s.hits) == 0
}

// closed reports whether no run of the time could write in a directory.
func (e *ending) closed(dir string) bool {
	rel, err := filepath.Rel(e.d.root.Name(), dir)
	if err != nil || !filepath.IsLocal(rel) {
		return e.w.excuses.Closed != nil && e.w.excuses.Closed(dir)
	}
	rel = filepath.ToSlash(rel)
	if !e.w.excuses.Git || slices.ContainsFunc(e.w.write, func(w string) bool { return below(w, rel) || below(rel, w) }) {
		return false
	}
	for _, t := range e.w.before { // it is in a protected directory that is still there
		if below(rel, t.path) && t.dir() && !slices.Contains(e.unheld, t.path) && e.kept(t) {
			st, err := e.d.stat(t.path)
			return err == nil && t.same(st)
		}
	}
	return false
}

// WritesGit reports whether Options.Write names something of a git directory.
func (w *Ward) WritesGit() bool {
	return slices.ContainsFunc(w.before, func(t thing) bool { return t.part != "" }) ||
		slices.ContainsFunc(w.write, func(p string) bool {
			return slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool { return fold(name) == ".git" })
		})
}
