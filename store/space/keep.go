package space

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
	"github.com/rye-os/rye/store"
)

// SystemRefs begins the refs under which a store keeps standard libraries that a lock has
// used. The digest of the manifest follows. So a newer rye still has the older bytes.
const SystemRefs = "refs/rye/system/"

// Keep records the standard library in the layer's store as a root commit and returns its id.
// The commit depends only on the release: every machine that records a release gets the same
// id.
func (l *Layer) Keep(ctx context.Context, s *System) (store.OID, error) {
	return l.keepRelease(ctx, s, stdlib.Manifest())
}

func (l *Layer) keepRelease(ctx context.Context, s *System, raw []byte) (store.OID, error) {
	if err := l.Create(); err != nil {
		return store.OID{}, err
	}
	ref := SystemRefs + s.Digest().Hex()
	switch id, err := l.repo.Ref(ref); {
	case err == nil && l.repo.Has(id): // otherwise the object is written again, with the same id
		return id, nil
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return id, err
	}
	manifest, err := objects.ParseManifest(raw)
	if err != nil {
		return store.OID{}, err
	}
	changes := []store.Change{{Path: objects.ManifestName, Data: raw}}
	for _, f := range s.Files() {
		raw, err := s.File(f.Path)
		if err != nil {
			return store.OID{}, err
		}
		changes = append(changes, store.Change{Path: f.Path, Data: raw})
	}
	b := l.repo.NewBatch()
	defer b.Discard()
	tree, err := b.EditTree(store.OID{}, changes)
	if err != nil {
		return store.OID{}, err
	}
	id, err := b.Commit(ctx, tree, nil, store.CommitOptions{
		Message: "standard library " + s.Release.Version + "\n\nRye-Manifest: " + s.Digest().String() + "\n",
		Author:  store.Ident{Name: "rye", Email: "stdlib@rye.invalid"},
		When:    manifest.Item().Signature.SignedAt.UTC(),
	})
	if err != nil {
		return store.OID{}, err
	}
	if err := b.Flush(ctx); err != nil {
		return store.OID{}, err
	}
	err = l.repo.Swap(ctx, ref, store.OID{}, id, "keep the standard library")
	if have, rerr := l.repo.Ref(ref); rerr == nil && have == id {
		err = nil // another process has just kept the same commit
	}
	return id, err
}

// Kept opens the released standard library with this manifest, from the program itself or from
// a store on this machine. A manifest of no release that this program knows is Untrusted; one
// that is stored nowhere is Offline.
func (s *Stack) Kept(manifest objects.Digest) (*System, error) {
	now, err := s.System()
	if err != nil || now.Digest() == manifest {
		return now, err
	}
	for _, rel := range stdlib.Releases() {
		if rel.Manifest == manifest.String() {
			return s.kept(rel, manifest)
		}
	}
	return nil, fault.New(fault.Untrusted, "standard library %s: this rye does not know this release", manifest).
		Advise("upgrade rye, or rye lock to pin the one in this rye")
}

func (s *Stack) kept(rel stdlib.Release, manifest objects.Digest) (*System, error) {
	for _, l := range s.Layers() {
		if err := l.load(); err != nil {
			return nil, err
		}
		if l.repo == nil {
			continue
		}
		id, err := l.repo.Ref(SystemRefs + manifest.Hex())
		if errors.Is(err, store.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, err := l.repo.Commit(id)
		if err != nil {
			return nil, err
		}
		files := treeFS{repo: l.repo, tree: c.Tree}
		raw, err := fs.ReadFile(files, objects.ManifestName)
		if err != nil {
			return nil, err
		}
		return openRelease(rel, raw, files)
	}
	return nil, fault.New(fault.Offline, "standard library %s: no store here keeps it", rel.Version).
		Advise("run that version of rye once in this project, or rye lock to pin the one this rye carries")
}
