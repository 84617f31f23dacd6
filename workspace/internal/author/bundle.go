package author

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// makeManifest lists the files of a directory below .ai as they are now. The version is the
// entry's own, else the previous one.
func makeManifest(s *session.Session, l *space.Layer, dir string, old *objects.Manifest) (*objects.Manifest, error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, err
	}
	m, err := old.Renewed(l.Folder(dir), id, entryVersion(l, dir), look.KeepsModes(s, l))
	if err == nil && len(m.Files) == 0 {
		err = fault.New(fault.NotFound, "bundle %s: .ai/%s holds no files", id, dir).
			Advise("put its files there; rye sign then writes rye.bundle.yaml")
	}
	return m, err
}

// entryVersion returns the version that the entry of a bundle states; "" without one.
func entryVersion(l *space.Layer, dir string) string {
	if _, ok := objects.InBundles(dir); !ok {
		return ""
	}
	list, err := fs.ReadDir(l.Folder(dir), ".")
	if err != nil {
		return ""
	}
	for _, e := range list {
		p := dir + "/" + e.Name()
		if _, _, err := objects.RefOfPath(p); err != nil {
			continue
		}
		if raw, err := l.Read(p); err == nil {
			if it, err := objects.Parse(p, raw); err == nil && it.Meta.Version != "" {
				if v, err := objects.ParseVersion(it.Meta.Version); err == nil {
					return v.String()
				}
			}
		}
	}
	return ""
}

// oldManifest returns the manifest in a directory. It returns nil where there is none, and for
// an unreadable one, which a new one replaces.
func oldManifest(l *space.Layer, dir string) (*objects.Manifest, []byte) {
	raw, err := l.Read(manifestIn(dir))
	if err != nil {
		return nil, nil
	}
	m, err := objects.ParseManifest(raw)
	if err != nil || checkPlace(m, dir) != nil {
		return nil, raw
	}
	return m, raw
}

// checkPlace refuses a manifest that is valid only in another directory.
func checkPlace(m *objects.Manifest, dir string) error {
	want, err := objects.BundleID(dir)
	if err == nil && want != m.ID {
		err = fault.New(fault.Integrity, "bundle %s: its manifest is not valid in .ai/%s", m.ID, dir).
			Advise("rye sign .ai/%s, if you moved it there", dir)
	}
	return err
}

// notBefore returns now, or the time of the replaced manifest when a clock was set back since
// then: later manifests must not have earlier times.
func notBefore(now time.Time, old *objects.Manifest) time.Time {
	if old == nil || old.Item().Signature == nil {
		return now
	}
	if at := old.Item().Signature.SignedAt; at.After(now) && at.Sub(now) < 24*time.Hour {
		return at
	}
	return now
}

// bundleFiles reads the files in a manifest, for the record.
func bundleFiles(s *custody.Desk, l *space.Layer, dir string, m *objects.Manifest) ([]store.Change, error) {
	var all []store.Change
	err := m.Read(l.Folder(dir), func(f objects.File, data []byte) error {
		if len(data) > space.MaxItem {
			return fault.New(fault.Limit, "bundle %s: %s has %d bytes, and the record takes at most %d", m.ID, f.Path, len(data), space.MaxItem)
		}
		p := dir + "/" + f.Path
		all = append(all, store.Change{Path: p, Data: data, Mode: space.ModeOf(f)})
		if it := look.Lined(p, data); it != nil {
			if _, err := trust.Verify(it, s.Stack.Scope(l), s.Trust); err != nil {
				return err // the file's own signature must hold as well
			}
		}
		return nil
	})
	return all, err
}

// bundleChanges returns the changes after which the record holds exactly the manifest and
// the files in the directory.
func bundleChanges(ctx context.Context, l *space.Layer, dir string, raw []byte, files []store.Change) ([]store.Change, error) {
	changes := append(slices.Clone(files), store.Change{Path: manifestIn(dir), Data: raw})
	gone, err := removals(ctx, l, dir, changes)
	return append(changes, gone...), err
}

// removals returns the changes that remove the recorded files of a directory, except for the
// files that stay.
func removals(ctx context.Context, l *space.Layer, dir string, stay []store.Change) (gone []store.Change, err error) {
	stays := pathsOf(stay)
	err = l.Recorded(ctx, func(p string, _ store.OID) error {
		if strings.HasPrefix(p, dir+"/") && !stays[p] {
			gone = append(gone, store.Change{Path: p, Delete: true})
		}
		return nil
	})
	return gone, err
}

func pathsOf(changes []store.Change) map[string]bool {
	paths := make(map[string]bool, len(changes))
	for _, c := range changes {
		paths[c.Path] = true
	}
	return paths
}

// manifestIn returns the path of the manifest of a bundle's directory.
func manifestIn(dir string) string { return dir + "/" + objects.ManifestName }

// workBundle is a bundle of the working tree, complete.
type workBundle struct {
	manifest *objects.Manifest
	raw      []byte         // the manifest's file
	changes  []store.Change // the changes that record it, the manifest included
}

// readBundle reads a bundle whose files match its manifest. It does not check the signature.
func readBundle(ctx context.Context, l *space.Layer, dir string) (*workBundle, error) {
	raw, err := l.Read(manifestIn(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, ".ai/%s: its manifest is missing", dir).Mend("rye restore .ai/%s", dir)
	}
	if err != nil {
		return nil, err
	}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil, fault.Wrap(err, ".ai/%s", dir).Mend("rye sign .ai/%s", dir)
	}
	if err := checkPlace(m, dir); err != nil {
		return nil, err
	}
	var files []store.Change
	err = m.Read(l.Folder(dir), func(f objects.File, data []byte) error {
		files = append(files, store.Change{Path: dir + "/" + f.Path, Data: data, Mode: space.ModeOf(f)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	changes, err := bundleChanges(ctx, l, dir, raw, files)
	return &workBundle{m, raw, changes}, err
}

// keepBundle is keep for those files in a bundle's directory that differ from the record. It
// returns all files in the directory.
func keepBundle(ctx context.Context, s *custody.Desk, l *space.Layer, dir string, id objects.ID) (here []store.Change, err error) {
	if here, err = l.Contents(ctx, dir); err != nil {
		return nil, err
	}
	var differ []store.Change
	for _, c := range here {
		same, err := l.Holds(c.Path, c.Data)
		if err != nil {
			return nil, err
		}
		if !same {
			differ = append(differ, c)
		}
	}
	return here, keep(ctx, s, l, bundleRefs(id), differ)
}

// bundleRefs returns the ref under which changes of a bundle are recorded.
func bundleRefs(id objects.ID) []objects.Ref { return []objects.Ref{objects.BundleRef(id)} }
