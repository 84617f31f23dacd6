package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Log calls visit for from and its first parents, newest first, until a root, an error, or
// SkipAll.
func (r *Reader) Log(ctx context.Context, from OID, visit func(*Commit) error) error {
	for id := from; !id.IsZero(); {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		c, err := r.Commit(id)
		if err != nil {
			return err
		}
		if err := visit(c); err != nil {
			return unlessSkipped(err)
		}
		id = c.Parent()
	}
	return nil
}

// History calls visit for each commit on the first-parent line of from, newest first, that
// changed the entry at path. e is the entry after that commit, the zero Entry if the commit
// removed it. It compares only tree ids, so a commit that did not touch the path costs one
// read.
func (r *Reader) History(ctx context.Context, from OID, path string, visit func(c *Commit, e Entry) error) error {
	of := func(c *Commit) (Entry, error) { return r.entryOrNone(c.Tree, path) }
	same := func(a, b Entry) bool { return a == b }
	return r.Log(ctx, from, changes(of, same, visit))
}

// Histories is History for the files of the folder dir whose names which accepts. held are
// those files after the commit, in git's order; visit must not change it. which must not keep
// the name.
func (r *Reader) Histories(ctx context.Context, from OID, dir string, which func(name []byte) bool, visit func(c *Commit, held []Entry) error) error {
	var folder OID // the folder that held was read from
	var held []Entry
	known := false
	of := func(c *Commit) ([]Entry, error) {
		e, err := r.entryOrNone(c.Tree, dir)
		if err != nil {
			return nil, err
		}
		if !e.IsDir() {
			e.ID = OID{}
		}
		if !known || e.ID != folder {
			folder, known = e.ID, true
			held, err = r.FilesIn(folder, which)
		}
		return held, err
	}
	return r.Log(ctx, from, changes(of, slices.Equal, visit))
}

// changes returns a function for Log. It calls visit for the commits where of returns another
// value than for the parent, and for a root where of returns a value.
func changes[T any](of func(*Commit) (T, error), same func(a, b T) bool, visit func(*Commit, T) error) func(*Commit) error {
	var next *Commit
	var after, nothing T
	return func(c *Commit) (err error) {
		now := after
		if next == nil || c.Tree != next.Tree {
			if now, err = of(c); err != nil {
				return err
			}
		}
		if next != nil && !same(now, after) {
			if err := visit(next, after); err != nil {
				return err
			}
		}
		next, after = c, now
		if c.Parent().IsZero() && !same(now, nothing) {
			return visit(c, now)
		}
		return nil
	}
}

// FilesIn returns the files directly in a tree (zero: the empty tree) whose names which
// accepts, in git's order. It allocates no other entries. which must not keep the name.
func (r *Reader) FilesIn(tree OID, which func(name []byte) bool) (all []Entry, err error) {
	if tree.IsZero() {
		return nil, nil
	}
	raw, err := r.rawTree(tree)
	if err != nil {
		return nil, treeOfRepo(tree, err)
	}
	for len(raw) > 0 {
		mode, name, id, rest, ok := splitEntry(r.format, raw)
		if !ok {
			return nil, fault.New(fault.Malformed, "tree %s: parse tree: entry cut off, or without mode or name", tree)
		}
		if mode != ModeDir && which(name) {
			all = append(all, Entry{Name: string(name), Mode: mode, ID: oidOf(id)})
		}
		raw = rest
	}
	return all, nil
}

// entryOrNone is Lookup, with the zero Entry for a missing path.
func (r *Reader) entryOrNone(tree OID, path string) (Entry, error) {
	e, err := r.Lookup(tree, strings.Trim(path, "/"))
	if isMissing(err) {
		return Entry{}, nil
	}
	return e, err
}

// Diff calls visit for every file that differs between trees a and b (zero: the empty tree),
// in git's order. old or new is the zero Entry for a missing file. Equal subtrees are not
// read, and equal entries not checked. SkipAll ends it without an error. Its bounds are the
// bounds of Walk.
func (r *Reader) Diff(ctx context.Context, a, b OID, visit func(path string, old, new Entry) error) error {
	w := diffWalk{r: r, ctx: ctx, visit: visit}
	return unlessSkipped(w.trees(a, b, "", 0))
}

// diffWalk is one Diff.
type diffWalk struct {
	pace
	r     *Reader
	ctx   context.Context
	visit func(string, Entry, Entry) error
}

func (w *diffWalk) trees(a, b OID, prefix string, depth int) error {
	if a == b {
		return nil
	}
	if depth == maxTreeDepth {
		return fault.New(fault.Limit, "tree deeper than %d directories", maxTreeDepth)
	}
	olds, err := w.open(a)
	if err != nil {
		return err
	}
	news, err := w.open(b)
	if err != nil {
		return err
	}
	for olds.more() || news.more() {
		// Most entries are the same: their bytes are compared, and only other ones become entries.
		if olds.more() && bytes.Equal(olds.raw, news.raw) {
			err = w.step(w.ctx, len(prefix)+olds.name)
			err = cmp.Or(err, olds.next(), news.next())
		} else {
			err = w.unequal(olds, news, prefix, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unequal compares the next entries of two trees, of which one may be at its end.
func (w *diffWalk) unequal(olds, news *entries, prefix string, depth int) error {
	o, err := olds.entry()
	if err != nil {
		return err
	}
	n, err := news.entry()
	if err != nil {
		return err
	}
	switch {
	case !news.more() || olds.more() && less(o, n):
		n, err = Entry{}, olds.next()
	case !olds.more() || less(n, o):
		o, err = Entry{}, news.next()
	default: // one name, both directories or both not
		err = cmp.Or(olds.next(), news.next())
	}
	if err != nil {
		return err
	}
	return w.compare(o, n, prefix, depth)
}

// entries are the entries of a tree, one after the other.
type entries struct {
	of   OID
	f    Format
	raw  []byte // of the next entry; empty at the end
	name int    // bytes of its name
	rest []byte // after it
	is   Entry  // the next entry, once it is parsed
}

func (w *diffWalk) open(id OID) (*entries, error) {
	e := &entries{of: id, f: w.r.format}
	if id.IsZero() {
		return e, nil
	}
	var err error
	if e.rest, err = w.r.rawTree(id); err != nil {
		return nil, err
	}
	return e, e.next()
}

func (e *entries) more() bool { return len(e.raw) > 0 }

// next goes on to the next entry.
func (e *entries) next() error {
	if e.raw, e.is = nil, (Entry{}); len(e.rest) == 0 {
		return nil
	}
	_, name, _, rest, ok := splitEntry(e.f, e.rest)
	if !ok {
		return fault.New(fault.Malformed, "tree %s: parse tree: entry cut off, or without mode or name", e.of)
	}
	e.raw, e.name, e.rest = e.rest[:len(e.rest)-len(rest)], len(name), rest
	return nil
}

// entry parses the next entry; at the end it is the zero Entry.
func (e *entries) entry() (Entry, error) {
	if !e.more() || e.is.Name != "" {
		return e.is, nil
	}
	is, _, err := nextEntry(e.f, e.raw, string(e.raw))
	if err != nil {
		return Entry{}, fault.Wrap(err, "tree %s", e.of)
	}
	e.is = is
	return is, nil
}

// compare compares two entries of one name; either may be the zero Entry. A file that became a
// directory, or the reverse, arrives in two calls.
func (w *diffWalk) compare(o, n Entry, prefix string, depth int) error {
	name := o.Name
	if name == "" {
		name = n.Name
	}
	if err := w.step(w.ctx, len(prefix)+len(name)); err != nil || o == n {
		return err
	}
	name = prefix + name
	if o.IsDir() || n.IsDir() {
		return w.trees(o.ID, n.ID, name+"/", depth+1)
	}
	return w.visit(name, o, n)
}
