package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/rye-os/rye/store"
)

const branch = "refs/heads/main"

// recorded returns two equal repositories of n items, each in one pack: one for rye to
// write to and one for the peer.
func (b *bench) recorded(n int) (ours, theirs string, err error) {
	ours, theirs = filepath.Join(b.dir, fmt.Sprintf("o%d.git", n)), filepath.Join(b.dir, fmt.Sprintf("t%d.git", n))
	for _, dir := range []string{ours, theirs} {
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		r, err := store.Init(dir, branch)
		if err != nil {
			return "", "", err
		}
		changes := make([]store.Change, n)
		for i := range changes {
			changes[i] = store.Change{Path: entry(i) + ".md", Data: []byte(strings.Repeat(fmt.Sprintf("Entry %d says %x. ", i, i*7919), 40))}
		}
		_, err = r.Edit(b.ctx, branch, changes, commitNow("items\n"))
		if err := errors.Join(err, r.Close()); err != nil {
			return "", "", err
		}
	}
	return ours, theirs, nil
}

func commitNow(message string) store.CommitOptions {
	return store.CommitOptions{Message: message, Author: store.Ident{Name: "bench", Email: "bench@localhost"}, When: time.Now()}
}

// readInside opens a repository and reads an item by its path, like every short process.
func readInside(b *bench, n int) (side, side, error) {
	dir, other, err := b.recorded(n)
	name := entry(n/2) + ".md"
	ours := inside(func() error {
		r, err := store.Open(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		return readItem(r, name)
	})
	theirs := inside(func() error {
		r, err := git.PlainOpen(other)
		if err != nil {
			return err
		}
		c, err := tip(r)
		if err != nil {
			return err
		}
		f, err := c.File(name)
		if err == nil {
			_, err = f.Contents()
		}
		return err
	})
	return ours, theirs, err
}

func readItem(r *store.Repo, name string) error {
	id, err := r.Ref(branch)
	if err != nil {
		return err
	}
	c, err := r.Commit(id)
	if err != nil {
		return err
	}
	e, err := r.Lookup(c.Tree, name)
	if err == nil {
		_, err = r.Blob(e.ID, 0)
	}
	return err
}

func tip(r *git.Repository) (*object.Commit, error) {
	ref, err := r.Reference(branch, true)
	if err != nil {
		return nil, err
	}
	return r.CommitObject(ref.Hash())
}

// commitInside changes one item. rye's commit is on the disk when it returns; go-git
// syncs nothing.
func commitInside(b *bench, n int) (side, side, error) {
	dir, other, err := b.recorded(n)
	if err != nil {
		return nil, nil, err
	}
	i := 0
	theirs := inside(func() error {
		i++
		return gogitCommit(other, entry(n/2)+".md", fmt.Sprintf("text %d", i))
	})
	return b.commit(dir, n), theirs, nil
}

func (b *bench) commit(dir string, n int) side {
	i := 0
	return inside(func() error {
		r, err := store.Open(dir)
		if err != nil {
			return err
		}
		i++
		_, err = r.Edit(b.ctx, branch, []store.Change{{Path: entry(n/2) + ".md", Data: fmt.Appendf(nil, "text %d", i)}}, commitNow("edit\n"))
		return errors.Join(err, r.Close())
	})
}

// gogitCommit writes a blob, the trees above it, a commit and the ref.
func gogitCommit(dir, name, text string) error {
	r, err := git.PlainOpen(dir)
	if err != nil {
		return err
	}
	c, err := tip(r)
	if err != nil {
		return err
	}
	blob := r.Storer.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	w, err := blob.Writer()
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(text))
	id, perr := r.Storer.SetEncodedObject(blob)
	if err := errors.Join(err, w.Close(), perr); err != nil {
		return err
	}
	tree, err := c.Tree()
	if err != nil {
		return err
	}
	if id, err = gogitReplace(r, tree, name, id); err != nil {
		return err
	}
	me := object.Signature{Name: "bench", Email: "bench@localhost", When: time.Now()}
	if id, err = gogitPut(r, &object.Commit{Author: me, Committer: me, Message: "edit\n", TreeHash: id, ParentHashes: []plumbing.Hash{c.Hash}}); err != nil {
		return err
	}
	return r.Storer.CheckAndSetReference(plumbing.NewHashReference(branch, id), plumbing.NewHashReference(branch, c.Hash))
}

// gogitReplace puts a blob at a path below tree and returns the new tree.
func gogitReplace(r *git.Repository, tree *object.Tree, name string, blob plumbing.Hash) (plumbing.Hash, error) {
	first, rest, deeper := strings.Cut(name, "/")
	for i := range tree.Entries {
		e := &tree.Entries[i]
		if e.Name != first {
			continue
		}
		if !deeper {
			e.Hash = blob
			return gogitPut(r, tree)
		}
		sub, err := r.TreeObject(e.Hash)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if e.Hash, err = gogitReplace(r, sub, rest, blob); err != nil {
			return plumbing.ZeroHash, err
		}
		return gogitPut(r, tree)
	}
	return plumbing.ZeroHash, fmt.Errorf("%s: not in the tree", name)
}

func gogitPut(r *git.Repository, o interface {
	Encode(plumbing.EncodedObject) error
}) (plumbing.Hash, error) {
	raw := r.Storer.NewEncodedObject()
	if err := o.Encode(raw); err != nil {
		return plumbing.ZeroHash, err
	}
	return r.Storer.SetEncodedObject(raw)
}
