package author

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// CreateBundle lists every file of a directory below .ai in a manifest, signs it with the
// user's key and records all of them in one commit. A file that carries a signature line of
// its own must be validly signed already.
func CreateBundle(ctx context.Context, s *Desk, q rye.BundleRequest) (*rye.BundleInfo, error) {
	l, dir, err := bundlePlace(s, q.Dir)
	if err != nil {
		return nil, err
	}
	m, old, err := listBundle(l, dir, q)
	if err != nil {
		return nil, err
	}
	files, err := bundleFiles(s, l, dir, m)
	if err != nil {
		return nil, err
	}
	g, err := newSigning(ctx, s, l, rye.SignRequest{})
	if err != nil {
		return nil, err
	}
	raw, err := m.Encode()
	if err == nil && !q.DryRun {
		err = vouchBundle(ctx, s.Session, dir, g.scope, old, diff.Lines("", string(raw)))
	}
	if err == nil {
		raw, err = g.manifest(ctx, dir, raw, notBefore(g.now, old))
	}
	if err != nil {
		return nil, err
	}
	if q.DryRun {
		return look.DescribeManifest(raw, l.Folder(dir)), nil
	}
	changes, err := bundleChanges(ctx, l, dir, raw, files)
	if err == nil {
		err = g.note(m.ID.Namespace())
	}
	if err == nil {
		err = l.Write(manifestIn(dir), raw, space.WaitAll)
	}
	var commit string
	if err == nil {
		commit, err = s.record(ctx, l, "bundle", []objects.Ref{m.Ref()}, changes)
	}
	if err != nil {
		return nil, err
	}
	info, err := look.DescribeBundle(ctx, s.Session, l, dir)
	if err == nil {
		info.Commit = commit
	}
	return info, err
}

// bundlePlace returns the space and the slash path below .ai of a directory.
func bundlePlace(s *Desk, dir string) (*space.Layer, string, error) {
	for _, l := range s.Stack.Layers() {
		p, ok := session.Below(l.Dir, dir)
		if !ok {
			continue
		}
		st, err := os.Lstat(filepath.Join(l.Dir, filepath.FromSlash(p)))
		if err != nil || !st.IsDir() {
			return nil, "", fault.New(fault.NotFound, "bundle %s: no directory there", dir)
		}
		return l, p, nil
	}
	return nil, "", fault.New(fault.Usage, "bundle %s: bundles lie below .ai", dir).Advise("put it in .ai/tools/<namespace>/<name>")
}

// listBundle makes the manifest and returns the one that is there already, if any.
func listBundle(l *space.Layer, dir string, q rye.BundleRequest) (m, old *objects.Manifest, err error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, nil, err
	}
	if q.ID != "" && q.ID != string(id) && q.ID != strings.Replace(string(id), "/bundle/", "/", 1) {
		return nil, nil, fault.New(fault.Usage, "bundle %q: in .ai/%s it is called %s, so that its files cannot be passed off elsewhere", q.ID, dir, id).
			Mend("rye bundle create %s .ai/%s", id, dir)
	}
	version := cmp.Or(q.Version, "0.1.0")
	if raw, err := l.Read(manifestIn(dir)); err == nil {
		old, _ = objects.ParseManifest(raw) // a broken one is replaced
	}
	if old != nil {
		version = cmp.Or(q.Version, old.Version)
		is, err1 := objects.ParseVersion(version)
		was, err2 := objects.ParseVersion(old.Version)
		if err1 == nil && err2 == nil && is.Compare(was) < 0 {
			return nil, nil, fault.New(fault.Rollback, "bundle %s: version %s, below the present %s", id, version, old.Version).Advise("a higher --version")
		}
	}
	m, err = objects.ManifestOf(l.Folder(dir), id, version)
	if err == nil && len(m.Files) == 0 {
		err = fault.New(fault.NotFound, "bundle %s: .ai/%s holds no files", id, dir)
	}
	return m, old, err
}

// notBefore returns now, or the time of the manifest that is replaced when a clock was set
// back since: order must be kept.
func notBefore(now time.Time, old *objects.Manifest) time.Time {
	if old == nil || old.Item().Signature == nil {
		return now
	}
	if at := old.Item().Signature.SignedAt; at.After(now) && at.Sub(now) < 24*time.Hour {
		return at
	}
	return now
}

// bundleFiles reads what a manifest lists, for the record.
func bundleFiles(s *Desk, l *space.Layer, dir string, m *objects.Manifest) ([]store.Change, error) {
	var all []store.Change
	err := m.Read(l.Folder(dir), func(f objects.File, data []byte) error {
		if len(data) > space.MaxItem {
			return fault.New(fault.Limit, "bundle %s: %s has %d bytes, at most %d are recorded", m.ID, f.Path, len(data), space.MaxItem)
		}
		p := dir + "/" + f.Path
		all = append(all, store.Change{Path: p, Data: data})
		if it := look.Lined(p, data); it != nil {
			if _, err := trust.Verify(it, s.Stack.Scope(l), s.Trust); err != nil {
				return err
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

// removals returns the changes that take what lies in a directory out of the record, but
// for the files that stay.
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
	changes  []store.Change // what records it, the manifest included
}

// readBundle reads a bundle whose files are those of its manifest. It does not ask who
// signed it.
func readBundle(ctx context.Context, l *space.Layer, dir string) (*workBundle, error) {
	raw, err := l.Read(manifestIn(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, ".ai/%s: its manifest is gone", dir).Mend("rye restore .ai/%s", dir)
	}
	if err != nil {
		return nil, err
	}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil, fault.Wrap(err, ".ai/%s", dir).Mend("rye bundle create .ai/%s", dir)
	}
	want, err := objects.BundleID(dir)
	if err != nil {
		return nil, err
	}
	if want != m.ID {
		return nil, fault.New(fault.Integrity, "bundle %s: it stands in .ai/%s, where it does not count", m.ID, dir).
			Advise("rye bundle create %s .ai/%s, if that is its place now", want, dir)
	}
	var files []store.Change
	err = m.Read(l.Folder(dir), func(f objects.File, data []byte) error {
		files = append(files, store.Change{Path: dir + "/" + f.Path, Data: data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	changes, err := bundleChanges(ctx, l, dir, raw, files)
	return &workBundle{m, raw, changes}, err
}

// keepBundle is keep for those files of a bundle's directory that the record does not hold
// as they are. It returns all files that lie there.
func keepBundle(ctx context.Context, s *Desk, l *space.Layer, dir string, id objects.ID) (here []store.Change, err error) {
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
	return here, s.keep(ctx, l, bundleRefs(id), differ)
}

// bundleRefs returns the ref under which changes of a bundle are recorded.
func bundleRefs(id objects.ID) []objects.Ref { return []objects.Ref{{Kind: objects.Config, ID: id}} }
