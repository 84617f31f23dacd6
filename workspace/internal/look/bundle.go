package look

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
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// VerifyBundle checks a bundle: its manifest's signature and trust, and every file of its
// directory. The description is returned with the error.
func VerifyBundle(ctx context.Context, s *session.Session, q rye.BundleVerifyRequest) (*rye.BundleInfo, error) {
	arg := string(q.Target)
	if b, ok, err := systemBundle(s, arg); ok || err != nil {
		return b, err
	}
	l, dir, err := findBundle(s, arg)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return strayBundle(s, dir)
	}
	info, err := DescribeBundle(ctx, s, l, dir)
	if err == nil && info.Error != "" {
		err = fault.New(info.Code, "%s", info.Error).With(info.Hint)
	}
	return info, err
}

// Bundles describes every bundle of the project and the user space.
func Bundles(ctx context.Context, s *session.Session) ([]rye.BundleInfo, error) {
	var all []rye.BundleInfo
	for _, l := range s.Stack.Layers() {
		dirs, err := l.Bundles(ctx)
		if err != nil {
			return nil, err
		}
		slices.Sort(dirs)
		for _, dir := range dirs {
			info, err := DescribeBundle(ctx, s, l, dir)
			if err != nil {
				return nil, err
			}
			all = append(all, *info)
		}
	}
	return all, nil
}

// systemBundle describes the standard library, if arg names it.
func systemBundle(s *session.Session, arg string) (*rye.BundleInfo, bool, error) {
	system, err := s.Stack.System()
	if err != nil || arg != BundleRef(system.ID()) && strings.TrimPrefix(arg, "bundle:") != string(system.ID()) {
		return nil, false, err
	}
	info := &rye.BundleInfo{ID: string(system.ID()), Version: system.Version(), Space: objects.System.String(), Path: objects.ManifestName,
		State: objects.Signed, Recorded: true, SHA256: system.Digest().String(), Signer: system.Key().String()}
	if err = system.Read(func(f objects.File, data []byte) error { addFile(info, f, hasLine(f.Path, data)); return nil }); err != nil {
		refuseBundle(info, err)
	}
	return info, true, err
}

// strayBundle checks a bundle outside every space, by the keys that are trusted here.
func strayBundle(s *session.Session, dir string) (*rye.BundleInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	raw, err := place.Read(filepath.Join(dir, objects.ManifestName), space.MaxItem)
	if err != nil {
		return nil, err
	}
	files := space.Bounded(root.FS())
	info := DescribeManifest(raw, files)
	info.Path = filepath.Join(dir, objects.ManifestName)
	scope := trust.Scope{Space: objects.User, Place: s.Stack.Home}
	if s.Project != nil {
		scope = s.Stack.Scope(s.Stack.Project)
	}
	b, err := trust.OpenBundle(raw, files, scope, s.Trust)
	if err == nil {
		err = b.Check()
	}
	if err != nil {
		info.State = objects.Untrusted
		refuseBundle(info, err)
	}
	return info, err
}

// DescribeBundle describes the bundle in a directory of a space, with its problems. The error
// is a failure to read it.
func DescribeBundle(ctx context.Context, s *session.Session, l *space.Layer, dir string) (*rye.BundleInfo, error) {
	p := dir + "/" + objects.ManifestName
	c, err := s.Stack.Cover(ctx, l, p, nil)
	if err != nil {
		return nil, err
	}
	raw, err := l.Read(p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) == fault.Failed {
		return nil, err
	}
	info := DescribeManifest(raw, l.Folder(dir))
	info.Space, info.Path, info.State = l.Space.String(), ".ai/"+p, objects.Malformed
	id, err := objects.BundleID(dir)
	if c != nil {
		info.ID = cmp.Or(info.ID, string(id))
		info.State, info.Recorded, err = c.State, c.Recorded, c.Check()
		if err != nil && info.State == objects.Signed {
			info.State = objects.Modified
		}
	} else if err == nil {
		err = fault.New(fault.NotFound, "bundle in .ai/%s: no manifest there", dir)
	}
	if err != nil {
		refuseBundle(info, err)
	}
	return info, nil
}

// DescribeManifest describes a manifest, trusted or not. files is its directory.
func DescribeManifest(raw []byte, files fs.FS) *rye.BundleInfo {
	info := &rye.BundleInfo{State: objects.Signed, Files: []rye.BundleFile{}}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		info.State = objects.Malformed
		return info
	}
	info.ID, info.Version, info.SHA256 = string(m.ID), m.Version, m.Item().Sum.String()
	info.Origin = OriginOf(m)
	info.Deps = m.Deps
	if sig := m.Item().Signature; sig != nil {
		info.Signer, info.SignedAt = sig.Key.String(), sig.SignedAt.UTC().Format(time.RFC3339)
	}
	lines := map[string]bool{}
	// Problems of the files are reported elsewhere; this looks only for signature lines.
	_ = m.Read(files, func(f objects.File, data []byte) error {
		lines[f.Path] = hasLine(f.Path, data)
		if p, is := Program(m, f, data); is {
			info.Programs = append(info.Programs, p)
		}
		return nil
	})
	info.Needs = m.Needs.String()
	for _, f := range m.Files {
		addFile(info, f, lines[f.Path])
	}
	return info
}

func addFile(b *rye.BundleInfo, f objects.File, signed bool) {
	b.Bytes += f.Size
	b.Files = append(b.Files, rye.BundleFile{Path: f.Path, Size: f.Size, SHA256: f.Sum.String(), Executable: f.Executable, Signed: signed})
}

// hasLine reports whether a file of a bundle has its own signature line. Only a file small
// enough to be an item can have one.
func hasLine(path string, data []byte) bool {
	if len(data) > space.MaxItem {
		return false
	}
	_, sig, legacy, err := objects.Split(path, data)
	return err == nil && (sig != nil || legacy != nil)
}

// refuseBundle notes why a bundle may not be used.
func refuseBundle(b *rye.BundleInfo, err error) {
	b.Code, b.Error, b.Hint = fault.CodeOf(err), err.Error(), fault.HintOf(err)
	var e *objects.BundleError
	if errors.As(err, &e) {
		b.Changed, b.Missing, b.Extra = e.Changed, e.Missing, e.Extra
	}
}

// BundleRef is the name of a bundle in lists of refs.
func BundleRef(id objects.ID) string { return objects.BundleRef(id).String() }

// BundleTarget returns the directory of the bundle that a user named by its id, its directory
// or its manifest. The directory or the record has to have a manifest.
func BundleTarget(l *space.Layer, t rye.Target) (string, bool) {
	dir, ok := bundleDir(l, string(t))
	if !ok {
		return "", false
	}
	p := dir + "/" + objects.ManifestName
	if _, err := l.Read(p); err == nil {
		return dir, true
	}
	was, err := l.RecordedBlob(p)
	return dir, err == nil && !was.IsZero()
}

// PackageOf returns the directory of the package whose entry a user named by its ref, and not
// by a path: the name stands for the whole package.
func PackageOf(l *space.Layer, t rye.Target, ref objects.Ref) (string, bool) {
	at, err := l.Locate(ref)
	dir, in := objects.InBundles(at)
	_, path := session.Below(l.Dir, string(t))
	_, typed := objects.ParseRef(string(t))
	return dir, err == nil && in && dir == objects.BundlesDir+"/"+string(ref.ID) && (typed == nil || !path)
}

// FolderTarget is BundleTarget, also for a directory that is not yet a bundle and can become
// one.
func FolderTarget(l *space.Layer, t rye.Target) (string, bool) {
	if dir, ok := BundleTarget(l, t); ok {
		return dir, true
	}
	dir, ok := bundleDir(l, string(t))
	return dir, ok && l.IsFolder(dir)
}

// FolderNamed returns the directory for a bundle that a user named as one, whether it is there or
// not.
func FolderNamed(l *space.Layer, t rye.Target) (string, bool) { return bundleDir(l, string(t)) }

// RecordedBundle is BundleTarget for a bundle that was ever recorded, even if it has been
// removed since.
func RecordedBundle(ctx context.Context, l *space.Layer, t rye.Target) (string, bool) {
	dir, ok := bundleDir(l, string(t))
	if !ok {
		return "", false
	}
	was, err := l.LastFolder(ctx, dir, dir+"/"+objects.ManifestName)
	return dir, err == nil && len(was) > 0
}

// bundleDir returns the directory for a bundle that arg names.
func bundleDir(l *space.Layer, arg string) (string, bool) {
	if IsPattern(rye.Target(arg)) {
		return "", false
	}
	dir, err := bundleDirOf(arg)
	if err != nil {
		p, ok := session.Below(l.Dir, arg)
		if !ok {
			return "", false
		}
		dir = strings.TrimSuffix(p, "/"+objects.ManifestName)
	}
	_, err = objects.BundleID(dir)
	return dir, err == nil
}

// bundleDirOf parses bundle:acme/report and acme/bundle/report, the latter also with a leading
// bundle:.
func bundleDirOf(arg string) (string, error) {
	name, named := strings.CutPrefix(arg, "bundle:")
	if ns, rest, ok := strings.Cut(name, "/"); ok && named && !strings.HasPrefix(rest, "bundle/") {
		name = ns + "/bundle/" + rest
	}
	id, err := objects.ParseID(name)
	if err != nil {
		return "", err
	}
	return objects.BundleDir(id)
}

// findBundle returns the place of a bundle: in a space or, without a layer, at a path on disk.
func findBundle(s *session.Session, arg string) (*space.Layer, string, error) {
	if dir, err := bundleDirOf(arg); err == nil {
		for _, l := range s.Stack.Layers() {
			if _, err := l.Read(dir + "/" + objects.ManifestName); !errors.Is(err, fs.ErrNotExist) {
				return l, dir, nil
			}
		}
		if _, err := os.Lstat(arg); err != nil {
			return nil, "", fault.New(fault.NotFound, "bundle %s: no manifest in .ai/%s", arg, dir).Advise("rye list bundle")
		}
	}
	dir := arg
	if filepath.Base(arg) == objects.ManifestName {
		dir = filepath.Dir(arg)
	}
	if _, err := os.Lstat(filepath.Join(dir, objects.ManifestName)); err != nil {
		return nil, "", fault.New(fault.NotFound, "bundle %s: no %s there", arg, objects.ManifestName).Advise("rye list bundle")
	}
	for _, l := range s.Stack.Layers() {
		if p, ok := session.Below(l.Dir, dir); ok {
			return l, p, nil
		}
	}
	return nil, dir, nil
}

// bundleFinding is the finding of a bundle that a user named.
func bundleFinding(ctx context.Context, s *session.Session, t rye.Target) (f space.Finding, ok bool, err error) {
	for _, l := range s.Stack.Layers() {
		dir, named := BundleTarget(l, t)
		if !named {
			continue
		}
		c, err := s.Stack.Cover(ctx, l, dir+"/"+objects.ManifestName, nil)
		if err != nil || c == nil {
			return f, false, err
		}
		return c.Finding(l), true, nil
	}
	return f, false, nil
}

// BundlesAt returns the bundles in a folder of a layer, or around a file, sorted.
func BundlesAt(ctx context.Context, l *space.Layer, p string) ([]string, error) {
	dirs, err := l.Bundles(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return p != "." && dir != p && !strings.HasPrefix(dir, p+"/") && !strings.HasPrefix(p, dir+"/")
	}), nil
}

// InAny reports whether a file is in one of the directories.
func InAny(dirs []string, p string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(p, dir+"/") })
}

// Lined returns the item in a file with its own signature line; nil for any other file.
func Lined(p string, data []byte) *objects.Item {
	it, err := objects.Parse(p, data)
	if err != nil || it.Signature == nil && it.Legacy == nil {
		return nil
	}
	return it
}

// answeredBy returns the directory of the bundle that alone verifies an item: a working file
// in a bundle, without its own signature line. It is "" for every other item.
func answeredBy(ctx context.Context, s *session.Session, l *space.Layer, p string, seen *space.Covers) (string, error) {
	c, err := s.Stack.Cover(ctx, l, p, seen)
	if err != nil || c == nil {
		return "", err
	}
	if lineAt(l, p) {
		return "", nil
	}
	return c.Dir, nil
}

// lineAt reports whether the working file at p has its own signature line.
func lineAt(l *space.Layer, p string) bool {
	raw, err := l.Read(p)
	return err == nil && Lined(p, raw) != nil
}
