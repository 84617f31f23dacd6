package space

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Write replaces a working file by way of a temporary name and a rename. It keeps the file's
// mode; a new file gets 0644, or 0755 if it begins with "#!".
func (l *Layer) Write(p string, raw []byte, wait Wait) error {
	if err := l.load(); err != nil {
		return err
	}
	if l.root == nil {
		return fs.ErrNotExist
	}
	mode := freshMode(raw)
	if st, err := l.root.Lstat(p); err == nil {
		mode = st.Mode().Perm()
	}
	if err := l.Free(p); err != nil {
		return err
	}
	if err := makeFolders(l.root, path.Dir(p)); err != nil {
		return err
	}
	f, tmp, err := createTemp(l.root, path.Dir(p), mode)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil && wait != WaitNone {
		err = synced(f, tmp)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = l.root.Rename(tmp, p)
	}
	if err != nil {
		l.root.Remove(tmp)
		return err
	}
	if wait == WaitAll {
		return syncFolder(l.root, path.Dir(p))
	}
	return nil
}

// freshMode returns the mode of a new file.
func freshMode(raw []byte) fs.FileMode {
	if len(raw) > 2 && raw[0] == '#' && raw[1] == '!' {
		return 0o755
	}
	return 0o644
}

// TempPrefix begins the names of unfinished working files. The project's .gitignore lists it.
// An old one belongs to a process that was killed.
const TempPrefix = ".rye-tmp-"

// createTemp creates a file for a later rename. Its name is random, so that it never collides
// with a file of a killed process that had the same pid.
func createTemp(root *os.Root, dir string, mode fs.FileMode) (f *os.File, name string, err error) {
	for range 100 {
		name = path.Join(dir, TempPrefix+rand.Text())
		f, err = root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
	return nil, "", err
}

// Free returns a fault.Conflict error if no file can be written at p: p is a folder, or a
// component above p is a file.
func (l *Layer) Free(p string) error {
	if err := l.load(); err != nil || l.root == nil {
		return err
	}
	in := func(what, p string) error {
		return fault.New(fault.Conflict, "a %s is in the way: .ai/%s", what, p).Advise("move it away: mv .ai/%s <somewhere>", p)
	}
	if err := noLinks(l.root, path.Dir(p)); err != nil {
		return err
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if st, err := l.root.Lstat(dir); err == nil && !st.IsDir() {
			return in("file", dir)
		}
	}
	if st, err := l.root.Lstat(p); err == nil && st.IsDir() {
		return in("folder", p)
	}
	return nil
}

// Remove deletes a working file. It leaves a folder that is there now. A caller that needs a
// durable removal calls SyncNames.
func (l *Layer) Remove(p string) error {
	if err := l.load(); err != nil {
		return err
	}
	if err := noLinks(l.root, path.Dir(p)); err != nil {
		return err
	}
	st, err := l.root.Lstat(p)
	if err != nil && nothingThere(err) || err == nil && st.IsDir() {
		return &fs.PathError{Op: "remove", Path: p, Err: fs.ErrNotExist}
	}
	return l.root.Remove(p)
}

// Draft returns the working item for ref without any verification. It is the only way to read
// an unusable item, in order to sign it.
func (l *Layer) Draft(ref objects.Ref) (*objects.Item, error) { return l.draft(ref, l.Locate) }

// Drafts returns a Draft for many refs. It is safe for concurrent use.
func (l *Layer) Drafts(refs []objects.Ref) func(objects.Ref) (*objects.Item, error) {
	locate := l.Locations(refs)
	return func(ref objects.Ref) (*objects.Item, error) {
		it, err := l.draft(ref, locate)
		if errors.Is(err, fs.ErrNotExist) { // perhaps it was moved meanwhile
			return l.Draft(ref)
		}
		return it, err
	}
}

func (l *Layer) draft(ref objects.Ref, locate func(objects.Ref) (string, error)) (*objects.Item, error) {
	p, err := locate(ref)
	if err != nil {
		return nil, err
	}
	if p == "" {
		return nil, fs.ErrNotExist
	}
	raw, err := l.Read(p)
	if err != nil {
		return nil, err
	}
	return objects.Parse(p, raw)
}

// There returns the working tree's item with the ref of it. Without a file it returns
// fs.ErrNotExist. If the file has the same bytes, the result is the argument.
func (l *Layer) There(it *objects.Item) (*objects.Item, error) {
	if p, err := l.Locate(it.Ref); err == nil && p == it.Path {
		if raw, err := l.Read(p); err == nil && bytes.Equal(raw, it.Raw) {
			return it, nil
		}
	}
	return l.Draft(it.Ref)
}

// Contents reads every regular file of a bundle's directory in the working tree, as changes that
// would record them. A missing directory is empty.
func (l *Layer) Contents(ctx context.Context, dir string) ([]store.Change, error) {
	var all []store.Change
	room, m := newRoom(ctx, l.Space), l.manifestIn(dir)
	err := fs.WalkDir(l.Folder(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if p == "." && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err == nil && !room.take(0) {
			err = room.full()
		}
		if err == nil && p != "." && m.Litter(p) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := l.Read(dir + "/" + p)
		if err == nil && !room.take(int64(len(raw))) {
			err = room.full()
		}
		c := store.Change{Path: dir + "/" + p, Data: raw}
		if f, listed := m.File(p); listed {
			c.Mode = ModeOf(f)
		}
		all = append(all, c)
		return err
	})
	return all, err
}

// manifestIn returns the manifest in a directory of the working tree, unverified; nil where there
// is none that can be read. It says which files count, and their modes.
func (l *Layer) manifestIn(dir string) *objects.Manifest {
	raw, err := l.Read(dir + "/" + objects.ManifestName)
	if err != nil {
		return nil
	}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil
	}
	return m
}

// ModeOf returns the mode with which git and the disk keep a file of a bundle.
func ModeOf(f objects.File) store.Mode {
	if f.Executable {
		return store.ModeExec
	}
	return store.ModeFile
}

// Prune removes all empty directories below dir, and dir itself if it is empty.
func (l *Layer) Prune(dir string) {
	list, err := l.readDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if e.IsDir() {
			l.Prune(dir + "/" + e.Name())
		}
	}
	l.root.Remove(dir) // fails, as intended, if it is not empty
}
