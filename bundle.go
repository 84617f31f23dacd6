package rye

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// BundleRequest makes or renews the manifest of a directory below .ai.
type BundleRequest struct {
	ID      string // <namespace>/bundle/<name>; "" is what the directory calls for
	Version string // "" keeps the version that the manifest has; 0.1.0 for a new one
	Dir     string
	DryRun  bool
}

// BundleInfo describes a bundle.
type BundleInfo struct {
	ID       string       `json:"id"`
	Version  string       `json:"version"`
	Space    string       `json:"space,omitempty"` // "" for a directory outside every space
	Path     string       `json:"path"`            // of the manifest
	State    State        `json:"state"`
	Recorded bool         `json:"recorded"`
	SHA256   string       `json:"sha256,omitempty"` // of the manifest
	Signer   string       `json:"signer,omitempty"`
	SignedAt string       `json:"signed_at,omitempty"`
	Bytes    int64        `json:"bytes"` // of the files together
	Files    []BundleFile `json:"files"`
	Commit   string       `json:"commit,omitempty"`

	Code    fault.Code `json:"code,omitempty"` // why it may not be used
	Error   string     `json:"error,omitempty"`
	Hint    fault.Hint `json:"hint,omitzero"`
	Changed []string   `json:"changed,omitempty"`
	Missing []string   `json:"missing,omitempty"`
	Extra   []string   `json:"extra,omitempty"`
}

// BundleFile is an entry of a manifest.
type BundleFile struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
	Signed     bool   `json:"signed"` // carries a signature line of its own, too
}

// BundleCreate lists every file of a directory below .ai in a manifest, signs it
// with the user's key and records all of them in one commit. A file that carries
// a signature line of its own must be validly signed already.
func (r *Rye) BundleCreate(ctx context.Context, q BundleRequest) (*BundleInfo, error) {
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, dir, err := s.bundlePlace(q.Dir)
	if err != nil {
		return nil, err
	}
	m, old, err := s.listBundle(l, dir, q)
	if err != nil {
		return nil, err
	}
	files, err := s.bundleFiles(l, dir, m)
	if err != nil {
		return nil, err
	}
	key, err := r.signerFor(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := m.Encode()
	if err == nil {
		raw, err = trust.SignManifest(ctx, key, raw, s.stack.Scope(l), r.notBefore(old))
	}
	if err != nil {
		return nil, err
	}
	// What would not verify here must not be written.
	if _, err := trust.OpenBundle(raw, l.Folder(dir), s.stack.Scope(l), s.trust); err != nil {
		return nil, err
	}
	if q.DryRun {
		return s.describeBundle(raw, l.Folder(dir)), nil
	}
	commit, err := s.writeBundle(ctx, l, dir, key.Public(), raw, files)
	if err != nil {
		return nil, err
	}
	info, err := s.bundleInfo(ctx, l, dir)
	if err == nil {
		info.Commit = commit
	}
	return info, err
}

// bundlePlace returns the space and the slash path below .ai of a directory.
func (s *session) bundlePlace(dir string) (*space.Layer, string, error) {
	for _, l := range s.stack.Layers() {
		p, ok := below(l.Dir, dir)
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
func (s *session) listBundle(l *space.Layer, dir string, q BundleRequest) (m, old *objects.Manifest, err error) {
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
func (r *Rye) notBefore(old *objects.Manifest) time.Time {
	now := r.o.Now()
	if old == nil || old.Item().Signature == nil {
		return now
	}
	if at := old.Item().Signature.SignedAt; at.After(now) && at.Sub(now) < 24*time.Hour {
		return at
	}
	return now
}

// bundleFiles reads what a manifest lists, for the record.
func (s *session) bundleFiles(l *space.Layer, dir string, m *objects.Manifest) ([]store.Change, error) {
	var all []store.Change
	err := m.Read(l.Folder(dir), func(f objects.File, data []byte) error {
		if len(data) > space.MaxItem {
			return fault.New(fault.Limit, "bundle %s: %s has %d bytes, at most %d are recorded", m.ID, f.Path, len(data), space.MaxItem)
		}
		p := dir + "/" + f.Path
		all = append(all, store.Change{Path: p, Data: data})
		if it := lined(p, data); it != nil {
			if _, err := trust.Verify(it, s.stack.Scope(l), s.trust); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// lined returns the item in a file that carries a signature line of its own.
func lined(p string, data []byte) *objects.Item {
	it, err := objects.Parse(p, data)
	if err != nil || it.Signature == nil && it.Legacy == nil {
		return nil
	}
	return it
}

// writeBundle puts the manifest in place and records it with its files. What the
// record held in the directory beside them goes.
func (s *session) writeBundle(ctx context.Context, l *space.Layer, dir string, key trust.PublicKey, raw []byte, files []store.Change) (string, error) {
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return "", err
	}
	changes, err := s.bundleChanges(l, dir, raw, files)
	if err != nil {
		return "", err
	}
	if err := s.noteSigner(l, key); err != nil {
		return "", err
	}
	if err := l.Write(dir+"/"+objects.ManifestName, raw, true); err != nil {
		return "", err
	}
	return s.record(ctx, l, "bundle", []objects.Ref{m.Ref()}, changes)
}

// bundleChanges makes the record hold exactly the manifest and the files.
func (s *session) bundleChanges(l *space.Layer, dir string, raw []byte, files []store.Change) ([]store.Change, error) {
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

// BundleVerify checks a bundle: its manifest's signature and trust, and every file
// of its directory. arg is an id or a path; the path may lie outside .ai. The
// description is returned with the error.
func (r *Rye) BundleVerify(ctx context.Context, arg string) (*BundleInfo, error) {
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if b, ok, err := s.systemBundle(arg); ok || err != nil {
		return b, err
	}
	l, dir, err := s.findBundle(arg)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return s.strayBundle(dir)
	}
	info, err := s.bundleInfo(ctx, l, dir)
	if err == nil && info.Error != "" {
		err = fault.New(info.Code, "%s", info.Error).With(info.Hint)
	}
	return info, err
}

// BundleList describes every bundle of the project and the user space.
func (r *Rye) BundleList(ctx context.Context) ([]BundleInfo, error) {
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []BundleInfo
	for _, l := range s.stack.Layers() {
		dirs, err := l.Bundles(ctx)
		if err != nil {
			return nil, err
		}
		slices.Sort(dirs)
		for _, dir := range dirs {
			info, err := s.bundleInfo(ctx, l, dir)
			if err != nil {
				return nil, err
			}
			all = append(all, *info)
		}
	}
	return all, nil
}

// findBundle returns where a bundle lies: in a space, or, with no layer, at a
// path of the disk.
func (s *session) findBundle(arg string) (*space.Layer, string, error) {
	if dir, err := bundleDirOf(arg); err == nil {
		for _, l := range s.stack.Layers() {
			if _, err := l.Read(dir + "/" + objects.ManifestName); !errors.Is(err, fs.ErrNotExist) {
				return l, dir, nil
			}
		}
		if _, err := os.Lstat(arg); err != nil {
			return nil, "", fault.New(fault.NotFound, "bundle %s: no manifest in .ai/%s", arg, dir).Mend("rye bundle list")
		}
	}
	dir := arg
	if filepath.Base(arg) == objects.ManifestName {
		dir = filepath.Dir(arg)
	}
	if _, err := os.Lstat(filepath.Join(dir, objects.ManifestName)); err != nil {
		return nil, "", fault.New(fault.NotFound, "bundle %s: no %s there", arg, objects.ManifestName).Mend("rye bundle list")
	}
	for _, l := range s.stack.Layers() {
		if p, ok := below(l.Dir, dir); ok {
			return l, p, nil
		}
	}
	return nil, dir, nil
}

// bundleDirOf reads acme/bundle/report, with or without bundle: before it.
func bundleDirOf(arg string) (string, error) {
	id, err := objects.ParseID(strings.TrimPrefix(arg, "bundle:"))
	if err != nil {
		return "", err
	}
	return objects.BundleDir(id)
}

// systemBundle describes the standard library, when that is asked for.
func (s *session) systemBundle(arg string) (*BundleInfo, bool, error) {
	system, err := s.stack.System()
	if err != nil || strings.TrimPrefix(arg, "bundle:") != string(system.ID()) {
		return nil, false, err
	}
	info := &BundleInfo{ID: string(system.ID()), Version: system.Version(), Space: objects.System.String(), Path: objects.ManifestName,
		State: space.Signed, Recorded: true, SHA256: system.Digest().String(), Signer: system.Key().String()}
	if err = system.Read(func(f objects.File, data []byte) error { info.add(f, data); return nil }); err != nil {
		info.refuse(err)
	}
	return info, true, err
}

// strayBundle checks a bundle outside every space, by the keys that count here.
func (s *session) strayBundle(dir string) (*BundleInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	raw, err := readBounded(filepath.Join(dir, objects.ManifestName))
	if err != nil {
		return nil, err
	}
	files := space.WithoutLitter(root.FS())
	info := s.describeBundle(raw, files)
	info.Path = filepath.Join(dir, objects.ManifestName)
	scope := trust.Scope{Space: objects.User}
	if s.project != nil {
		scope = trust.Scope{Space: objects.Project, Project: s.project.Project}
	}
	b, err := trust.OpenBundle(raw, files, scope, s.trust)
	if err == nil {
		err = b.Check()
	}
	if err != nil {
		info.State = space.Untrusted
		info.refuse(err)
	}
	return info, err
}

// bundleInfo describes the bundle in a directory of a space, and says what is
// wrong with it. The error is a failure to look.
func (s *session) bundleInfo(ctx context.Context, l *space.Layer, dir string) (*BundleInfo, error) {
	p := dir + "/" + objects.ManifestName
	c, err := s.stack.Cover(ctx, l, p, nil)
	if err != nil {
		return nil, err
	}
	raw, err := l.Read(p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) == fault.Failed {
		return nil, err
	}
	info := s.describeBundle(raw, l.Folder(dir))
	info.Space, info.Path = l.Space.String(), ".ai/"+p
	if c == nil {
		_, err := objects.BundleID(dir)
		if err == nil {
			err = fault.New(fault.NotFound, "bundle in .ai/%s: no manifest there", dir)
		}
		info.State = space.Malformed
		info.refuse(err)
		return info, nil
	}
	if info.ID == "" {
		id, _ := objects.BundleID(dir)
		info.ID = string(id)
	}
	info.State, info.Recorded = c.State, c.Recorded
	if err := c.Check(); err != nil {
		if info.State == space.Signed {
			info.State = space.Modified
		}
		info.refuse(err)
	}
	return info, nil
}

// describeBundle says what a manifest says, believed or not.
func (s *session) describeBundle(raw []byte, files fs.FS) *BundleInfo {
	info := &BundleInfo{State: space.Signed, Files: []BundleFile{}}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		info.State = space.Malformed
		return info
	}
	info.ID, info.Version, info.SHA256 = string(m.ID), m.Version, m.Item().Sum.String()
	if sig := m.Item().Signature; sig != nil {
		info.Signer, info.SignedAt = sig.Key.String(), sig.SignedAt.UTC().Format(time.RFC3339)
	}
	content := map[string][]byte{}
	// What is wrong with the files is said elsewhere; here it is what they carry.
	_ = m.Read(files, func(f objects.File, data []byte) error { content[f.Path] = data; return nil })
	for _, f := range m.Files {
		info.add(f, content[f.Path])
	}
	return info
}

func (b *BundleInfo) add(f objects.File, data []byte) {
	_, sig, legacy, err := objects.Split(f.Path, data)
	b.Bytes += f.Size
	b.Files = append(b.Files, BundleFile{Path: f.Path, Size: f.Size, SHA256: f.Sum.String(), Executable: f.Executable,
		Signed: err == nil && (sig != nil || legacy != nil)})
}

// refuse notes why a bundle may not be used.
func (b *BundleInfo) refuse(err error) {
	b.Code, b.Error, b.Hint = fault.CodeOf(err), err.Error(), fault.HintOf(err)
	var e *objects.BundleError
	if errors.As(err, &e) {
		b.Changed, b.Missing, b.Extra = e.Changed, e.Missing, e.Extra
	}
}
