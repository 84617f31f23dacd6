package author

import (
	"context"
	"strings"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Renewal is the next version of a bundle of the project: its manifest, unsigned, and all of its
// files. Was has the files that it was made from; if one of them changed since, nothing is written.
type Renewal struct {
	Dir      string
	Manifest []byte
	Files    []store.Change
	Was      []store.Change
	Sign     bool // with the user's key
}

// Signable reports whether a bundle's manifest is signed by a key that counts here. So a renewal of
// it is signed as well.
func Signable(d *custody.Desk, m *objects.Manifest) bool {
	if m.Item().Signature == nil {
		return false
	}
	_, err := trust.Verify(m.Item(), d.Stack.Scope(d.Stack.Project), d.Trust)
	return err == nil
}

// Own reports whether a bundle's manifest is signed by a key of the user's own.
func Own(d *custody.Desk, m *objects.Manifest) bool {
	if m.Item().Signature == nil {
		return false
	}
	v, err := trust.Verify(m.Item(), d.Stack.Scope(d.Stack.Project), d.Trust)
	return err == nil && d.Trust.IsOwn(v.Key())
}

// Renew writes a renewal and records it in one commit, after the files that it replaces. What it
// signs are exactly these bytes.
func Renew(ctx context.Context, d *custody.Desk, r Renewal) (commit string, err error) {
	l, err := changeable(ctx, d, "", false)
	if err != nil {
		return "", err
	}
	m, err := objects.ParseManifest(r.Manifest)
	if err != nil {
		return "", err
	}
	raw := r.Manifest
	if r.Sign {
		if raw, err = signRenewal(ctx, d, l, r); err != nil {
			return "", err
		}
	}
	if _, err := keepBundle(ctx, d, l, r.Dir, m.ID); err != nil {
		return "", err
	}
	files := append(append([]store.Change(nil), r.Files...), store.Change{Path: manifestIn(r.Dir), Data: raw})
	stays := pathsOf(files)
	for _, c := range r.Was {
		if !stays[c.Path] {
			files = append(files, store.Change{Path: c.Path, Delete: true})
		}
	}
	record, err := bundleChanges(ctx, l, r.Dir, raw, r.Files)
	if err != nil {
		return "", err
	}
	before := map[string]store.OID{}
	for _, c := range r.Was {
		before[c.Path] = l.BlobID(c.Data)
	}
	for i := range files {
		was := before[files[i].Path] // zero for a file that was not there
		files[i].Was = &was
	}
	return change(ctx, d, l, "update", bundleRefs(m.ID), files, record...)
}

// signRenewal signs the manifest of a renewal. A signature line in a file has to hold as well, and
// the time is not before that of the manifest that it replaces.
func signRenewal(ctx context.Context, d *custody.Desk, l *space.Layer, r Renewal) ([]byte, error) {
	key, err := d.Keys.Signer(ctx)
	if err == nil {
		err = d.Keys.Known(d.Trust, key)
	}
	if err != nil {
		return nil, err
	}
	for _, c := range r.Files {
		if it := look.Lined(c.Path, c.Data); it != nil && !strings.HasSuffix(c.Path, "/"+objects.ManifestName) {
			if _, err := trust.Verify(it, d.Stack.Scope(l), d.Trust); err != nil {
				return nil, err
			}
		}
	}
	old, _ := oldManifest(l, r.Dir)
	return trust.SignManifest(ctx, key, r.Manifest, d.Stack.Scope(l), notBefore(d.Now(), old))
}

// Fill writes files of a bundle that are missing, as its manifest lists them, and records the bundle.
// A file that appeared meanwhile stays, and nothing is written.
func Fill(ctx context.Context, d *custody.Desk, dir string, files []store.Change) error {
	l, err := changeable(ctx, d, "", false)
	if err != nil {
		return err
	}
	old, raw := oldManifest(l, dir)
	if old == nil {
		return checkPlace(&objects.Manifest{}, dir)
	}
	here, err := l.Contents(ctx, dir)
	if err != nil {
		return err
	}
	all := append([]store.Change(nil), files...)
	for _, c := range here {
		if c.Path != manifestIn(dir) {
			all = append(all, c)
		}
	}
	record, err := bundleChanges(ctx, l, dir, raw, all)
	if err != nil {
		return err
	}
	write := append([]store.Change(nil), files...)
	for i := range write {
		write[i].Was = new(store.OID)
	}
	_, err = change(ctx, d, l, "pull", bundleRefs(old.ID), write, record...)
	return err
}
