package store

import (
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
// read. SkipAll ends it without an error. Its bounds are the bounds of Walk.
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
	olds, err := w.r.treeOrNone(a)
	if err != nil {
		return err
	}
	news, err := w.r.treeOrNone(b)
	if err != nil {
		return err
	}
	for len(olds) > 0 || len(news) > 0 {
		var o, n Entry
		switch {
		case len(news) == 0 || len(olds) > 0 && less(olds[0], news[0]):
			o, olds = olds[0], olds[1:]
		case len(olds) == 0 || less(news[0], olds[0]):
			n, news = news[0], news[1:]
		default: // one name, both directories or both not
			o, olds, n, news = olds[0], olds[1:], news[0], news[1:]
		}
		if err := w.compare(o, n, prefix, depth); err != nil {
			return err
		}
	}
	return nil
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

func (r *Reader) treeOrNone(id OID) ([]Entry, error) {
	if id.IsZero() {
		return nil, nil
	}
	return r.Tree(id)
}
