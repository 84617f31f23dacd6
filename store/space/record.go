package space

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/internal/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Create makes the store of a layer where there is none. It changes nothing that
// is there.
func (l *Layer) Create() error {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return err
	}
	dir := l.storeDir()
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		r, err := store.Init(dir, l.Ref())
		if err == nil {
			err = r.Close()
		}
		// A store comes into being whole: what is there now, another process made, or
		// load says what is wrong with it.
		if err != nil && !errors.Is(err, store.ErrExist) {
			return fmt.Errorf("make the store of the %s space: %w", l.Space, err)
		}
	}
	if err := l.load(); err != nil {
		return err
	}
	return l.reopen()
}

// reopen opens what was not there when the layer was first looked at.
func (l *Layer) reopen() (err error) {
	l.making.Lock()
	defer l.making.Unlock()
	if l.root == nil {
		root, err := os.OpenRoot(l.Dir)
		if err != nil {
			return fmt.Errorf("open %s space: %w", l.Space, err)
		}
		if l.at, err = newBeneath(root); err != nil {
			root.Close()
			return fmt.Errorf("open %s space: %w", l.Space, err)
		}
		l.root = root
	}
	if l.repo == nil {
		l.repo, err = l.openStore()
	}
	if err == nil && l.repo == nil {
		err = fault.New(fault.Conflict, "make the store of the %s space: %s is gone again", l.Space, l.storeDir())
	}
	return err
}

// Repo returns the layer's store, or nil when there is none yet.
func (l *Layer) Repo() (*store.Repo, error) {
	err := l.load()
	return l.repo, err
}

// Record commits changes of item files to the layer's ref and returns the commit.
// It is durable when it returns.
func (l *Layer) Record(ctx context.Context, changes []store.Change, o store.CommitOptions) (store.OID, error) {
	if err := l.Create(); err != nil {
		return store.OID{}, err
	}
	return l.repo.Edit(ctx, l.Ref(), changes, o)
}

// Write replaces a working file: temporary name, rename. The file's mode is kept;
// a new file gets 0644, or 0755 when it begins with "#!". durable syncs the file;
// whoever records the same bytes right after may leave that to the record.
func (l *Layer) Write(p string, raw []byte, durable bool) error {
	if err := l.load(); err != nil {
		return err
	}
	if l.root == nil {
		return fs.ErrNotExist
	}
	mode := fs.FileMode(0o644)
	if len(raw) > 2 && raw[0] == '#' && raw[1] == '!' {
		mode = 0o755
	}
	if st, err := l.root.Lstat(p); err == nil {
		mode = st.Mode().Perm()
	}
	if err := l.Free(p); err != nil {
		return err
	}
	if err := l.root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	tmp := path.Join(path.Dir(p), fmt.Sprintf(".rye-%d-%s", os.Getpid(), path.Base(p)))
	f, err := l.root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil && durable {
		err = f.Sync()
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
	return nil
}

// Free returns a fault.Conflict error when no file can be written at p: a folder is in
// its place, or a file in that of a folder above.
func (l *Layer) Free(p string) error {
	if err := l.load(); err != nil || l.root == nil {
		return err
	}
	in := func(what, p string) error {
		return fault.New(fault.Conflict, "a %s is in the way: .ai/%s", what, p).Mend("move it away: mv .ai/%s <somewhere>", p)
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if st, err := l.root.Stat(dir); err == nil && !st.IsDir() {
			return in("file", dir)
		}
	}
	if st, err := l.root.Lstat(p); err == nil && st.IsDir() {
		return in("folder", p)
	}
	return nil
}

// Remove deletes a working file. A folder that came into its place stays.
func (l *Layer) Remove(p string) error {
	if err := l.load(); err != nil {
		return err
	}
	st, err := l.root.Lstat(p)
	if err != nil && nothingThere(err) || err == nil && st.IsDir() {
		return &fs.PathError{Op: "remove", Path: p, Err: fs.ErrNotExist}
	}
	return l.root.Remove(p)
}

// WithoutOld adds to changes the removal of each file that they replace by one with
// another extension: the record holds it for the same item, and it is gone. Without
// that the item would be there and missing at once.
func (l *Layer) WithoutOld(changes []store.Change) ([]store.Change, error) {
	tip, err := l.tip()
	if tip == nil || err != nil {
		return changes, err
	}
	named := map[string]bool{}
	for _, c := range changes {
		named[c.Path] = true
	}
	folders := map[string]map[string][]string{} // the record's files by folder and stem
	for _, c := range changes {
		ref, ext, err := objects.RefOfPath(c.Path)
		if err != nil || c.Delete {
			continue
		}
		dir, stem := path.Split(strings.TrimSuffix(ref.Path(ext), ext))
		if folders[dir] == nil {
			if folders[dir], err = l.stems(tip.Tree, dir); err != nil {
				return nil, err
			}
		}
		for _, name := range folders[dir][stem] {
			if old := dir + name; !named[old] {
				if _, err := l.root.Lstat(old); err != nil && nothingThere(err) {
					changes, named[old] = append(changes, store.Change{Path: old, Delete: true}), true
				}
			}
		}
	}
	return changes, nil
}

// stems returns the names of the files that a recorded tree holds in a folder, by what
// they are without their extension.
func (l *Layer) stems(tree store.OID, dir string) (map[string][]string, error) {
	all := map[string][]string{}
	e, err := l.repo.Lookup(tree, strings.Trim(dir, "/"))
	if errors.Is(err, store.ErrNotExist) || err == nil && !e.IsDir() {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	files, err := l.repo.FilesIn(e.ID, func([]byte) bool { return true })
	for _, f := range files {
		if dot := strings.LastIndexByte(f.Name, '.'); dot > 0 {
			all[f.Name[:dot]] = append(all[f.Name[:dot]], f.Name)
		}
	}
	return all, damaged(l, err)
}

// Draft returns the working item for ref as it is, verified by nobody: the one
// way to look at an item that cannot be used, so that it can be signed.
func (l *Layer) Draft(ref objects.Ref) (*objects.Item, error) { return l.draft(ref, l.locate) }

// Drafts returns a Draft for many refs, which may be called on all processors.
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

// There returns the item that the working tree holds under the ref of it: nil
// with fs.ErrNotExist for none, and it itself when the file has the same bytes.
func (l *Layer) There(it *objects.Item) (*objects.Item, error) {
	if p, err := l.locate(it.Ref); err == nil && p == it.Path {
		if raw, err := l.Read(p); err == nil && bytes.Equal(raw, it.Raw) {
			return it, nil
		}
	}
	return l.Draft(it.Ref)
}

// Recorded calls visit for every file that the layer's ref holds.
func (l *Layer) Recorded(visit func(p string, blob store.OID) error) error {
	c, err := l.tip()
	if c == nil || err != nil {
		return err
	}
	return damaged(l, l.repo.Walk(c.Tree, func(p string, e store.Entry) error {
		if e.IsDir() {
			return nil
		}
		return visit(p, e.ID)
	}))
}

// Ever calls visit for every file that the layer's ref holds or ever held: once for
// each path and content, newest first.
func (l *Layer) Ever(ctx context.Context, visit func(p string, blob store.OID) error) error {
	c, err := l.tip()
	if c == nil || err != nil {
		return err
	}
	type file struct {
		p    string
		blob store.OID
	}
	seen := map[file]bool{}
	var next *store.Commit
	diff := func(older store.OID) error {
		return l.repo.Diff(older, next.Tree, func(p string, _, e store.Entry) error {
			if e.ID.IsZero() || seen[file{p, e.ID}] {
				return nil
			}
			seen[file{p, e.ID}] = true
			return visit(p, e.ID)
		})
	}
	err = l.repo.Log(ctx, c.ID, func(c *store.Commit) (err error) {
		if next != nil {
			err = diff(c.Tree)
		}
		next = c
		return err
	})
	if err == nil && next != nil {
		err = diff(store.OID{})
	}
	return damaged(l, err)
}

// Tip returns the recorded commit's id, zero when nothing is recorded.
func (l *Layer) Tip() (store.OID, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return store.OID{}, err
	}
	return c.ID, nil
}

// blobID returns the id that git gives to a file with these bytes.
func (l *Layer) blobID(raw []byte) store.OID {
	if l.repo != nil {
		return l.repo.Format().Hash(store.TypeBlob, raw)
	}
	return store.SHA1.Hash(store.TypeBlob, raw)
}

// BlobID returns the id that git gives to a file with these bytes.
func (l *Layer) BlobID(raw []byte) store.OID { return l.blobID(raw) }

// RecordedBlob returns the blob that the record holds at p, zero for none.
func (l *Layer) RecordedBlob(p string) (store.OID, error) { return l.recordedBlob(p) }

// recordedPath returns the path that the record holds for ref, or "". The known
// extensions are asked for first, as locate does.
func (l *Layer) recordedPath(ref objects.Ref) (string, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return "", err
	}
	return l.pathIn(c.Tree, ref)
}

// pathIn is recordedPath for any recorded tree.
func (l *Layer) pathIn(tree store.OID, ref objects.Ref) (string, error) {
	for _, ext := range extensions[ref.Kind] {
		e, err := l.repo.Lookup(tree, ref.Path(ext))
		if err == nil && !e.IsDir() {
			return ref.Path(ext), nil
		}
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return "", damaged(l, err)
		}
	}
	if ref.Kind != objects.Tool {
		return "", nil
	}
	dir := path.Dir(ref.Path(""))
	e, err := l.repo.Lookup(tree, dir)
	if errors.Is(err, store.ErrNotExist) || err == nil && !e.IsDir() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	held, err := l.repo.FilesIn(e.ID, holds(ref))
	if err != nil || len(held) == 0 {
		return "", damaged(l, err)
	}
	return dir + "/" + held[0].Name, nil
}

// holds returns what tells the names of the files that hold ref in its folder.
func holds(ref objects.Ref) func(name []byte) bool {
	dir, stem := path.Split(ref.Path("."))
	return func(name []byte) bool {
		if !bytes.HasPrefix(name, []byte(stem)) {
			return false
		}
		got, _, err := objects.RefOfPath(dir + string(name))
		return err == nil && got == ref
	}
}

// LastRecorded returns the path and the bytes that the record last held for ref,
// even when it has been removed since; "" when it never held any.
func (l *Layer) LastRecorded(ctx context.Context, ref objects.Ref) (string, []byte, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return "", nil, err
	}
	return l.lastBefore(ctx, c.ID, ref)
}

// lastBefore is LastRecorded as seen from a commit of the record.
func (l *Layer) lastBefore(ctx context.Context, from store.OID, ref objects.Ref) (p string, raw []byte, err error) {
	var tree store.OID
	err = l.repo.Log(ctx, from, func(c *store.Commit) error {
		if c.Tree == tree {
			return nil
		}
		tree = c.Tree
		p, err = l.pathIn(tree, ref)
		if err == nil && p != "" {
			err = fs.SkipAll
		}
		return err
	})
	if err != nil || p == "" {
		return "", nil, damaged(l, err)
	}
	e, err := l.repo.Lookup(tree, p)
	if err != nil {
		return "", nil, err
	}
	raw, err = l.repo.Blob(e.ID, MaxItem)
	return p, raw, damaged(l, err)
}

// Holds reports whether the record holds these very bytes at p.
func (l *Layer) Holds(p string, raw []byte) (bool, error) {
	was, err := l.recordedBlob(p)
	return err == nil && !was.IsZero() && was == l.blobID(raw), err
}

// Contents reads every regular file below a directory of the working tree, as
// changes that would record them. A missing directory holds none.
func (l *Layer) Contents(dir string) ([]store.Change, error) {
	var all []store.Change
	err := fs.WalkDir(l.Folder(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if p == "." && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := l.Read(dir + "/" + p)
		all = append(all, store.Change{Path: dir + "/" + p, Data: raw})
		return err
	})
	return all, err
}

// Prune removes the directories below dir, and dir, that are empty.
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
	l.root.Remove(dir) // fails, and is meant to, while something is in it
}

// LastFolder returns the files below dir in the newest commit that held the file
// mark, as changes that would record them again; none when no commit did.
func (l *Layer) LastFolder(ctx context.Context, dir, mark string) ([]store.Change, error) {
	tip, err := l.Tip()
	if err != nil || tip.IsZero() {
		return nil, err
	}
	var last *store.Commit
	err = l.repo.History(ctx, tip, mark, func(c *store.Commit, e store.Entry) error {
		if e.ID.IsZero() {
			return nil
		}
		last = c
		return fs.SkipAll
	})
	if err != nil || last == nil {
		return nil, err
	}
	if now, err := l.recordedBlob(mark); err != nil {
		return nil, err
	} else if !now.IsZero() {
		if last, err = l.tip(); err != nil { // its files may have been recorded later than it
			return nil, err
		}
	}
	e, err := l.repo.Lookup(last.Tree, dir)
	if err != nil {
		return nil, err
	}
	var all []store.Change
	err = l.repo.Walk(e.ID, func(p string, e store.Entry) error {
		if e.IsDir() {
			return nil
		}
		raw, err := l.repo.Blob(e.ID, MaxItem)
		all = append(all, store.Change{Path: dir + "/" + p, Data: raw})
		return err
	})
	return all, err
}

// Version returns the item as the record held it after the commit that at names by
// at least four digits of its id; the path is "" when it held none then.
func (l *Layer) Version(ctx context.Context, ref objects.Ref, at string) (id store.OID, p string, raw []byte, err error) {
	c, err := l.commitAt(ctx, at)
	if err != nil {
		return id, "", nil, err
	}
	if p, err = l.pathIn(c.Tree, ref); err != nil || p == "" {
		return c.ID, "", nil, err
	}
	e, err := l.repo.Lookup(c.Tree, p)
	if err == nil {
		raw, err = l.repo.Blob(e.ID, MaxItem)
	}
	return c.ID, p, raw, damaged(l, err)
}

// commitAt finds a commit of the record by the beginning of its id.
func (l *Layer) commitAt(ctx context.Context, at string) (*store.Commit, error) {
	if len(at) < 4 || strings.Trim(at, "0123456789abcdef") != "" {
		return nil, fault.New(fault.Usage, "commit %q: want at least 4 of its hexadecimal digits", at).Mend("rye log")
	}
	tip, err := l.tip()
	if err != nil {
		return nil, err
	}
	var found []*store.Commit
	if tip != nil {
		err = l.repo.Log(ctx, tip.ID, func(c *store.Commit) error {
			if strings.HasPrefix(c.ID.String(), at) {
				found = append(found, c)
			}
			return nil
		})
	}
	switch {
	case err != nil:
		return nil, damaged(l, err)
	case len(found) == 0:
		return nil, fault.New(fault.NotFound, "commit %s: not in the record of the %s space", at, l.Space).Mend("rye log")
	case len(found) > 1:
		return nil, fault.New(fault.Usage, "commit %s: %d commits begin like this", at, len(found)).Mend("give more digits")
	}
	return found[0], nil
}
