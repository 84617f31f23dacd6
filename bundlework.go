package rye

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// A bundle goes through add, sign, adopt, remove and restore as one: its manifest
// and every file of its directory, or nothing of it.

// bundleRef is how a bundle is called where refs are listed.
func bundleRef(id objects.ID) string { return "bundle:" + string(id) }

// bundleTargets takes the bundles out of what a person typed: their ids, their
// directories, their manifests. With all, every bundle of the layer is one.
func (s *session) bundleTargets(ctx context.Context, l *space.Layer, args []string, all bool) (dirs, rest []string, err error) {
	for _, arg := range args {
		if dir, ok := s.bundleTarget(l, arg); ok {
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
		p, ok := below(l.Dir, arg)
		if !ok {
			return "", false
		}
		dir = strings.TrimSuffix(p, "/"+objects.ManifestName)
	}
	_, err = objects.BundleID(dir)
	return dir, err == nil
}

// bundleOnceRecorded is bundleTarget for a bundle that may have been removed.
func (s *session) bundleOnceRecorded(ctx context.Context, l *space.Layer, arg string) (string, bool) {
	dir, ok := bundleArg(l, arg)
	if !ok {
		return "", false
	}
	was, err := l.LastFolder(ctx, dir, dir+"/"+objects.ManifestName)
	return dir, err == nil && len(was) > 0
}

// bundleTarget returns the directory of the bundle that arg names: one that is
// there, or that the record holds.
func (s *session) bundleTarget(l *space.Layer, arg string) (string, bool) {
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

// withBundles replaces the refs that only a bundle answers for by that bundle.
func (s *session) withBundles(ctx context.Context, l *space.Layer, refs []objects.Ref, dirs []string) ([]objects.Ref, []string, error) {
	seen := &space.Covers{}
	kept := refs[:0:0]
	locate := l.Locations(refs)
	for _, ref := range refs {
		p, err := locate(ref)
		if err != nil || p == "" {
			kept = append(kept, ref) // whoever works on it says what is wrong
			continue
		}
		c, err := s.stack.Cover(ctx, l, p, seen)
		if err != nil {
			return nil, nil, err
		}
		if c == nil {
			kept = append(kept, ref)
			continue
		}
		if raw, err := l.Read(p); err == nil && lined(p, raw) != nil {
			kept = append(kept, ref)
			continue
		}
		dirs = append(dirs, c.Dir)
	}
	slices.Sort(dirs)
	return kept, slices.Compact(dirs), nil
}

// workBundle is a bundle of the working tree, complete, with what there is to record.
type workBundle struct {
	manifest *objects.Manifest
	dir      string
	raw      []byte
	changes  []store.Change
}

// readBundle reads a bundle whose files are those of its manifest. It does not ask
// who signed it.
func (s *session) readBundle(l *space.Layer, dir string) (*workBundle, error) {
	raw, err := l.Read(dir + "/" + objects.ManifestName)
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
	b := &workBundle{manifest: m, dir: dir, raw: raw}
	var files []store.Change
	err = m.Read(l.Folder(dir), func(f objects.File, data []byte) error {
		files = append(files, store.Change{Path: dir + "/" + f.Path, Data: data})
		return nil
	})
	if err == nil {
		b.changes, err = s.bundleChanges(l, dir, raw, files)
	}
	return b, err
}

// prepareBundles signs manifests in memory, as prepare does items. A bundle whose
// files are signed anew in the same call would be out of date at once.
func (s *session) prepareBundles(ctx context.Context, l *space.Layer, dirs []string, items []*signing, key trust.Signer, q SignRequest) []*signing {
	var all []*signing
	for _, dir := range dirs {
		d := s.signBundle(ctx, l, dir, key, q)
		for _, it := range items {
			if d.err == nil && it.raw != nil && inAny([]string{dir}, it.path) {
				d.err = fault.New(fault.Integrity, "sign %s: %s in it is signed anew, so its manifest has to be made again", d.Ref, it.ref).
					Mend("rye bundle create .ai/%s", dir)
				d.raw, d.keep, d.Status = nil, nil, "failed"
			}
		}
		all = append(all, d)
	}
	return all
}

// signBundle signs a manifest that agrees with its directory, for Sign.
func (s *session) signBundle(ctx context.Context, l *space.Layer, dir string, key trust.Signer, q SignRequest) *signing {
	d := &signing{path: dir + "/" + objects.ManifestName}
	d.SignResult = SignResult{Ref: ".ai/" + dir, Status: "failed", Path: ".ai/" + d.path}
	b, err := s.readBundle(l, dir)
	if err != nil {
		d.err = err
		return d
	}
	d.ref, d.Ref = b.manifest.Ref(), bundleRef(b.manifest.ID)
	scope := s.stack.Scope(l)
	for _, c := range b.changes {
		if it := lined(c.Path, c.Data); it != nil {
			if _, err := trust.Verify(it, scope, s.trust); err != nil {
				d.err = err // its signer's line must hold as well
				return d
			}
		}
	}
	if open, err := trust.OpenBundle(b.raw, l.Folder(dir), scope, s.trust); err == nil && open.Key() == key.Public() {
		// Signed it was before: whether it is older, nothing but the record knows.
		if c, err := s.stack.Cover(ctx, l, d.path, nil); err != nil || c.State == space.Older {
			if d.err = err; err == nil {
				d.err = c.Err
			}
			return d
		}
		d.Status, d.keep, d.more = "unchanged", b.raw, b.changes
		d.describe(b.manifest.Item())
		return d
	}
	raw, err := trust.SignManifest(ctx, key, b.raw, scope, s.r.o.Now())
	if err == nil {
		_, err = trust.OpenBundle(raw, l.Folder(dir), scope, s.trust)
	}
	if err == nil {
		b.manifest, err = objects.ParseManifest(raw)
	}
	if err != nil {
		d.err = err
		return d
	}
	d.raw, d.Status, d.more = raw, "signed", b.changes
	if q.Check || q.DryRun {
		d.Status = "would-sign"
	}
	d.describe(b.manifest.Item())
	return d
}

// addBundle records a bundle as it is, signed or not, for Add.
func (s *session) addBundle(ctx context.Context, l *space.Layer, dir string) (AddReport, []store.Change, error) {
	rep := AddReport{Ref: ".ai/" + dir, Path: ".ai/" + dir}
	b, err := s.readBundle(l, dir)
	if err != nil {
		return rep, nil, err
	}
	c, err := s.stack.Cover(ctx, l, dir+"/"+objects.ManifestName, nil)
	if err != nil {
		return rep, nil, err
	}
	rep.Ref, rep.SHA256, rep.State = bundleRef(b.manifest.ID), b.manifest.Item().Sum.String(), c.State
	if c.State == space.Older {
		return rep, nil, c.Err
	}
	if c.State != space.Signed {
		rep.Next = fault.Command("rye sign .ai/%s", dir)
	}
	return rep, b.changes, nil
}

// adoptBundle tries a bundle against the trust store as a yes would leave it, with
// the lines that its files carry of their own.
func (a *adoption) adoptBundle(s *session, l *space.Layer, dir string, hoped *trust.Store, listed map[objects.Fingerprint]trust.PublicKey) (*workBundle, error) {
	b, err := s.readBundle(l, dir)
	if err != nil {
		return nil, err
	}
	if err := a.believe(b.manifest.Item(), hoped, listed, s.project.Project); err != nil {
		return nil, err
	}
	scope := s.stack.Scope(l)
	if _, err := trust.OpenBundle(b.raw, l.Folder(dir), scope, hoped); err != nil {
		return nil, err
	}
	for _, c := range b.changes {
		it := lined(c.Path, c.Data)
		if it == nil {
			continue
		}
		if err := a.believe(it, hoped, listed, s.project.Project); err != nil {
			return nil, err
		}
		if _, err := trust.Verify(it, scope, hoped); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// removeBundle takes a whole bundle out of the working tree and the record, after
// recording what differs.
func (s *session) removeBundle(ctx context.Context, l *space.Layer, dir string, dryRun bool) (*AddReport, error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, err
	}
	rep := &AddReport{Ref: bundleRef(id), Path: ".ai/" + dir, State: space.Deleted, Next: fault.Command("rye restore .ai/%s", dir)}
	if dryRun {
		return rep, nil
	}
	ref := []objects.Ref{{Kind: objects.Config, ID: id}}
	here, err := s.keepBundle(ctx, l, dir, ref)
	if err != nil {
		return nil, err
	}
	var gone []store.Change
	if err := l.Recorded(func(p string, _ store.OID) error {
		if strings.HasPrefix(p, dir+"/") {
			gone = append(gone, store.Change{Path: p, Delete: true})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if rep.Commit, err = s.record(ctx, l, "remove", ref, gone); err != nil {
		return nil, err
	}
	for _, c := range here {
		if err := l.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	l.Prune(dir)
	return rep, nil
}

// keepBundle records those files of a bundle's directory that the record does not
// hold as they are, and returns all that lie there.
func (s *session) keepBundle(ctx context.Context, l *space.Layer, dir string, ref []objects.Ref) ([]store.Change, error) {
	here, err := l.Contents(dir)
	if err != nil {
		return nil, err
	}
	var keep []store.Change
	for _, c := range here {
		same, err := l.Holds(c.Path, c.Data)
		if err != nil {
			return nil, err
		}
		if !same {
			keep = append(keep, c)
		}
	}
	if len(keep) == 0 {
		return here, nil
	}
	_, err = s.record(ctx, l, "keep", ref, keep)
	return here, err
}

// restoreBundle brings back a bundle as it was last recorded. Files that differ are
// recorded first, and those that do not belong to it leave the directory.
func (s *session) restoreBundle(ctx context.Context, l *space.Layer, dir string, dryRun bool) (*AddReport, error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, err
	}
	was, err := l.LastFolder(ctx, dir, dir+"/"+objects.ManifestName)
	if err != nil {
		return nil, err
	}
	ref := []objects.Ref{{Kind: objects.Config, ID: id}}
	if len(was) == 0 {
		return nil, fault.New(fault.NotFound, "restore bundle %s: never recorded in this project", id).Mend("rye log")
	}
	if dryRun {
		return &AddReport{Ref: bundleRef(id), Path: ".ai/" + dir}, nil
	}
	here, err := s.keepBundle(ctx, l, dir, ref)
	if err != nil {
		return nil, err
	}
	changes, belongs := slices.Clone(was), map[string]bool{}
	for _, c := range was {
		belongs[c.Path] = true
	}
	for _, c := range here {
		if !belongs[c.Path] {
			changes = append(changes, store.Change{Path: c.Path, Delete: true})
		}
	}
	rep := &AddReport{Ref: bundleRef(id), Path: ".ai/" + dir}
	if rep.Commit, err = s.record(ctx, l, "restore", ref, changes); err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Delete {
			err = l.Remove(c.Path)
		} else if have, rerr := l.Read(c.Path); rerr != nil || !bytes.Equal(have, c.Data) {
			err = l.Write(c.Path, c.Data, true)
		}
		if err != nil {
			return nil, err
		}
	}
	c, err := s.stack.Cover(ctx, l, dir+"/"+objects.ManifestName, nil)
	if err != nil || c == nil {
		return rep, err
	}
	rep.SHA256, rep.State = c.Sum.String(), c.State
	return rep, nil
}

// bundleFinding is the finding of a bundle that a person named.
func (s *session) bundleFinding(ctx context.Context, arg string) (f space.Finding, ok bool, err error) {
	for _, l := range s.stack.Layers() {
		dir, named := s.bundleTarget(l, arg)
		if !named {
			continue
		}
		c, err := s.stack.Cover(ctx, l, dir+"/"+objects.ManifestName, nil)
		if err != nil || c == nil {
			return f, false, err
		}
		return c.Finding(l), true, nil
	}
	return f, false, nil
}

// bundlesAt returns the bundles that lie in a folder of a layer, or that a file
// lies in.
func (s *session) bundlesAt(ctx context.Context, l *space.Layer, p string) ([]string, error) {
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

// inAny reports whether a file lies in one of the directories.
func inAny(dirs []string, p string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(p, dir+"/") })
}
