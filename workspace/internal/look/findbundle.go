package look

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// BundleRef is how a bundle is called where refs are listed.
func BundleRef(id objects.ID) string { return "bundle:" + string(id) }

// BundleTarget returns the directory of the bundle that a user named by its id, its
// directory or its manifest: one that is there, or that the record holds.
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

// RecordedBundle is BundleTarget for a bundle that was ever recorded, also one that has been
// removed since.
func RecordedBundle(ctx context.Context, l *space.Layer, t rye.Target) (string, bool) {
	dir, ok := bundleDir(l, string(t))
	if !ok {
		return "", false
	}
	was, err := l.LastFolder(ctx, dir, dir+"/"+objects.ManifestName)
	return dir, err == nil && len(was) > 0
}

// bundleDir returns the directory in which a bundle that arg names would lie.
func bundleDir(l *space.Layer, arg string) (string, bool) {
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

// bundleDirOf reads acme/bundle/report, with or without bundle: before it.
func bundleDirOf(arg string) (string, error) {
	id, err := objects.ParseID(strings.TrimPrefix(arg, "bundle:"))
	if err != nil {
		return "", err
	}
	return objects.BundleDir(id)
}

// findBundle returns where a bundle lies: in a space or, with no layer, at a path of the
// disk.
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

// BundlesAt returns the bundles that lie in a folder of a layer, or that a file lies in,
// sorted.
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

// InAny reports whether a file lies in one of the directories.
func InAny(dirs []string, p string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(p, dir+"/") })
}

// Lined returns the item in a file that carries a signature line of its own; nil for any
// other file.
func Lined(p string, data []byte) *objects.Item {
	it, err := objects.Parse(p, data)
	if err != nil || it.Signature == nil && it.Legacy == nil {
		return nil
	}
	return it
}

// answeredBy returns the directory of the bundle that alone answers for an item: a working
// file in a bundle, without a signature line of its own. It is "" for every other item.
func answeredBy(ctx context.Context, s *session.Session, l *space.Layer, p string, seen *space.Covers) (string, error) {
	c, err := s.Stack.Cover(ctx, l, p, seen)
	if err != nil || c == nil {
		return "", err
	}
	if raw, err := l.Read(p); err == nil && Lined(p, raw) != nil {
		return "", nil
	}
	return c.Dir, nil
}
