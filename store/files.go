package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// files is the one door to the files of a repository: whatever this package opens, makes,
// renames or removes there goes through it. Somebody else may have made the repository, in
// a shared directory or in an archive, so
//
//   - every name is resolved from the open directory of the repository, never from its path;
//   - no component of a name may be a link (fault.Malformed), not even one that stays inside;
//   - only regular files and directories are opened, and nothing is waited for: a pipe, a
//     socket or a device in the place of a file is refused.
//
// Names are slash paths below the repository; "." is the repository itself. Errors carry
// the whole path. It is safe for concurrent use.
type files struct {
	dir string // the path of the repository: for messages
	top *os.File
	door
}

// openFiles opens the directory of a repository. Links on the way to it are the choice of
// the one who named it.
func openFiles(dir string) (*files, error) {
	top, err := openTop(dir)
	if err != nil {
		return nil, err
	}
	f := &files{dir: dir, top: top}
	if f.door, err = newDoor(top); err != nil {
		top.Close()
		return nil, err
	}
	return f, nil
}

// close ends all use. What is under way fails.
func (f *files) close() error { return errors.Join(f.door.close(), f.top.Close()) }

// path is where name lies: for messages.
func (f *files) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// info is what files.lstat tells.
type info struct {
	mode  fs.FileMode
	size  int64
	mtime time.Time
}

func (i info) isDir() bool     { return i.mode.IsDir() }
func (i info) isRegular() bool { return i.mode.IsRegular() }

// checkName refuses a name that could leave the directory.
func checkName(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == ".." || part == "." && name != "." {
			return fs.ErrInvalid
		}
	}
	return nil
}

// errLink says that a component of a name is a link.
var errLink = errors.New("a link")

// fail makes the error of an operation.
func (f *files) fail(op, name string, err error) error {
	if !errors.Is(err, errLink) {
		return &fs.PathError{Op: op, Path: f.path(name), Err: err}
	}
	at := name
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if i, err := f.lstat(up); err == nil && i.mode&fs.ModeSymlink != 0 {
			at = up
		}
	}
	return fault.New(fault.Malformed, "%s %s: it is a link, and no link inside a repository is followed", op, f.path(at)).
		Advise("put what it leads to in its place, or clone the repository with git and use the clone")
}

// irregular refuses what is neither a file nor a directory where one of them belongs.
func (f *files) irregular(name string) error {
	return fault.New(fault.Malformed, "open %s: neither a regular file nor a directory as it should be", f.path(name)).
		Advise("clone the repository with git and use the clone")
}

// has reports whether there is something at name, and no link on the way.
func (f *files) has(name string) bool {
	_, err := f.lstat(name)
	return err == nil
}

// isAt reports whether an open file is still what name leads to.
func (f *files) isAt(open *os.File, name string) bool {
	now, err := f.open(name)
	if err != nil {
		return false
	}
	defer now.Close()
	a, err1 := open.Stat()
	b, err2 := now.Stat()
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// isDir reports whether name is a directory, and no link to one.
func (f *files) isDir(name string) bool {
	i, err := f.lstat(name)
	return err == nil && i.isDir()
}

// readDir lists a directory, sorted.
func (f *files) readDir(name string) ([]fs.DirEntry, error) {
	d, err := f.openDir(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// walk calls visit for everything below a directory but the directories, in no promised
// order. What is removed meanwhile is left out, and so is a missing directory.
func (f *files) walk(dir string, visit func(name string, d fs.DirEntry) error) error {
	list, err := f.readDir(dir)
	if isMissing(err) || isNotDir(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range list {
		name := path.Join(dir, d.Name())
		if d.IsDir() {
			err = f.walk(name, visit)
		} else {
			err = visit(name, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create makes a new file to write to and read from.
func (f *files) create(name string, perm fs.FileMode) (*os.File, error) {
	if err := step(); err != nil {
		return nil, err
	}
	return f.openTo(name, os.O_CREATE|os.O_EXCL, perm)
}

// rename gives a file another name, which it may take from another.
func (f *files) rename(from, to string) error {
	if err := step(); err != nil {
		return err
	}
	return f.moveName(from, to)
}

// link gives a file a further name, which nothing may have.
func (f *files) link(from, to string) error {
	if err := step(); err != nil {
		return err
	}
	return f.addName(from, to)
}

// remove removes a file, or a link itself. It needs no room.
func (f *files) remove(name string) error {
	step()
	if testOnlyRemove != nil {
		if err := testOnlyRemove(name); err != nil {
			return err
		}
	}
	return f.unlink(name)
}

// removeAll removes a directory with all that it holds, as far as it can. It follows no
// link: one is removed itself.
func (f *files) removeAll(dir string) error {
	list, err := f.readDir(dir)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range list {
		if name := path.Join(dir, d.Name()); d.IsDir() {
			f.removeAll(name)
		} else {
			f.unlink(name)
		}
	}
	return f.removeDir(dir)
}

// removeEmpty removes a directory if it holds nothing but empty directories.
func (f *files) removeEmpty(dir string) {
	list, err := f.readDir(dir)
	if err != nil {
		return
	}
	for _, d := range list {
		if d.IsDir() {
			f.removeEmpty(path.Join(dir, d.Name()))
		}
	}
	f.removeDir(dir)
}

// removeFile removes a file that may be gone, or be a directory of former refs.
func (f *files) removeFile(name string) error {
	if f.isDir(name) {
		return nil
	}
	if err := f.remove(name); err != nil && !isMissing(err) && !isNotDir(err) {
		return err
	}
	return nil
}

// writeTemp writes data to a new file. It does not sync it.
func (f *files) writeTemp(name string, data []byte, perm fs.FileMode) (*os.File, error) {
	file, err := f.create(name, perm)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(data); err != nil {
		file.Close()
		f.unlink(name)
		return nil, err
	}
	return file, nil
}

// mkdirs makes a directory and what is missing above it, and returns the directories
// whose entries changed and must be synced.
func (f *files) mkdirs(dir string) ([]string, error) {
	err := f.mkdir(dir)
	switch {
	case err == nil:
		return []string{path.Dir(dir)}, nil
	case errors.Is(err, fs.ErrExist):
		return nil, nil
	case !isMissing(err) || dir == ".":
		return nil, err
	}
	changed, err := f.mkdirs(path.Dir(dir))
	if err != nil {
		return nil, err
	}
	if err := f.mkdir(dir); err == nil {
		changed = append(changed, path.Dir(dir))
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return changed, nil
}
