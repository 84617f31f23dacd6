// Package gogit shows a repository of package store to go-git, for the things that rye
// needs seldom: blame, patches, merge bases, archives, worktrees in memory.
//
// What go-git reads goes through the store: an object read by id is hashed and compared
// with it, is of a bounded size, and a tree is one that git would write. Refs are moved by
// store.Repo.Swap only, with git's lock file; the second writer gets
// storage.ErrReferenceHasChanged. A pack that go-git fetches passes the store's
// quarantine. Index, shallow commits, config and modules live in memory and end with the
// Storage: the repository keeps none of them. So the config on disk does not count, nor do
// the remotes in it.
//
// What go-git may not do: make a symbolic ref, move HEAD, name objects elsewhere (alternates),
// delete objects, or read a repository of SHA-256. References does not list HEAD.
//
// # Reasons
//
// go-git's own storage must not touch a record: it truncates refs in place, returns the
// bytes of one object under the id of another, and walks trees without bound. The suite
// that go-git has for storages runs on this one. The ids that its refs lead to are
// invented, so a wrapper in the test has a real commit for each, and no switch turns a
// check off.
//
// Hunks are equal to git's where that is cheap. Where a line is repeated, a change can be
// written in several ways, and go-git picks the first where git picks the last: of 800
// changes of this repository 672 were equal. So Patch asks for the shortest difference and
// moves each run of changed lines down as far as it stays the same: 775 are equal, and the
// rest is git's rule about indentation. Blame is go-git's as it is.
//
// rye has no command for merge bases: a space and a namespace's log are one line of
// commits, and a thread's first commit names its parent.
package gogit

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/storage"
	inmemory "github.com/go-git/go-git/v5/storage/memory"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// Limits bounds the reads through one Storage. Zero fields mean the values in DefaultLimits.
type Limits struct {
	Object int64 // bytes of one object
	Lines  int64 // of one blob
	Reads  int64 // objects, counted at each read
	Bytes  int64 // of all reads together
}

// DefaultLimits fits one question about a large repository, such as a blame. Seven trees can
// name more files than there are atoms, and go-git would visit all of them.
var DefaultLimits = Limits{Object: store.DefaultLimit, Lines: 1 << 20, Reads: 1 << 20, Bytes: 1 << 30}

// Open returns r as a repository of go-git without a worktree. It may live as long as r, so
// only DefaultLimits.Object bounds it: for content from outside use Within. As with go-git's
// own storages, many goroutines may read at the same time.
func Open(r *store.Repo) (*git.Repository, error) {
	s, err := NewStorage(context.Background(), r, Limits{Lines: forEver, Reads: forEver, Bytes: forEver})
	if err != nil {
		return nil, err
	}
	return git.Open(s, nil)
}

// Within is Open for one piece of work. It ends with ctx, and with fault.Limit beyond the
// limits.
func Within(ctx context.Context, r *store.Repo, l Limits) (*git.Repository, error) {
	s, err := NewStorage(ctx, r, l)
	if err != nil {
		return nil, err
	}
	return git.Open(s, nil)
}

const forEver = 1<<63 - 1

// Storage is a store.Repo as a storage.Storer. That interface takes no contexts, so Storage
// holds one. It is safe for concurrent use.
type Storage struct {
	memory
	ctx    context.Context
	repo   *store.Repo
	limits Limits
	reads  atomic.Int64
	bytes  atomic.Int64
	held   held
}

var _ storage.Storer = (*Storage)(nil)

// NewStorage returns the storage for git.Open, or for git.Clone into r. All of its work ends
// with ctx.
func NewStorage(ctx context.Context, r *store.Repo, l Limits) (*Storage, error) {
	if r.Format() != store.SHA1 {
		return nil, fault.New(fault.Malformed, "open %s with go-git: its object format is %s, and go-git reads only sha1", r.Dir(), r.Format())
	}
	l.Object = cmp.Or(l.Object, DefaultLimits.Object)
	l.Lines = cmp.Or(l.Lines, DefaultLimits.Lines)
	l.Reads = cmp.Or(l.Reads, DefaultLimits.Reads)
	l.Bytes = cmp.Or(l.Bytes, DefaultLimits.Bytes)
	return &Storage{memory: memory{modules: inmemory.ModuleStorage{}}, ctx: ctx, repo: r, limits: l}, nil
}
