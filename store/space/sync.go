package space

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"syscall"

	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/store"
)

// Wait is how much of a working file must be on the disk when Write returns.
type Wait uint8

const (
	WaitNone Wait = iota // nothing: the same bytes are recorded right after, and Restore brings them back
	WaitFile             // the bytes; SyncNames waits for the names of several files together
	WaitAll              // the bytes and the name
)

// manyFiles is the largest number of files in one commit that are synced one by one. With
// more, the commit alone makes the bytes durable, and Restore brings them back.
const manyFiles = 64

// WaitFor returns the Wait for each of n files that are recorded right after.
func WaitFor(n int) Wait {
	if n > manyFiles {
		return WaitNone
	}
	return WaitFile
}

// testOnlySynced, set by a test, is called for each file and folder that was synced.
var testOnlySynced func(p string)

// SyncNames makes the names of changed files durable, whether the files were written or
// removed.
func (l *Layer) SyncNames(changes ...store.Change) error {
	if err := l.load(); err != nil || l.root == nil {
		return err
	}
	seen := map[string]bool{}
	var dirs []string
	for _, c := range changes {
		if dir := path.Dir(c.Path); !seen[dir] {
			seen[dir], dirs = true, append(dirs, dir)
		}
	}
	return parallel.Each(context.Background(), len(dirs), func(i int) error { return syncFolder(l.root, dirs[i]) })
}

// syncFolder waits until the names in a folder are on the disk. For a missing folder, it syncs
// the folder above.
func syncFolder(root *os.Root, dir string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot sync a folder
	}
	f, err := openFolder(root, dir)
	if err != nil && nothingThere(err) && dir != "." {
		return syncFolder(root, path.Dir(dir))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return synced(f, dir)
}

// synced waits until a file or a folder is on the disk. Some file systems cannot sync a folder
// and return EINVAL, which is ignored.
func synced(f *os.File, p string) error {
	err := f.Sync()
	if err == nil && testOnlySynced != nil {
		testOnlySynced(p)
	}
	if errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// makeFolders creates a folder and its missing parents, and makes their names durable.
func makeFolders(root *os.Root, dir string) error {
	if _, err := root.Lstat(dir); err == nil || dir == "." {
		return nil
	}
	if err := makeFolders(root, path.Dir(dir)); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return syncFolder(root, path.Dir(dir))
}
