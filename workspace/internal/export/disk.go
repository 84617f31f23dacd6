package export

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// maxFile bounds a file of a client that rye reads in order to compare it.
const maxFile = objects.MaxBundleFile

// disk is a directory below which copies lie: of the project, or one of the user's.
type disk struct{ dir string }

// open opens a directory below, name by name, and follows no link. With make it creates missing
// ones. A missing directory is fs.ErrNotExist, a link on the way fault.Malformed. The caller closes
// the result.
func (d disk) open(rel string, mkdir bool) (*os.Root, error) {
	at, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	if rel == "." || rel == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := step(at, name, mkdir)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// step opens one directory in another. What it opens is what it looked at: a link that replaced
// the directory meanwhile is found out.
func step(at *os.Root, name string, mkdir bool) (*os.Root, error) {
	if mkdir {
		if err := at.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	st, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	linked := func() error {
		return fault.New(fault.Malformed, "%s is a link or no directory, and rye writes through no link", path.Join(at.Name(), name)).
			Advise("put a directory in its place")
	}
	if !st.IsDir() {
		return nil, linked()
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if is, err := next.Stat("."); err != nil || !os.SameFile(st, is) {
		next.Close()
		return nil, linked()
	}
	return next, nil
}

// found is what lies at a path.
type found struct {
	data []byte
	exec bool
	link string // the target of a symbolic link
	none bool   // nothing is there
}

// read returns what lies at a slash path. It follows no link; a directory or a device is
// fault.Malformed.
func (d disk) read(rel string) (found, error) {
	dir, err := d.open(path.Dir(rel), false)
	if errors.Is(err, fs.ErrNotExist) {
		return found{none: true}, nil
	}
	if err != nil {
		return found{}, err
	}
	defer dir.Close()
	name := path.Base(rel)
	st, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found{none: true}, nil
	case err != nil:
		return found{}, err
	case st.Mode()&fs.ModeSymlink != 0:
		to, err := dir.Readlink(name)
		return found{link: to}, err
	}
	data, err := place.ReadIn(dir, name, maxFile)
	return found{data: data, exec: st.Mode()&0o100 != 0}, err
}

// write puts a file at a slash path: whole, or not at all.
func (d disk) write(rel string, data []byte, exec bool) error {
	dir, err := d.open(path.Dir(rel), true)
	if err != nil {
		return err
	}
	defer dir.Close()
	mode := fs.FileMode(0o644)
	if exec {
		mode = 0o755
	}
	tmp := ".rye-tmp-" + rand.Text()
	f, err := dir.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data) // without a wait for the disk: rye export writes lost copies again
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = dir.Rename(tmp, path.Base(rel))
	}
	if err != nil {
		dir.Remove(tmp)
	}
	return err
}

// link makes a symbolic link at a slash path. It replaces nothing but a link.
func (d disk) link(rel, target string) error {
	dir, err := d.open(path.Dir(rel), true)
	if err != nil {
		return err
	}
	defer dir.Close()
	tmp := ".rye-tmp-" + rand.Text()
	if err := dir.Symlink(target, tmp); err != nil {
		return err
	}
	if err := dir.Rename(tmp, path.Base(rel)); err != nil {
		dir.Remove(tmp)
		return err
	}
	return nil
}

// remove deletes a file or a link, and the directories above it that are empty then, up to keep.
func (d disk) remove(rel, keep string) error {
	dir, err := d.open(path.Dir(rel), false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	err = dir.Remove(path.Base(rel))
	dir.Close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for up := path.Dir(rel); up != keep && up != "."; up = path.Dir(up) {
		dir, err := d.open(path.Dir(up), false)
		if err != nil {
			break
		}
		err = dir.Remove(path.Base(up)) // fails, as intended, unless it is empty
		dir.Close()
		if err != nil {
			break
		}
	}
	return nil
}

// maxListed bounds the names that rye reads in the directory of one copy.
const maxListed = 4 * objects.MaxBundleFiles

// files lists the files and links below a directory, as slash paths below it, sorted. A missing
// directory has none.
func (d disk) files(rel string) ([]string, error) {
	root, err := d.open(rel, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var all []string
	names := 0
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if names++; err == nil && names > maxListed {
			err = fault.New(fault.Limit, "%s holds more than %d names", rel, maxListed)
		}
		if err == nil && !e.IsDir() {
			all = append(all, p)
		}
		return err
	})
	slices.Sort(all)
	return all, err
}
