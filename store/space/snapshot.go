package space

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Snapshot is a working tree as recorded in one commit. Its items are verified as if they were
// in the working tree now, except that they may be older than the current record: the caller
// knows which bytes it wants.
type Snapshot struct {
	s    *Stack
	l    *Layer
	tree store.OID
}

// Snapshots calls visit, newest first, for the trees of the record that have blob at p, each
// tree once. fs.SkipAll from visit ends it.
func (s *Stack) Snapshots(ctx context.Context, l *Layer, p string, blob store.OID, visit func(*Snapshot) error) error {
	tip, err := l.tip()
	if tip == nil || err != nil {
		return err
	}
	seen := map[store.OID]bool{}
	return l.repo.Log(ctx, tip.ID, func(c *store.Commit) error {
		if seen[c.Tree] {
			return nil
		}
		seen[c.Tree] = true
		e, err := l.repo.Lookup(c.Tree, p)
		if errors.Is(err, store.ErrNotExist) || err == nil && e.ID != blob {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(&Snapshot{s: s, l: l, tree: c.Tree})
	})
}

// Below lists the files below dir, without ignored names: the paths of items, and others with
// the reason why they cannot be items.
func (sn *Snapshot) Below(ctx context.Context, dir string) (items []string, others map[string]error, err error) {
	top, err := sn.l.repo.Lookup(sn.tree, dir)
	if err != nil {
		if errors.Is(err, store.ErrNotExist) {
			err = nil
		}
		return nil, nil, err
	}
	var all []string
	err = sn.l.repo.Walk(ctx, top.ID, func(p string, e store.Entry) error {
		switch {
		case e.IsDir() && leftOut(e.Name):
			return store.SkipDir
		case !e.IsDir() && !leftOut(e.Name):
			all = append(all, dir+"/"+p)
		}
		return nil
	})
	items, others = sortOut(all)
	return items, others, err
}

// Names lists the files and folders in dir. A folder's name ends in "/".
func (sn *Snapshot) Names(_ context.Context, dir string) (names []string, err error) {
	top, err := sn.l.repo.Lookup(sn.tree, dir)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := sn.l.repo.Tree(top.ID)
	for _, e := range entries {
		switch {
		case leftOut(e.Name):
		case e.IsDir():
			names = append(names, e.Name+"/")
		case e.Mode == store.ModeFile || e.Mode == store.ModeExec:
			names = append(names, e.Name)
		}
	}
	return names, err
}

// Bundle returns the bundle nearest to the file at p, and its directory; "" if the file is in
// none.
func (sn *Snapshot) Bundle(_ context.Context, p string) (b trust.Bundle, dir string, err error) {
	for dir = path.Dir(p); strings.Count(dir, "/") >= 2; dir = path.Dir(dir) {
		raw, err := sn.Read(dir + "/" + objects.ManifestName)
		if errors.Is(err, store.ErrNotExist) {
			continue
		}
		if err == nil {
			b, err = trust.OpenBundle(raw, Bounded(treeFS{sn.l.repo, sn.tree, dir + "/"}), sn.s.Scope(sn.l), sn.s.Trust)
		}
		if err == nil {
			b, err = b.In(dir)
		}
		return b, dir, err
	}
	return trust.Bundle{}, "", nil
}

// Item returns the verified item at p: by its own signature line, or by the manifest of its
// bundle.
func (sn *Snapshot) Item(ctx context.Context, p string) (trust.Verified, error) {
	raw, err := sn.Read(p)
	if err != nil {
		return trust.Verified{}, err
	}
	b, dir, err := sn.Bundle(ctx, p)
	if err != nil {
		return trust.Verified{}, err
	}
	if dir != "" && !hasLine(p, raw) {
		return b.Item(strings.TrimPrefix(p, dir+"/"))
	}
	return sn.s.verifyBytes(sn.l, p, raw)
}

// Read returns the bytes of the file at p.
func (sn *Snapshot) Read(p string) ([]byte, error) {
	e, err := sn.l.repo.Lookup(sn.tree, p)
	if err != nil {
		return nil, err
	}
	return sn.l.repo.Blob(e.ID, MaxItem)
}

// CheckLine verifies the signature line of data, the file of a bundle at p. It returns nil if
// data is no item.
func (sn *Snapshot) CheckLine(_ context.Context, p string, data []byte) error {
	it, err := objects.Parse(p, data)
	if err != nil {
		return nil
	}
	_, err = trust.Verify(it, sn.s.Scope(sn.l), sn.s.Trust)
	return err
}

// verifyBytes verifies bytes for a place in a layer, without regard to the record.
func (s *Stack) verifyBytes(l *Layer, p string, raw []byte) (trust.Verified, error) {
	it, err := objects.Parse(p, raw)
	if err != nil {
		return trust.Verified{}, err
	}
	v, err := trust.Verify(it, s.Scope(l), s.Trust)
	if err == nil {
		err = s.Taken.Denies(v, s.Trust)
	}
	if err != nil {
		return trust.Verified{}, err
	}
	return v, nil
}

// Exactly returns the item of a space on disk with the digest sum, from any source: the file
// at p, a store on this machine with blob, or a recorded bundle. The signature must hold in
// that space now; a newer recorded version is no objection. Bytes that are stored nowhere are
// fault.Offline.
func (s *Stack) Exactly(ctx context.Context, sp objects.Space, p string, blob store.OID, sum objects.Digest) (Found, error) {
	l, err := s.Layer(sp)
	if err != nil {
		return Found{}, err
	}
	f := Found{Space: sp, Path: p, Blob: blob}
	raw, err := l.Read(p)
	if err != nil || objects.DigestOf(raw) != sum {
		raw, err = s.anywhere(blob, sum)
	}
	if err != nil {
		return f, err
	}
	if raw == nil {
		return f, fault.New(fault.Offline, "%s: no file and no store here has the pinned bytes %s", p, sum).
			Advise("rye pull, or rye lock to pin the files here")
	}
	f.Blob = l.BlobID(raw)
	if hasLine(p, raw) {
		f.Verified, err = s.verifyBytes(l, p, raw)
		return f, err
	}
	// A manifest covers it: the current one, or a recorded one.
	cover, err := s.Cover(ctx, l, p, nil)
	if err != nil {
		return f, err
	}
	if cover != nil && cover.Err == nil {
		if f.Verified, err = cover.Cover(cover.rel(p), raw); err == nil {
			return f, nil
		}
	}
	_, unsigned := s.verifyBytes(l, p, raw)
	err = s.Snapshots(ctx, l, p, f.Blob, func(sn *Snapshot) error {
		v, err := sn.Item(ctx, p)
		if err != nil {
			return nil // another commit may have the manifest that lists it
		}
		f.Verified, unsigned = v, nil
		return fs.SkipAll
	})
	return f, errors.Join(err, unsigned)
}

// hasLine reports whether a file has a signature line, valid or not.
func hasLine(p string, raw []byte) bool {
	_, sig, legacy, err := objects.Split(p, raw)
	return err != nil || sig != nil || legacy != nil
}

// anywhere looks for bytes by their git id in every store; nil if no store has them.
func (s *Stack) anywhere(blob store.OID, sum objects.Digest) ([]byte, error) {
	if blob.IsZero() {
		return nil, nil
	}
	for _, l := range s.Layers() {
		if err := l.load(); err != nil {
			return nil, err
		}
		if l.repo == nil {
			continue
		}
		raw, err := l.repo.Blob(blob, MaxItem)
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return nil, err
		}
		if err == nil && objects.DigestOf(raw) == sum {
			return raw, nil
		}
	}
	return nil, nil
}

// treeFS is a tree of a repository, or a directory of it, as a file system.
type treeFS struct {
	repo   *store.Repo
	tree   store.OID
	prefix string // "" or a slash path with a slash at its end
}

// lookup returns the entry for a file system operation.
func (t treeFS) lookup(op, name string) (e store.Entry, err error) {
	if !fs.ValidPath(name) {
		return e, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	p := path.Join(t.prefix, name)
	if p == "." {
		p = "" // the tree itself
	}
	e, err = t.repo.Lookup(t.tree, p)
	if errors.Is(err, store.ErrNotExist) {
		err = fs.ErrNotExist
	}
	if err != nil {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	return e, err
}

func (t treeFS) Open(name string) (fs.File, error) {
	e, err := t.lookup("open", name)
	if err != nil {
		return nil, err
	}
	var raw []byte
	if !e.IsDir() {
		if raw, err = t.repo.Blob(e.ID, objects.MaxPackageFile); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	return &treeFile{e, bytes.NewReader(raw)}, nil
}

func (t treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := t.lookup("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := t.repo.Tree(e.ID)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = fs.FileInfoToDirEntry(&treeFile{e, bytes.NewReader(nil)})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// treeFile is an entry of a tree: its own description, and its bytes if it is open.
type treeFile struct {
	entry store.Entry
	*bytes.Reader
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *treeFile) Close() error               { return nil }
func (f *treeFile) Name() string               { return f.entry.Name }
func (f *treeFile) IsDir() bool                { return f.entry.IsDir() }
func (f *treeFile) ModTime() time.Time         { return time.Time{} }
func (f *treeFile) Sys() any                   { return nil }

func (f *treeFile) Mode() fs.FileMode {
	switch f.entry.Mode {
	case store.ModeDir:
		return fs.ModeDir | 0o555
	case store.ModeSymlink:
		return fs.ModeSymlink
	case store.ModeGitlink:
		return fs.ModeIrregular
	}
	return 0o444
}
