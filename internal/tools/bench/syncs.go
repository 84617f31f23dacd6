package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// commitBesideSyncs compares a commit with a program that only waits for the disk, as often
// as the commit, in the same steps and for as many bytes:
//
//   - the files of a blob, three trees, a commit and the ref, and the lock, at once;
//   - the directories of the five new objects, and the one above, at once;
//   - two logs with a new line, the directory of the ref, and the directory of its other
//     lock, at once.
//
// strace -f -e trace=fsync shows the same for a commit.
func commitBesideSyncs(b *bench, n int) (side, side, error) {
	dir, _, err := b.recorded(n)
	if err != nil {
		return nil, nil, err
	}
	s, err := newSyncs(filepath.Join(b.dir, fmt.Sprint("syncs", n)), n)
	return b.commit(dir, n), inside(s.run), err
}

// syncs is the peer: a directory with the layout of a repository.
type syncs struct {
	dir   string
	sizes []int // of the files that each run makes; the last is the ref
	i     int
}

var (
	objectDirs = []string{"objects/a", "objects/b", "objects/c", "objects/d", "objects/e"}
	logFiles   = []string{"log", "logHEAD"}
)

func newSyncs(dir string, n int) (*syncs, error) {
	const entry, line = 20, 41 // bytes of an id and of a ref
	s := &syncs{dir: dir, sizes: []int{
		30,                         // a blob
		len("40000 acme ") + entry, // the root tree
		max(1, n/100) * (len("40000 t000 ") + entry),     // the tree acme
		min(n, 100) * (len("100644 e00000.md ") + entry), // the tree of the item's folder
		250, // a commit
		line,
	}}
	for _, d := range append([]string{"tmp", "refs"}, objectDirs...) {
		if err := os.MkdirAll(s.path(d), 0o755); err != nil {
			return nil, err
		}
	}
	for _, f := range append([]string{"lock"}, logFiles...) {
		if err := syncedFile(s.path(f), os.O_CREATE, 170); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *syncs) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *syncs) run() error {
	s.i++
	temp := func(k int) string { return s.path(fmt.Sprintf("tmp/%d", k)) }
	lock := len(s.sizes)
	err := together(lock+1, func(k int) error {
		if k == lock {
			return syncedFile(s.path("lock"), 0, 170)
		}
		return syncedFile(temp(k), os.O_CREATE|os.O_EXCL, s.sizes[k])
	})
	for k := 0; k < len(objectDirs) && err == nil; k++ {
		err = os.Rename(temp(k), s.path(fmt.Sprintf("%s/%d", objectDirs[k], s.i)))
	}
	if err != nil {
		return err
	}
	dirs := append([]string{"objects"}, objectDirs...)
	if err := together(len(dirs), func(k int) error { return syncedDir(s.path(dirs[k])) }); err != nil {
		return err
	}
	if err := os.Rename(temp(lock-1), s.path(fmt.Sprintf("refs/%d", s.i))); err != nil {
		return err
	}
	return together(4, func(k int) error {
		if k < 2 {
			return syncedFile(s.path(logFiles[k]), os.O_APPEND, 140)
		}
		return syncedDir(s.path([]string{"refs", "."}[k-2]))
	})
}

// syncedFile writes size bytes to a file, at its beginning or with O_APPEND at its end,
// and syncs it.
func syncedFile(name string, flag, size int) error {
	f, err := os.OpenFile(name, os.O_WRONLY|flag, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, size))
	return errors.Join(err, f.Sync(), f.Close())
}

func syncedDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// together calls do for 0 to n-1 at the same time.
func together(n int, do func(int) error) error {
	var g errgroup.Group
	for i := range n {
		g.Go(func() error { return do(i) })
	}
	return g.Wait()
}
