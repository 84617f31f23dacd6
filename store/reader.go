package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// DefaultLimit is the size limit, in bytes, for a caller that gives 0.
const DefaultLimit = 64 << 20

// Reader reads objects. Repo and Quarantine embed one, so both have its methods,
// and code that only reads takes a *Reader. It is safe for concurrent use.
type Reader struct {
	format  Format
	sources []source

	mu    sync.Mutex
	trees map[OID][]byte // verified bytes of recently read trees; never changed
	kept  int            // bytes in trees
	most  int            // bytes that trees may take; 0 is maxKeptTrees
}

// source is a place that has objects. load compares bytes and id. isMissing is true for the
// error of an absent object.
type source interface {
	load(id OID, limit int64) (Type, []byte, error)
	stat(id OID) (Type, int64, error)
	has(id OID) bool
}

func (r *Reader) init(f Format, sources ...source) { r.format, r.sources = f, sources }

// Format returns the hash function for the ids.
func (r *Reader) Format() Format { return r.format }

// Object returns the type and bytes of id. The bytes were hashed and compared with id, and
// belong to the caller. An object larger than limit bytes (0 means DefaultLimit) is refused
// with fault.Limit before it is inflated; a missing one with fault.NotFound (ErrNotExist);
// bytes that do not match with fault.Integrity.
func (r *Reader) Object(id OID, limit int64) (Type, []byte, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	for _, s := range r.sources {
		t, data, err := s.load(id, limit)
		if err == nil || !isMissing(err) {
			return t, data, err
		}
	}
	return 0, nil, notFound("object %s", id)
}

// Stat returns the type and size of id from its header, without checking its bytes.
func (r *Reader) Stat(id OID) (Type, int64, error) {
	for _, s := range r.sources {
		t, size, err := s.stat(id)
		if err == nil || !isMissing(err) {
			return t, size, err
		}
	}
	return 0, 0, notFound("object %s", id)
}

// Has reports whether id exists.
func (r *Reader) Has(id OID) bool {
	for _, s := range r.sources {
		if s.has(id) {
			return true
		}
	}
	return false
}

// typed is Object for an object that must be of type want.
func (r *Reader) typed(id OID, want Type, limit int64) ([]byte, error) {
	t, data, err := r.Object(id, limit)
	if err != nil {
		return nil, err
	}
	if t != want {
		return nil, fault.New(fault.Malformed, "object %s is a %s, want a %s", id, t, want)
	}
	return data, nil
}

// Blob is Object for an object that must be a blob.
func (r *Reader) Blob(id OID, limit int64) ([]byte, error) { return r.typed(id, TypeBlob, limit) }

// Commit reads and splits a commit. See ParseCommit for the accepted form.
func (r *Reader) Commit(id OID) (*Commit, error) {
	raw, err := r.typed(id, TypeCommit, MaxCommitSize)
	if err != nil {
		return nil, err
	}
	c, err := ParseCommit(raw)
	if err == nil && int(c.Tree.n) != r.format.size() {
		err = fault.New(fault.Malformed, "parse commit: ids of another object format")
	}
	if err != nil {
		return nil, fault.Wrap(err, "commit %s", id)
	}
	c.ID = id
	return c, nil
}

const (
	maxKeptTrees = 2 << 20  // bytes of trees that a Reader keeps
	keptTrees    = 64 << 20 // the same while it compacts, which needs each tree three times
)

// keepTrees changes the number of bytes of trees that r keeps. The result sets it back.
func (r *Reader) keepTrees(most int) (restore func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.most
	r.most = most
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.most = before; r.kept > r.mostTrees() {
			r.trees, r.kept = nil, 0
		}
	}
}

// mostTrees returns the bytes of trees that r may keep. The caller holds r.mu.
func (r *Reader) mostTrees() int { return cmp.Or(r.most, maxKeptTrees) }

// rawTree returns the verified bytes of a tree, which must not be changed.
func (r *Reader) rawTree(id OID) ([]byte, error) {
	r.mu.Lock()
	raw, ok := r.trees[id]
	r.mu.Unlock()
	if ok {
		return raw, nil
	}
	raw, err := r.typed(id, TypeTree, MaxTreeSize)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	most := r.mostTrees()
	if len(raw) > most/4 {
		return raw, nil
	}
	if r.trees == nil || r.kept+len(raw) > most {
		r.trees, r.kept = map[OID][]byte{}, 0
	}
	if _, ok := r.trees[id]; !ok {
		r.trees[id] = raw
		r.kept += len(raw)
	}
	return raw, nil
}

// Tree returns the entries of a tree, in git's order. See ParseTree for the accepted form.
func (r *Reader) Tree(id OID) ([]Entry, error) {
	raw, err := r.rawTree(id)
	if err != nil {
		return nil, err
	}
	entries, err := ParseTree(r.format, raw)
	if err != nil {
		return nil, fault.Wrap(err, "tree %s", id)
	}
	return entries, nil
}

// Lookup returns the entry at path ("a/b/c", no leading slash) below tree. "" is the tree
// itself. A missing path is fault.NotFound (ErrNotExist).
func (r *Reader) Lookup(tree OID, path string) (Entry, error) {
	e := Entry{Mode: ModeDir, ID: tree}
	for rest := path; rest != ""; {
		name, more, slash := strings.Cut(rest, "/")
		if name == "" || slash && more == "" {
			return Entry{}, fault.New(fault.Usage, "path %q: empty name", words.Brief(path))
		}
		if !e.IsDir() {
			return Entry{}, notFound("path %q", words.Brief(path))
		}
		raw, err := r.rawTree(e.ID)
		if err != nil {
			return Entry{}, treeOfRepo(e.ID, err)
		}
		next, ok, err := findEntry(r.format, raw, name)
		if err != nil {
			return Entry{}, fault.Wrap(err, "tree %s", e.ID)
		}
		if !ok {
			return Entry{}, notFound("path %q", words.Brief(path))
		}
		e, rest = next, more
	}
	return e, nil
}

// treeOfRepo distinguishes a path that is missing in a tree from a tree that is missing in the
// repository. The second is damage, or a partial repository.
func treeOfRepo(id OID, err error) error {
	if isMissing(err) {
		return fault.New(fault.Integrity, "tree %s is not in the repository", id)
	}
	return err
}

// SkipDir, returned by a visit function for a directory, skips that directory. SkipAll ends a
// walk without error. Both are the values from io/fs.
var (
	SkipDir = fs.SkipDir
	SkipAll = fs.SkipAll
)

// maxTreeDepth bounds walks through trees, which may be hostile.
const maxTreeDepth = 256

// Bounds of one walk. A few trees that hold each other many times can name more files than
// there are atoms: seven with thirty entries each make 22 billion.
const (
	MaxWalk      = 1 << 18  // entries, directories included
	maxWalkBytes = 64 << 20 // of paths
)

// Walk calls visit for every entry below tree in git's order, a directory before its contents.
// It reads a repeated subtree at each occurrence. It ends with fault.Limit beyond MaxWalk
// entries, 64 MiB of paths, or 256 nested directories: for trees from outside call
// CheckContent first.
func (r *Reader) Walk(ctx context.Context, tree OID, visit func(path string, e Entry) error) error {
	w := walk{r: r, ctx: ctx, visit: visit}
	return unlessSkipped(w.tree(tree, "", 0))
}

// pace counts the entries of a walk.
type pace struct{ entries, bytes int }

// step counts one more entry and returns an error beyond the bounds, or when ctx ends.
func (p *pace) step(ctx context.Context, path int) error {
	p.entries++
	p.bytes += path
	if p.entries > MaxWalk || p.bytes > maxWalkBytes {
		return fault.New(fault.Limit, "a tree names more than %d files and directories, or %d MiB of paths", MaxWalk, maxWalkBytes>>20)
	}
	if p.entries%256 == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// unlessSkipped returns the error of a walk, and nil for SkipAll.
func unlessSkipped(err error) error {
	if errors.Is(err, SkipAll) {
		return nil
	}
	return err
}

// walk is one Walk.
type walk struct {
	pace
	r     *Reader
	ctx   context.Context
	visit func(string, Entry) error
}

func (w *walk) tree(tree OID, prefix string, depth int) error {
	if depth == maxTreeDepth {
		return fault.New(fault.Limit, "tree deeper than %d directories", maxTreeDepth)
	}
	entries, err := w.r.Tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.step(w.ctx, len(prefix)+len(e.Name)); err != nil {
			return err
		}
		err := w.visit(prefix+e.Name, e)
		if e.IsDir() && errors.Is(err, SkipDir) {
			continue
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			if err := w.tree(e.ID, prefix+e.Name+"/", depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
