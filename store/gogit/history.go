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

// History answers questions about the history of a repository, each within its own limits.
type History struct{}

// questionLimits bound one question. Comparing two texts of so many different lines takes
// about ten seconds, and twice as many lines take four times as long.
var questionLimits = Limits{Object: 8 << 20, Lines: 1 << 15, Reads: DefaultLimits.Reads, Bytes: DefaultLimits.Bytes}

// Blame returns, for each line of the file at path in the commit at, the commit that
// introduced the line. It follows files that were renamed unchanged, and both sides of a
// merge. A missing commit object is fault.Integrity, a missing file fault.NotFound, and too
// much data fault.Limit.
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
// paths. old is zero for a commit without a parent. from or to is "" if the file is missing on
// that side; both differ after a rename. hunks compares the two files in the unified format,
// without file names; visit may call it only before it returns.
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

// renames are found as in git, but among fewer files: each new file is compared with each
// removed one. Identical files are found among any number.
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

// promptly runs f, which may compute for long, and stops waiting when ctx ends. After that
// go-git's reads fail, so f ends soon too.
func promptly[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil { // only this goroutine can recover it
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

// asFault gives an error of go-git a code. Errors of the store have one.
func asFault(err error, format string, args ...any) error {
	code := fault.CodeOf(err)
	switch {
	case errors.Is(err, object.ErrFileNotFound), errors.Is(err, object.ErrDirectoryNotFound), errors.Is(err, object.ErrEntryNotFound):
		code = fault.NotFound
	case errors.Is(err, plumbing.ErrObjectNotFound):
		code = fault.Integrity // an object that exists names it
	}
	return fault.New(code, "%s: %w", fmt.Sprintf(format, args...), err)
}
