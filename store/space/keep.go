package space

import (
	"context"
	"errors"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
	"github.com/rye-os/rye/store"
)

// SystemRefs is where a store keeps standard libraries that a lock has used, by
// the digest of their manifest, so that a newer rye still has the older bytes.
const SystemRefs = "refs/rye/system/"

// Keep records the standard library in the layer's store as a root commit and
// returns its id. The commit depends on the release alone: every machine that
// records a release gets the same id.
func (l *Layer) Keep(ctx context.Context, s *System) (store.OID, error) {
	if err := l.Create(); err != nil {
		return store.OID{}, err
	}
	ref := SystemRefs + s.Digest().Hex()
	if id, err := l.repo.Ref(ref); err == nil || !errors.Is(err, store.ErrNotExist) {
		return id, err
	}
	manifest, err := objects.ParseManifest(stdlib.Manifest())
	if err != nil {
		return store.OID{}, err
	}
	changes := []store.Change{{Path: objects.ManifestName, Data: stdlib.Manifest()}}
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
		err = nil // another process kept it meanwhile: the same commit
	}
	return id, err
}
