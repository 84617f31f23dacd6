package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"sync"
)

// Files of git become read-only when they are complete, so that no editor changes them in
// place by mistake.
const (
	permObject fs.FileMode = 0o444
	permFile   fs.FileMode = 0o644
	permDir    fs.FileMode = 0o755
)

// testOnlyStep, set by a test, runs before each change to the disk that other processes can
// see. A kill can happen at each of these points. Its error becomes the error of the change,
// if the change can fail on a full disk.
var testOnlyStep func() error

func step() error {
	if testOnlyStep != nil {
		return testOnlyStep()
	}
	return nil
}

// testOnlySync, set by a test, runs before a file (or, with a nil file, a
// directory) is synced.
var testOnlySync func(f *os.File, dir string)

// testOnlyRemove, set by a test, runs before a file is removed. Its error becomes the error of
// the removal.
var testOnlyRemove func(name string) error

// testOnlyNoSync turns off waiting for the disk, to measure all other work.
var testOnlyNoSync bool

// waiting decides whether writes wait for the disk, so that they survive a loss of power. They
// do in a repository, and do not in a cache.
type waiting struct{ not bool }

func (w waiting) syncFile(f *os.File) error {
	if w.not || testOnlyNoSync {
		return nil
	}
	if testOnlySync != nil {
		testOnlySync(f, "")
	}
	return f.Sync()
}

// syncDir makes the entries of a directory durable, where the system can.
func (w waiting) syncDir(f *files, dir string) error {
	if w.not || testOnlyNoSync {
		return nil
	}
	if testOnlySync != nil {
		testOnlySync(nil, f.path(dir))
	}
	return f.fsyncDir(dir)
}

// randomName returns 16 random hexadecimal digits, which no other process will choose.
func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return hex.EncodeToString(b[:])
}

// syncClose syncs and closes f.
func (w waiting) syncClose(f *os.File) error {
	err := w.syncFile(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// writeDurable writes data to name by way of temp: the file is complete and synced before it
// gets its name. The caller syncs the directory.
func (w waiting) writeDurable(f *files, temp, name string, data []byte) error {
	file, err := f.writeTemp(temp, data, permFile)
	if err != nil {
		return err
	}
	if err = w.syncClose(file); err == nil {
		err = f.rename(temp, name)
	}
	if err != nil {
		f.unlink(temp)
	}
	return err
}

// syncFiles syncs several files at the same time.
func (w waiting) syncFiles(files []*os.File) error {
	return atOnce(len(files), func(i int) error { return w.syncFile(files[i]) })
}

// syncDirs makes the entries of several directories durable, all at the same time: journalling
// file systems then commit once for all. A missing directory is no error: git packed its
// contents, synced the pack, and removed the empty directory.
func (w waiting) syncDirs(f *files, dirs ...string) error {
	return atOnce(len(dirs), func(i int) error {
		err := w.syncDir(f, dirs[i])
		if isMissing(err) {
			return nil
		}
		return err
	})
}

// atOnce runs f(0) … f(n-1) and returns their errors. All run at the same time, because they
// wait for the disk.
func atOnce(n int, f func(int) error) error {
	if n == 1 {
		return f(0)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
