package author

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
)

// workBundle is a bundle of the working tree, complete, with what there is to record.
type workBundle struct {
	manifest *objects.Manifest
	dir      string
	raw      []byte
	changes  []store.Change
}

// readBundle reads a bundle whose files are those of its manifest. It does not ask
// who signed it.
func readBundle(s *Desk, l *space.Layer, dir string) (*workBundle, error) {
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
		b.changes, err = bundleChanges(s, l, dir, raw, files)
	}
	return b, err
}

// prepareBundles signs manifests in memory, as prepare does items. A bundle whose
// files are signed anew in the same call would be out of date at once.
func prepareBundles(ctx context.Context, s *Desk, l *space.Layer, dirs []string, items []*Signing, key trust.Signer, q rye.SignRequest) []*Signing {
	var all []*Signing
	for _, dir := range dirs {
		d := signBundle(ctx, s, l, dir, key, q)
		for _, it := range items {
			if d.Err == nil && it.Raw != nil && look.InAny([]string{dir}, it.path) {
				d.Err = fault.New(fault.Integrity, "sign %s: %s in it is signed anew, so its manifest has to be made again", d.Ref, it.ref).
					Mend("rye bundle create .ai/%s", dir)
				d.Raw, d.keep, d.Status = nil, nil, "failed"
			}
		}
		all = append(all, d)
	}
	return all
}

// signBundle signs a manifest that agrees with its directory, for Sign.
func signBundle(ctx context.Context, s *Desk, l *space.Layer, dir string, key trust.Signer, q rye.SignRequest) *Signing {
	d := &Signing{path: dir + "/" + objects.ManifestName}
	d.SignResult = rye.SignResult{Ref: ".ai/" + dir, Status: "failed", Path: ".ai/" + d.path}
	b, err := readBundle(s, l, dir)
	if err != nil {
		d.Err = err
		return d
	}
	d.ref, d.Ref = b.manifest.Ref(), look.BundleRef(b.manifest.ID)
	scope := s.Stack.Scope(l)
	for _, c := range b.changes {
		if it := look.Lined(c.Path, c.Data); it != nil {
			if _, err := trust.Verify(it, scope, s.Trust); err != nil {
				d.Err = err // its signer's line must hold as well
				return d
			}
		}
	}
	if open, err := trust.OpenBundle(b.raw, l.Folder(dir), scope, s.Trust); err == nil && open.Key() == key.Public() {
		// Signed it was before: whether it is older, nothing but the record knows.
		if c, err := s.Stack.Cover(ctx, l, d.path, nil); err != nil || c.State == objects.Older {
			if d.Err = err; err == nil {
				d.Err = c.Err
			}
			return d
		}
		d.Status, d.keep, d.more = "unchanged", b.raw, b.changes
		d.describe(b.manifest.Item())
		return d
	}
	raw, err := trust.SignManifest(ctx, key, b.raw, scope, s.Now())
	if err == nil {
		_, err = trust.OpenBundle(raw, l.Folder(dir), scope, s.Trust)
	}
	if err == nil {
		b.manifest, err = objects.ParseManifest(raw)
	}
	if err != nil {
		d.Err = err
		return d
	}
	d.Raw, d.Status, d.more = raw, "signed", b.changes
	if q.Check || q.DryRun {
		d.Status = "would-sign"
	}
	d.describe(b.manifest.Item())
	return d
}

// addBundle records a bundle as it is, signed or not, for Add.
func addBundle(ctx context.Context, s *Desk, l *space.Layer, dir string) (rye.AddReport, []store.Change, error) {
	rep := rye.AddReport{Ref: ".ai/" + dir, Path: ".ai/" + dir}
	b, err := readBundle(s, l, dir)
	if err != nil {
		return rep, nil, err
	}
	c, err := s.Stack.Cover(ctx, l, dir+"/"+objects.ManifestName, nil)
	if err != nil {
		return rep, nil, err
	}
	rep.Ref, rep.SHA256, rep.State = look.BundleRef(b.manifest.ID), b.manifest.Item().Sum.String(), c.State
	if c.State == objects.Older {
		return rep, nil, c.Err
	}
	if c.State != objects.Signed {
		rep.Next = fault.Command("rye sign .ai/%s", dir)
	}
	return rep, b.changes, nil
}

// adoptBundle tries a bundle against the trust store as a yes would leave it, with
// the lines that its files carry of their own.
func (a *adoption) adoptBundle(s *Desk, l *space.Layer, dir string, hoped *trust.Store, listed map[objects.Fingerprint]trust.PublicKey) (*workBundle, error) {
	b, err := readBundle(s, l, dir)
	if err != nil {
		return nil, err
	}
	if err := a.believe(b.manifest.Item(), hoped, listed, s.Project.Project); err != nil {
		return nil, err
	}
	scope := s.Stack.Scope(l)
	if _, err := trust.OpenBundle(b.raw, l.Folder(dir), scope, hoped); err != nil {
		return nil, err
	}
	for _, c := range b.changes {
		it := look.Lined(c.Path, c.Data)
		if it == nil {
			continue
		}
		if err := a.believe(it, hoped, listed, s.Project.Project); err != nil {
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
func removeBundle(ctx context.Context, s *Desk, l *space.Layer, dir string, dryRun bool) (*rye.AddReport, error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, err
	}
	rep := &rye.AddReport{Ref: look.BundleRef(id), Path: ".ai/" + dir, State: objects.Deleted, Next: fault.Command("rye restore .ai/%s", dir)}
	if dryRun {
		return rep, nil
	}
	ref := []objects.Ref{{Kind: objects.Config, ID: id}}
	here, err := keepBundle(ctx, s, l, dir, ref)
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
	if rep.Commit, err = record(ctx, s, l, "remove", ref, gone); err != nil {
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
func keepBundle(ctx context.Context, s *Desk, l *space.Layer, dir string, ref []objects.Ref) ([]store.Change, error) {
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
	_, err = record(ctx, s, l, "keep", ref, keep)
	return here, err
}

// restoreBundle brings back a bundle as it was last recorded. Files that differ are
// recorded first, and those that do not belong to it leave the directory.
func restoreBundle(ctx context.Context, s *Desk, l *space.Layer, dir string, dryRun bool) (*rye.AddReport, error) {
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
		return &rye.AddReport{Ref: look.BundleRef(id), Path: ".ai/" + dir}, nil
	}
	here, err := keepBundle(ctx, s, l, dir, ref)
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
	rep := &rye.AddReport{Ref: look.BundleRef(id), Path: ".ai/" + dir}
	if rep.Commit, err = record(ctx, s, l, "restore", ref, changes); err != nil {
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
	c, err := s.Stack.Cover(ctx, l, dir+"/"+objects.ManifestName, nil)
	if err != nil || c == nil {
		return rep, err
	}
	rep.SHA256, rep.State = c.Sum.String(), c.State
	return rep, nil
}
