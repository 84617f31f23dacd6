package store

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// door is the way of files into the directory. os.Root stays inside it; plain checks for links
// before each operation.
type door struct{ root *os.Root }

func newDoor(top *os.File) (d door, err error) {
	d.root, err = os.OpenRoot(top.Name())
	return d, err
}

func (d door) close() error { return d.root.Close() }

func openTop(dir string) (*os.File, error) {
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(dir)
}

// owner returns nothing: Windows has no numbers for users.
func (f *files) owner() (uid int, ok bool) { return 0, false }

// plain returns name for os.Root. No component but the last may be a link; with whole, the
// last may be none either.
func (f *files) plain(op, name string, whole bool) (string, error) {
	if err := checkName(name); err != nil {
		return "", f.fail(op, name, err)
	}
	parts := strings.Split(name, "/")
	if !whole {
		parts = parts[:len(parts)-1]
	}
	for i := range parts {
		st, err := f.root.Lstat(filepath.Join(parts[:i+1]...))
		if err == nil && st.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return "", f.fail(op, strings.Join(parts[:i+1], "/"), errLink)
		}
	}
	return filepath.FromSlash(name), nil
}

// open opens a regular file for reading.
func (f *files) open(name string) (*os.File, error) { return f.openFile(name, os.O_RDONLY, 0) }

// openTo opens a regular file for reading and writing. flags may add the flags of os for
// creating and appending.
func (f *files) openTo(name string, flags int, perm fs.FileMode) (*os.File, error) {
	return f.openFile(name, os.O_RDWR|flags, perm)
}

func (f *files) openFile(name string, flags int, perm fs.FileMode) (*os.File, error) {
	p, err := f.plain("open", name, flags&os.O_EXCL == 0)
	if err != nil {
		return nil, err
	}
	file, err := f.root.OpenFile(p, flags, perm)
	if err != nil {
		return nil, err
	}
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		file.Close()
		return nil, f.irregular(name)
	}
	return file, nil
}

// read returns the bytes of a regular file of at most limit bytes. A larger file is an error.
func (f *files) read(name string, limit int64) ([]byte, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fault.New(fault.Limit, "read %s: larger than %d bytes", f.path(name), limit)
	}
	return raw, err
}

// openDir opens a directory to list or sync it.
func (f *files) openDir(name string) (*os.File, error) {
	p, err := f.plain("open", name, true)
	if err != nil {
		return nil, err
	}
	return f.root.Open(p)
}

// lstat returns the info of name, of a link itself if it is one.
func (f *files) lstat(name string) (info, error) {
	p, err := f.plain("stat", name, false)
	if err != nil {
		return info{}, err
	}
	st, err := f.root.Lstat(p)
	if err != nil {
		return info{}, err
	}
	return info{mode: st.Mode(), size: st.Size(), mtime: st.ModTime()}, nil
}

func (f *files) mkdir(name string) error {
	return f.one("mkdir", name, func(p string) error { return f.root.Mkdir(p, permDir) })
}

func (f *files) unlink(name string) error { return f.one("remove", name, f.root.Remove) }

// removeDir removes an empty directory, and never a file: git may have just put a ref in place
// of a directory.
func (f *files) removeDir(name string) error {
	if !f.isDir(name) {
		return f.fail("remove", name, fs.ErrNotExist)
	}
	return f.unlink(name)
}

// removeDirs removes those of the named directories in a directory that are empty.
func (f *files) removeDirs(in string, names []string) {
	for _, name := range names {
		f.removeDir(in + "/" + name)
	}
}

func (f *files) one(op, name string, use func(p string) error) error {
	p, err := f.plain(op, name, false)
	if err == nil {
		err = use(p)
	}
	return err
}

func (f *files) moveName(from, to string) error {
	return f.one("rename", from, func(a string) error {
		return f.one("rename", to, func(b string) error { return f.root.Rename(a, b) })
	})
}

func (f *files) addName(from, to string) error {
	return f.one("link", from, func(a string) error {
		return f.one("link", to, func(b string) error { return f.root.Link(a, b) })
	})
}

// setMode changes the permissions of a file.
func (f *files) setMode(name string, perm fs.FileMode) error {
	return f.one("chmod", name, func(p string) error { return f.root.Chmod(p, perm) })
}

// setTime sets the modification time of a file.
func (f *files) setTime(name string, t time.Time) error {
	return f.one("touch", name, func(p string) error { return f.root.Chtimes(p, t, t) })
}
