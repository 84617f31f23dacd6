package look

import (
	"context"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// originsIn returns a function for the origin of a bundle in a commit of the record, as the manifest
// there states it, and whether that manifest has a signature line. For an item it is the origin of the
// bundle that has the item.
func originsIn(l *space.Layer, repo *store.Repo, ref objects.Ref) func(*store.Commit) (*rye.BundleOrigin, bool) {
	dir, ok := homeOf(l, ref)
	seen := map[store.OID]*objects.Manifest{}
	return func(c *store.Commit) (*rye.BundleOrigin, bool) {
		if !ok {
			return nil, false
		}
		e, err := repo.Lookup(c.Tree, dir+"/"+objects.ManifestName)
		if err != nil || e.ID.IsZero() || e.IsDir() {
			return nil, false
		}
		m, known := seen[e.ID]
		if !known {
			if raw, err := repo.Blob(e.ID, space.MaxItem); err == nil {
				m, _ = objects.ParseManifest(raw)
			}
			seen[e.ID] = m
		}
		if m == nil {
			return nil, false
		}
		return OriginOf(m), m.Item().Signature != nil
	}
}

// homeOf returns the directory of a bundle, or of the bundle that has an item.
func homeOf(l *space.Layer, ref objects.Ref) (dir string, ok bool) {
	if ref.Kind == objects.Bundle {
		return dirOf(ref), true
	}
	if p, err := l.Locate(ref); err == nil && p != "" {
		return objects.InBundles(p)
	}
	return "", false
}

// dirOf returns the directory of a bundle below .ai; "" for a name that no bundle can have.
func dirOf(bundle objects.Ref) string {
	ns, name, _ := strings.Cut(string(bundle.ID), "/")
	dir, err := objects.BundleDir(objects.ID(ns + "/bundle/" + name))
	if err != nil {
		return ""
	}
	return dir
}

// historyOf calls visit for each commit that changed an item, or anything in a bundle.
func historyOf(ctx context.Context, l *space.Layer, repo *store.Repo, tip store.OID, ref objects.Ref, visit func(*store.Commit) error) error {
	if ref.Kind != objects.Bundle {
		return l.HistoryOf(ctx, tip, ref, func(c *store.Commit, _ []store.Entry) error { return visit(c) })
	}
	dir := dirOf(ref)
	if dir == "" {
		return nil
	}
	return repo.History(ctx, tip, dir, func(c *store.Commit, _ store.Entry) error { return visit(c) })
}

// OriginOf describes the origin that a manifest states; nil for none.
func OriginOf(m *objects.Manifest) *rye.BundleOrigin {
	o := m.Origin
	if o == nil {
		return nil
	}
	return &rye.BundleOrigin{Source: o.Source, Ref: o.Ref, Commit: o.Commit, Path: o.Path, Root: o.Root, Entry: o.Entry, Listed: o.Listed, Tree: o.Tree, TreeSHA256: o.Sum.Hex()}
}
