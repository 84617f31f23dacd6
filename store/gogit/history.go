package gogit

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// History answers questions about what was, each within limits of its own.
type History struct{}

// questionLimits bound one question. Two texts of so many lines, all different, take some ten
// seconds to compare, and four times that for twice as many.
var questionLimits = Limits{Object: 8 << 20, Lines: 1 << 15, Reads: DefaultLimits.Reads, Bytes: DefaultLimits.Bytes}

// Blame returns, for each line of the file at path in the commit at, the commit that the line
// came with. Files that were renamed whole are followed, and both sides of a merge. What is not
// there is fault.NotFound, too much of it fault.Limit.
func (History) Blame(ctx context.Context, r *store.Repo, at store.OID, path string) ([]store.OID, error) {
	repo, err := Within(ctx, r, questionLimits)
	if err != nil {
		return nil, err
	}
	return promptly(ctx, func() ([]store.OID, error) {
		c, err := repo.CommitObject(hashOf(at))
		if err != nil {
			return nil, asFault(err, "commit %s", at)
		}
		res, err := git.Blame(c, path)
		if err != nil {
			return nil, asFault(err, "blame %s in commit %s", path, at)
		}
		ids := make([]store.OID, len(res.Lines))
		for i, l := range res.Lines {
			ids[i] = oidOf(l.Hash)
		}
		return ids, nil
	})
}

// Patches calls visit for each file that differs between two commits, in the order of their
// paths; old is zero for a commit that has none before it. from or to is "" where there is no
// file; they differ where one was renamed. hunks compares the two in the unified format,
// without the names of files; it has to be called before visit returns, or not at all.
func (History) Patches(ctx context.Context, r *store.Repo, old, now store.OID, visit func(from, to string, hunks func() ([]string, error)) error) error {
	repo, err := Within(ctx, r, questionLimits)
	if err != nil {
		return err
	}
	changes, err := promptly(ctx, func() (object.Changes, error) {
		a, err := treeOf(repo, old)
		if err != nil {
			return nil, err
		}
		b, err := treeOf(repo, now)
		if err != nil {
			return nil, err
		}
		return object.DiffTreeWithOptions(ctx, a, b, &renames)
	})
	if err != nil {
		return asFault(err, "compare commits %s and %s", old, now)
	}
	for _, c := range changes {
		err := visit(c.From.Name, c.To.Name, func() ([]string, error) {
			return promptly(ctx, func() ([]string, error) { return hunksOf(c) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// renames are found as git finds them, but among fewer files: each of the new ones is compared
// with each of those that went. Files of the same bytes are found among any number.
var renames = object.DiffTreeOptions{DetectRenames: true, RenameScore: 50, RenameLimit: 100}

// treeOf returns the tree of a commit; nil for the zero id.
func treeOf(repo *git.Repository, id store.OID) (*object.Tree, error) {
	if id.IsZero() {
		return nil, nil
	}
	c, err := repo.CommitObject(hashOf(id))
	if err != nil {
		return nil, err
	}
	return c.Tree()
}

// promptly runs f, which may compute for long, and does not wait for it when ctx has ended.
// What go-git reads after that is refused, so it ends soon as well.
func promptly[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil { // nobody else could: it is another goroutine
				a.err = fault.New(fault.Failed, "go-git: %v", r)
			}
			done <- a
		}()
		a.v, a.err = f()
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// asFault gives an error of go-git its code; the store's have theirs.
func asFault(err error, format string, args ...any) error {
	code := fault.CodeOf(err)
	switch {
	case errors.Is(err, object.ErrFileNotFound), errors.Is(err, object.ErrDirectoryNotFound), errors.Is(err, object.ErrEntryNotFound):
		code = fault.NotFound
	case errors.Is(err, plumbing.ErrObjectNotFound):
		code = fault.Integrity // something that is here names it
	}
	return fault.New(code, "%s: %w", fmt.Sprintf(format, args...), err)
}
