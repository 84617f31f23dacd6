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

// files is the only access to the files of a repository: this package opens, creates, renames
// and removes all of them here. Another user may have made the repository, in a shared
// directory or in an archive, so
//
//   - every name is resolved from the open directory of the repository, never from its path;
//   - no component of a name may be a link (fault.Malformed), even one that stays inside;
//   - only regular files and directories are opened, and opening never blocks: a pipe, a
//     socket or a device in place of a file is refused.
//
// Names are slash paths below the repository; "." is the repository itself. Errors carry the
// whole path. It is safe for concurrent use.
type files struct {
	dir string // the path of the repository, for messages
	top *os.File
	door
}

// openFiles opens the directory of a repository. It follows links in the path dir itself: the
// user chose that path.
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

// close ends all use. Running operations fail.
func (f *files) close() error { return errors.Join(f.door.close(), f.top.Close()) }

// path returns the full path of name, for messages.
func (f *files) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// info is the result of files.lstat.
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

// errLink means that a component of a name is a link.
var errLink = errors.New("a link")

// fail returns the error of an operation.
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
	return fault.New(fault.Malformed, "%s %s: it is a link, and rye follows no link inside a repository", op, f.path(at)).
		Advise("replace it by its target, or clone the repository with git and use the clone")
}

// irregular returns the error for an entry of another kind, where a file or a directory
// belongs.
func (f *files) irregular(name string) error {
	return fault.New(fault.Malformed, "open %s: neither a regular file nor a directory", f.path(name)).
		Advise("clone the repository with git and use the clone")
}

// has reports whether name exists, without a link on the way.
func (f *files) has(name string) bool {
	_, err := f.lstat(name)
	return err == nil
}

// isAt reports whether name still leads to the open file.
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

// isDir reports whether name is a directory, and not a link to one.
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

// walk calls visit for every entry below a directory that is not a directory itself, in no
// promised order. It skips entries that are removed meanwhile. A missing directory is empty.
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

// create creates a new file for reading and writing.
func (f *files) create(name string, perm fs.FileMode) (*os.File, error) {
	if err := step(); err != nil {
		return nil, err
	}
	return f.openTo(name, os.O_CREATE|os.O_EXCL, perm)
}

// rename renames a file, and may replace another.
func (f *files) rename(from, to string) error {
	if err := step(); err != nil {
		return err
	}
	return f.moveName(from, to)
}

// link adds a name to a file. The name must be free.
func (f *files) link(from, to string) error {
	if err := step(); err != nil {
		return err
	}
	return f.addName(from, to)
}

// remove removes a file, or a link itself. It ignores the error of step, because a removal
// needs no space on the disk.
func (f *files) remove(name string) error {
	step()
	if testOnlyRemove != nil {
		if err := testOnlyRemove(name); err != nil {
			return err
		}
	}
	return f.unlink(name)
}

// removeAll removes a directory and its contents, as far as it can. It removes links and does
// not follow them.
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

// removeEmpty removes a directory if it holds only empty directories.
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

// removeFile removes a file. It is no error if the file is gone, or is a directory of former
// refs.
func (f *files) removeFile(name string) error {
	if f.isDir(name) {
		return nil
	}
	if err := f.remove(name); err != nil && !isMissing(err) && !isNotDir(err) {
		return err
	}
	return nil
}

// writeTemp writes data to a new file. It does not sync the file.
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

// mkdirs creates a directory and its missing parents. It returns the directories whose entries
// changed and must be synced.
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
