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

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Create creates the store of a layer if it is missing. It changes no existing file. For a
// layer without a place for a store the error is fault.NotFound.
func (l *Layer) Create() error {
	if l.Store == "" {
		return fault.New(fault.NotFound, "the %s space has no record: there is no data directory for it", l.Space).Advise("rye where")
	}
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return err
	}
	if l.Ready != nil {
		if err := l.Ready(); err != nil {
			return err
		}
	}
	dir := l.Store
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		r, err := store.Init(dir, l.Ref())
		if err == nil {
			err = r.Close()
		}
		// A store is created as a whole. If one exists now, another process created it, or
		// load reports its damage.
		if err != nil && !errors.Is(err, store.ErrExist) {
			return fmt.Errorf("make the store of the %s space: %w", l.Space, err)
		}
	}
	if err := l.load(); err != nil {
		return err
	}
	return l.reopen()
}

// reopen opens the files that did not exist when the layer was first loaded.
func (l *Layer) reopen() (err error) {
	l.making.Lock()
	defer l.making.Unlock()
	if l.root == nil {
		root, err := l.openTop()
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
		err = fault.New(fault.Conflict, "make the store of the %s space: %s is gone again", l.Space, l.Store)
	}
	return err
}

// Repo returns the layer's store, or nil when there is none yet.
func (l *Layer) Repo() (*store.Repo, error) {
	err := l.load()
	return l.repo, err
}

// Record commits changes of item files to the layer's ref and returns the commit. It is
// durable on return. To change files as well, use Change.
func (l *Layer) Record(ctx context.Context, changes []store.Change, o store.CommitOptions) (store.OID, error) {
	unlock, err := alone(ctx, l)
	if err != nil {
		return store.OID{}, err
	}
	defer unlock()
	return l.repo.Edit(ctx, l.Ref(), changes, o)
}

// WithoutOld adds removals to changes: of each recorded file that they replace by one with
// another extension, and that is gone from the working tree. Otherwise the item would exist
// and be missing at once.
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
		_, ext, err := objects.RefOfPath(c.Path)
		if err != nil || c.Delete {
			continue
		}
		dir, stem := path.Split(strings.TrimSuffix(c.Path, ext))
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

// stems returns the names of the files in a folder of a recorded tree, by their names without
// extension.
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
	return all, l.damaged(err)
}

// Recorded calls visit for every file in the tree of the layer's ref.
func (l *Layer) Recorded(ctx context.Context, visit func(p string, blob store.OID) error) error {
	c, err := l.tip()
	if c == nil || err != nil {
		return err
	}
	return l.damaged(l.repo.Walk(ctx, c.Tree, func(p string, e store.Entry) error {
		if e.IsDir() {
			return nil
		}
		return visit(p, e.ID)
	}))
}

// Ever calls visit for every file that the layer's ref holds or ever held: once for each path
// and content, newest first.
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
		return l.repo.Diff(ctx, older, next.Tree, func(p string, _, e store.Entry) error {
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
	return l.damaged(err)
}

// EverRefs returns the items that the layer's ref holds or ever held, each once.
func (l *Layer) EverRefs(ctx context.Context) (all []objects.Ref, err error) {
	seen := map[objects.Ref]bool{}
	err = l.Ever(ctx, func(p string, _ store.OID) error {
		if ref, _, err := objects.RefOfPath(p); err == nil && !seen[ref] {
			seen[ref] = true
			all = append(all, ref)
		}
		return nil
	})
	return all, err
}

// Tip returns the recorded commit's id, zero if nothing is recorded.
func (l *Layer) Tip() (store.OID, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return store.OID{}, err
	}
	return c.ID, nil
}

// BlobID returns git's id for a file with these bytes.
func (l *Layer) BlobID(raw []byte) store.OID {
	if l.repo != nil {
		return l.repo.Format().Hash(store.TypeBlob, raw)
	}
	return store.SHA1.Hash(store.TypeBlob, raw)
}

// recordedPath returns the path of ref in the record, or "". It tries the known extensions
// first, as Locate does.
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
		for _, p := range []string{ref.Path(ext), ref.MemberPath(ext)} {
			if p == "" {
				continue
			}
			e, err := l.repo.Lookup(tree, p)
			if err == nil && !e.IsDir() {
				return p, nil
			}
			if err != nil && !errors.Is(err, store.ErrNotExist) {
				return "", l.damaged(err)
			}
		}
	}
	if ref.Kind != objects.Tool {
		return "", nil
	}
	for _, dir := range foldersOf(ref) {
		if p, err := l.toolIn(tree, dir, ref); p != "" || err != nil {
			return p, err
		}
	}
	return "", nil
}

// toolIn returns the path of a tool, in any language, in a folder of a recorded tree.
func (l *Layer) toolIn(tree store.OID, dir string, ref objects.Ref) (string, error) {
	e, err := l.repo.Lookup(tree, dir)
	if errors.Is(err, store.ErrNotExist) || err == nil && !e.IsDir() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	held, err := l.repo.FilesIn(e.ID, holds(dir, ref))
	if err != nil || len(held) == 0 {
		return "", l.damaged(err)
	}
	return dir + "/" + held[0].Name, nil
}

// holds returns a function that recognises the names of the files for ref in a folder.
func holds(dir string, ref objects.Ref) func(name []byte) bool {
	stem := path.Base(ref.Path("."))
	if dir != path.Dir(ref.Path("")) {
		stem = "" // a member of a bundle, whose name may differ
	}
	return func(name []byte) bool {
		if !bytes.HasPrefix(name, []byte(stem)) {
			return false
		}
		got, _, err := objects.RefOfPath(dir + "/" + string(name))
		return err == nil && got == ref
	}
}

// FolderOf returns the folder with the history of ref: the folder of its kind, unless the
// newest tree or the working tree has it as a member of a bundle.
func (l *Layer) FolderOf(ref objects.Ref) string {
	dir := path.Dir(ref.Path(""))
	if ref.MemberFolder() == "" {
		return dir
	}
	if p, err := l.recordedPath(ref); err == nil && p != "" {
		return path.Dir(p)
	}
	if p, err := l.Locate(ref); err == nil && p != "" {
		return path.Dir(p)
	}
	return dir
}

// LastRecorded returns the path and the bytes that the record last held for ref, even if they
// were removed since. The path is "" if it never held any.
func (l *Layer) LastRecorded(ctx context.Context, ref objects.Ref) (string, []byte, error) {
	c, err := l.tip()
	if c == nil || err != nil {
		return "", nil, err
	}
	return l.lastBefore(ctx, c.ID, ref)
}

// lastBefore is LastRecorded as of a commit of the record.
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
		return "", nil, l.damaged(err)
	}
	e, err := l.repo.Lookup(tree, p)
	if err != nil {
		return "", nil, err
	}
	raw, err = l.repo.Blob(e.ID, MaxItem)
	return p, raw, l.damaged(err)
}

// Holds reports whether the record holds exactly these bytes at p.
func (l *Layer) Holds(p string, raw []byte) (bool, error) {
	was, err := l.RecordedBlob(p)
	return err == nil && !was.IsZero() && was == l.BlobID(raw), err
}

// LastFolder returns the files below dir in the newest commit with the file mark; none without
// such a commit. They are changes that would record the files again.
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
	if now, err := l.RecordedBlob(mark); err != nil {
		return nil, err
	} else if !now.IsZero() {
		if last, err = l.tip(); err != nil { // other files may have been recorded after mark
			return nil, err
		}
	}
	e, err := l.repo.Lookup(last.Tree, dir)
	if err != nil {
		return nil, err
	}
	var all []store.Change
	err = l.repo.Walk(ctx, e.ID, func(p string, e store.Entry) error {
		if e.IsDir() {
			return nil
		}
		raw, err := l.repo.Blob(e.ID, MaxItem)
		all = append(all, store.Change{Path: dir + "/" + p, Data: raw, Mode: e.Mode})
		return err
	})
	return all, err
}

// Version returns the item as of a commit of the record. at is at least four digits of the
// commit's id. The path is "" if the record held no such item then.
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
	return c.ID, p, raw, l.damaged(err)
}

// commitAt finds a commit of the record by the beginning of its id.
func (l *Layer) commitAt(ctx context.Context, at string) (*store.Commit, error) {
	if len(at) < 4 || strings.Trim(at, "0123456789abcdef") != "" {
		return nil, fault.New(fault.Usage, "commit %q: want at least 4 of its hexadecimal digits", at).Advise("rye log")
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
		return nil, l.damaged(err)
	case len(found) == 0:
		return nil, fault.New(fault.NotFound, "commit %s: not in the record of the %s space", at, l.Space).Advise("rye log")
	case len(found) > 1:
		return nil, fault.New(fault.Usage, "commit %s: %d commits begin with this", at, len(found)).Advise("give more digits")
	}
	return found[0], nil
}
