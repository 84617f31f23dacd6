package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/store"
)

func compactRows() []row {
	return []row{
		{what: "compact 500 commits of one item", peer: "git gc", heavy: true, setup: compactHistory},
		{what: "compact 10,000 files in one folder, 100 commits", peer: "git gc", heavy: true, setup: compactFolder},
	}
}

func compactHistory(b *bench, _ int) (side, side, error) {
	return b.compact("history.git", func(r *store.Repo) error {
		for i := range 500 {
			n := i % 60
			if err := b.say(r, fmt.Sprintf("acme/t%d/e%03d.md", n%5, n), n, i/60); err != nil {
				return err
			}
		}
		return nil
	})
}

func compactFolder(b *bench, _ int) (side, side, error) {
	return b.compact("folder.git", func(r *store.Repo) error {
		all := make([]store.Change, 10000)
		for i := range all {
			all[i] = store.Change{Path: fmt.Sprintf("acme/e%05d.md", i), Data: said(i, 0)}
		}
		if _, err := r.Edit(b.ctx, branch, all, commitNow("items\n")); err != nil {
			return err
		}
		for i := range 100 {
			if err := b.say(r, fmt.Sprintf("acme/e%05d.md", i*97), i*97, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

// say commits one version of one item.
func (b *bench) say(r *store.Repo, path string, n, version int) error {
	_, err := r.Edit(b.ctx, branch, []store.Change{{Path: path, Data: said(n, version)}}, commitNow(fmt.Sprintf("sign %s\n", path)))
	return err
}

// said returns about 2 KB of text. Each version differs from the previous one in a line or two.
func said(n, version int) []byte {
	var t strings.Builder
	for j := range 30 {
		v := 0
		if j < 10 {
			v = (version + 9 - j) / 10
		}
		fmt.Fprintf(&t, "Fact %d of entry %d: the value %x follows from %x.\n", j, n, n*7919+j+v, (n+j+1)*(v+1)*104729)
	}
	fmt.Fprintf(&t, "Version %d.\n", version)
	return []byte(t.String())
}

// compact makes a repository. Each run compacts a fresh copy of it. The size of a compacted copy
// is printed once.
func (b *bench) compact(name string, fill func(*store.Repo) error) (side, side, error) {
	dir := filepath.Join(b.dir, name)
	r, err := store.Init(dir, branch)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(fill(r), r.Close()); err != nil {
		return nil, nil, err
	}
	mine, its := dir+".ours", dir+".git"
	ours := onCopy(dir, mine, inside(func() error {
		r, err := store.Open(mine)
		if err != nil {
			return err
		}
		_, err = r.Compact(b.ctx, store.CompactOptions{})
		return errors.Join(err, r.Close())
	}))
	if err := os.Mkdir(its, 0o755); err != nil {
		return nil, nil, err
	}
	theirs := onCopy(dir, its, b.process(its, "git", "-c", "repack.writeBitmaps=false", "gc", "--quiet"))
	_, err1 := ours()
	_, err2 := theirs()
	fmt.Printf("  %s: %d bytes, %d compacted, %d by git gc\n", name, objectBytes(dir), objectBytes(mine), objectBytes(its))
	return ours, theirs, errors.Join(err1, err2)
}

// onCopy gives a side a fresh copy of a directory. The copying is not measured.
func onCopy(from, to string, do side) side {
	return func() (cost, error) {
		if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))); err != nil {
			return cost{}, err
		}
		return do()
	}
}

// objectBytes sums up the files of a repository's objects.
func objectBytes(repo string) (n int64) {
	filepath.WalkDir(filepath.Join(repo, "objects"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if fi, err := e.Info(); err == nil {
				n += fi.Size()
			}
		}
		return nil
	})
	return n
}
