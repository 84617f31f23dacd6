package look

import (
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
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Lined returns the item in a file that carries a signature line of its own.
func Lined(p string, data []byte) *objects.Item {
	it, err := objects.Parse(p, data)
	if err != nil || it.Signature == nil && it.Legacy == nil {
		return nil
	}
	return it
}

// VerifyBundle checks a bundle: its manifest's signature and trust, and every file
// of its directory. The description is returned with the error.
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
	info, err := BundleInfo(ctx, s, l, dir)
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
			info, err := BundleInfo(ctx, s, l, dir)
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
func findBundle(s *session.Session, arg string) (*space.Layer, string, error) {
	if dir, err := bundleDirOf(arg); err == nil {
		for _, l := range s.Stack.Layers() {
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
	for _, l := range s.Stack.Layers() {
		if p, ok := session.Below(l.Dir, dir); ok {
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
func systemBundle(s *session.Session, arg string) (*rye.BundleInfo, bool, error) {
	system, err := s.Stack.System()
	if err != nil || strings.TrimPrefix(arg, "bundle:") != string(system.ID()) {
		return nil, false, err
	}
	info := &rye.BundleInfo{ID: string(system.ID()), Version: system.Version(), Space: objects.System.String(), Path: objects.ManifestName,
		State: objects.Signed, Recorded: true, SHA256: system.Digest().String(), Signer: system.Key().String()}
	if err = system.Read(func(f objects.File, data []byte) error { addFile(info, f, data); return nil }); err != nil {
		refuseBundle(info, err)
	}
	return info, true, err
}

// strayBundle checks a bundle outside every space, by the keys that count here.
func strayBundle(s *session.Session, dir string) (*rye.BundleInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	raw, err := ReadBounded(filepath.Join(dir, objects.ManifestName))
	if err != nil {
		return nil, err
	}
	files := space.WithoutLitter(root.FS())
	info := DescribeBundle(s, raw, files)
	info.Path = filepath.Join(dir, objects.ManifestName)
	scope := trust.Scope{Space: objects.User}
	if s.Project != nil {
		scope = trust.Scope{Space: objects.Project, Project: s.Project.Project}
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

// BundleInfo describes the bundle in a directory of a space, and says what is
// wrong with it. The error is a failure to look.
func BundleInfo(ctx context.Context, s *session.Session, l *space.Layer, dir string) (*rye.BundleInfo, error) {
	p := dir + "/" + objects.ManifestName
	c, err := s.Stack.Cover(ctx, l, p, nil)
	if err != nil {
		return nil, err
	}
	raw, err := l.Read(p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) == fault.Failed {
		return nil, err
	}
	info := DescribeBundle(s, raw, l.Folder(dir))
	info.Space, info.Path = l.Space.String(), ".ai/"+p
	if c == nil {
		_, err := objects.BundleID(dir)
		if err == nil {
			err = fault.New(fault.NotFound, "bundle in .ai/%s: no manifest there", dir)
		}
		info.State = objects.Malformed
		refuseBundle(info, err)
		return info, nil
	}
	if info.ID == "" {
		id, _ := objects.BundleID(dir)
		info.ID = string(id)
	}
	info.State, info.Recorded = c.State, c.Recorded
	if err := c.Check(); err != nil {
		if info.State == objects.Signed {
			info.State = objects.Modified
		}
		refuseBundle(info, err)
	}
	return info, nil
}

// DescribeBundle says what a manifest says, believed or not.
func DescribeBundle(s *session.Session, raw []byte, files fs.FS) *rye.BundleInfo {
	info := &rye.BundleInfo{State: objects.Signed, Files: []rye.BundleFile{}}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		info.State = objects.Malformed
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
		addFile(info, f, content[f.Path])
	}
	return info
}

func addFile(b *rye.BundleInfo, f objects.File, data []byte) {
	_, sig, legacy, err := objects.Split(f.Path, data)
	b.Bytes += f.Size
	b.Files = append(b.Files, rye.BundleFile{Path: f.Path, Size: f.Size, SHA256: f.Sum.String(), Executable: f.Executable,
		Signed: err == nil && (sig != nil || legacy != nil)})
}

// refuseBundle notes why a bundle may not be used.
func refuseBundle(b *rye.BundleInfo, err error) {
	b.Code, b.Error, b.Hint = fault.CodeOf(err), err.Error(), fault.HintOf(err)
	var e *objects.BundleError
	if errors.As(err, &e) {
		b.Changed, b.Missing, b.Extra = e.Changed, e.Missing, e.Extra
	}
}

// BundleRef is how a bundle is called where refs are listed.
func BundleRef(id objects.ID) string { return "bundle:" + string(id) }

// BundleTargets takes the bundles out of what a person typed: their ids, their
// directories, their manifests. With all, every bundle of the layer is one.
func BundleTargets(ctx context.Context, s *session.Session, l *space.Layer, args []rye.Target, all bool) (dirs []string, rest []rye.Target, err error) {
	for _, arg := range args {
		if dir, ok := BundleTarget(s, l, string(arg)); ok {
			dirs = append(dirs, dir)
			continue
		}
		rest = append(rest, arg)
	}
	if all {
		every, err := l.Bundles(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, dir := range every {
			if _, err := objects.BundleID(dir); err == nil {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), rest, nil
}

// bundleArg returns the directory that a bundle has which arg could name.
func bundleArg(l *space.Layer, arg string) (string, bool) {
	if strings.ContainsAny(arg, "*?") {
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

// BundleOnceRecorded is bundleTarget for a bundle that may have been removed.
func BundleOnceRecorded(ctx context.Context, s *session.Session, l *space.Layer, arg string) (string, bool) {
	dir, ok := bundleArg(l, arg)
	if !ok {
		return "", false
	}
	was, err := l.LastFolder(ctx, dir, dir+"/"+objects.ManifestName)
	return dir, err == nil && len(was) > 0
}

// BundleTarget returns the directory of the bundle that arg names: one that is
// there, or that the record holds.
func BundleTarget(s *session.Session, l *space.Layer, arg string) (string, bool) {
	dir, ok := bundleArg(l, arg)
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

// WithBundles replaces the refs that only a bundle answers for by that bundle.
func WithBundles(ctx context.Context, s *session.Session, l *space.Layer, refs []objects.Ref, dirs []string) ([]objects.Ref, []string, error) {
	seen := &space.Covers{}
	kept := refs[:0:0]
	locate := l.Locations(refs)
	for _, ref := range refs {
		p, err := locate(ref)
		if err != nil || p == "" {
			kept = append(kept, ref) // whoever works on it says what is wrong
			continue
		}
		c, err := s.Stack.Cover(ctx, l, p, seen)
		if err != nil {
			return nil, nil, err
		}
		if c == nil {
			kept = append(kept, ref)
			continue
		}
		if raw, err := l.Read(p); err == nil && Lined(p, raw) != nil {
			kept = append(kept, ref)
			continue
		}
		dirs = append(dirs, c.Dir)
	}
	slices.Sort(dirs)
	return kept, slices.Compact(dirs), nil
}

// BundleFinding is the finding of a bundle that a person named.
func BundleFinding(ctx context.Context, s *session.Session, arg string) (f space.Finding, ok bool, err error) {
	for _, l := range s.Stack.Layers() {
		dir, named := BundleTarget(s, l, arg)
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

// BundlesAt returns the bundles that lie in a folder of a layer, or that a file
// lies in.
func BundlesAt(ctx context.Context, s *session.Session, l *space.Layer, p string) ([]string, error) {
	every, err := l.Bundles(ctx)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, dir := range every {
		if p == "." || dir == p || strings.HasPrefix(dir, p+"/") || strings.HasPrefix(p, dir+"/") {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// InAny reports whether a file lies in one of the directories.
func InAny(dirs []string, p string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(p, dir+"/") })
}
