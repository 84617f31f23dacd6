package author

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// CreateBundle lists every file of a directory below .ai in a manifest, signs it
// with the user's key and records all of them in one commit. A file that carries
// a signature line of its own must be validly signed already.
func CreateBundle(ctx context.Context, s *Desk, q rye.BundleRequest) (*rye.BundleInfo, error) {
	l, dir, err := bundlePlace(s, q.Dir)
	if err != nil {
		return nil, err
	}
	m, old, err := listBundle(s, l, dir, q)
	if err != nil {
		return nil, err
	}
	files, err := bundleFiles(s, l, dir, m)
	if err != nil {
		return nil, err
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := m.Encode()
	if err == nil {
		raw, err = trust.SignManifest(ctx, key, raw, s.Stack.Scope(l), notBefore(s, old))
	}
	if err != nil {
		return nil, err
	}
	// What would not verify here must not be written.
	if _, err := trust.OpenBundle(raw, l.Folder(dir), s.Stack.Scope(l), s.Trust); err != nil {
		return nil, err
	}
	if q.DryRun {
		return look.DescribeBundle(s.Session, raw, l.Folder(dir)), nil
	}
	commit, err := writeBundle(ctx, s, l, dir, key.Public(), raw, files)
	if err != nil {
		return nil, err
	}
	info, err := look.BundleInfo(ctx, s.Session, l, dir)
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
func listBundle(s *Desk, l *space.Layer, dir string, q rye.BundleRequest) (m, old *objects.Manifest, err error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, nil, err
	}
	if q.ID != "" && q.ID != string(id) && q.ID != strings.Replace(string(id), "/bundle/", "/", 1) {
		return nil, nil, fault.New(fault.Usage, "bundle %q: in .ai/%s it is called %s, so that its files cannot be passed off elsewhere", q.ID, dir, id).
			Mend("rye bundle create %s .ai/%s", id, dir)
	}
	if raw, err := l.Read(dir + "/" + objects.ManifestName); err == nil {
		old, _ = objects.ParseManifest(raw) // a broken one is replaced
	}
	version := q.Version
	switch {
	case version == "" && old != nil:
		version = old.Version
	case version == "":
		version = "0.1.0"
	}
	if old != nil {
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

// notBefore is now, or the time of the manifest that is replaced when a clock was
// set back since: order must be kept.
func notBefore(s *Desk, old *objects.Manifest) time.Time {
	now := s.Now()
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

// writeBundle puts the manifest in place and records it with its files. What the
// record held in the directory beside them goes.
func writeBundle(ctx context.Context, s *Desk, l *space.Layer, dir string, key trust.PublicKey, raw []byte, files []store.Change) (string, error) {
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return "", err
	}
	changes, err := bundleChanges(s, l, dir, raw, files)
	if err != nil {
		return "", err
	}
	if err := noteSigner(s, l, key); err != nil {
		return "", err
	}
	if err := l.Write(dir+"/"+objects.ManifestName, raw, true); err != nil {
		return "", err
	}
	return record(ctx, s, l, "bundle", []objects.Ref{m.Ref()}, changes)
}

// bundleChanges makes the record hold exactly the manifest and the files.
func bundleChanges(s *Desk, l *space.Layer, dir string, raw []byte, files []store.Change) ([]store.Change, error) {
	changes := append(slices.Clone(files), store.Change{Path: dir + "/" + objects.ManifestName, Data: raw})
	stays := map[string]bool{}
	for _, c := range changes {
		stays[c.Path] = true
	}
	err := l.Recorded(func(p string, _ store.OID) error {
		if strings.HasPrefix(p, dir+"/") && !stays[p] {
			changes = append(changes, store.Change{Path: p, Delete: true})
		}
		return nil
	})
	return changes, err
}
