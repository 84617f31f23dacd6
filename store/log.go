package store

import (
	"context"
	"errors"
	"strings"

	"github.com/rye-os/rye/internal/fault"
)

// Log calls visit for from and its first parents, newest first, until a root, an
// error, or SkipAll.
func (r *Reader) Log(ctx context.Context, from OID, visit func(*Commit) error) error {
	for id := from; !id.IsZero(); {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		c, err := r.Commit(id)
		if err != nil {
			return err
		}
		switch err := visit(c); {
		case errors.Is(err, SkipAll):
			return nil
		case err != nil:
			return err
		}
		id = c.Parent()
	}
	return nil
}

// History calls visit for each commit on the first-parent line of from, newest
// first, in which the entry at path became what it then was: e is the entry after
// that commit, the zero Entry where the commit removed it. Only tree ids are
// compared, so commits that did not touch the path cost one read.
func (r *Reader) History(ctx context.Context, from OID, path string, visit func(c *Commit, e Entry) error) error {
	var next *Commit
	var after Entry
	err := r.Log(ctx, from, func(c *Commit) error {
		var e Entry
		var err error
		if next != nil && c.Tree == next.Tree {
			e = after
		} else if e, err = r.entryOrNone(c.Tree, path); err != nil {
			return err
		}
		if next != nil && e != after {
			if err := visit(next, after); err != nil {
				return err
			}
		}
		next, after = c, e
		if c.Parent().IsZero() && !e.ID.IsZero() {
			return visit(c, e)
		}
		return nil
	})
	if errors.Is(err, SkipAll) {
		return nil
	}
	return err
}

// entryOrNone is Lookup with the zero Entry for what is not there.
func (r *Reader) entryOrNone(tree OID, path string) (Entry, error) {
	e, err := r.Lookup(tree, strings.Trim(path, "/"))
	if isMissing(err) {
		return Entry{}, nil
	}
	return e, err
}

// Diff calls visit for every file that differs between trees a and b (zero: the
// empty tree), in git's order; old or new is the zero Entry where it is missing. Equal
// subtrees are not read. SkipAll ends it without error.
func (r *Reader) Diff(a, b OID, visit func(path string, old, new Entry) error) error {
	err := r.diffTrees(a, b, "", 0, visit)
	if errors.Is(err, SkipAll) {
		return nil
	}
	return err
}

func (r *Reader) diffTrees(a, b OID, prefix string, depth int, visit func(string, Entry, Entry) error) error {
	if a == b {
		return nil
	}
	if depth == maxTreeDepth {
		return fault.New(fault.Limit, "tree deeper than %d directories", maxTreeDepth)
	}
	olds, err := r.treeOrNone(a)
	if err != nil {
		return err
	}
	news, err := r.treeOrNone(b)
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
		if err := r.diffEntries(o, n, prefix, depth, visit); err != nil {
			return err
		}
	}
	return nil
}

// diffEntries compares two entries of one name; either may be the zero Entry. A
// file that became a directory, or the reverse, comes as two.
func (r *Reader) diffEntries(o, n Entry, prefix string, depth int, visit func(string, Entry, Entry) error) error {
	if o == n {
		return nil
	}
	name := prefix + o.Name
	if o.Name == "" {
		name = prefix + n.Name
	}
	if o.IsDir() || n.IsDir() {
		return r.diffTrees(o.ID, n.ID, name+"/", depth+1, visit)
	}
	return visit(name, o, n)
}

func (r *Reader) treeOrNone(id OID) ([]Entry, error) {
	if id.IsZero() {
		return nil, nil
	}
	return r.Tree(id)
}
