package author

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
)

// reviewedBundle is what a change of a bundle has beside its manifest.
type reviewedBundle struct {
	dir    string
	now    *objects.Manifest // lists the files that were shown
	files  []store.Change    // as they were read
	others []store.Change    // the changes after which the record holds exactly these files
}

// unmoved refuses a directory that no longer holds exactly the files that were shown.
func (b *reviewedBundle) unmoved(l *space.Layer) error {
	if err := b.now.Check(l.Folder(b.dir)); err != nil {
		return changedSince(b.dir)
	}
	return nil
}

// bundles returns the bundles to review: the named ones, or all.
func (r *review) bundles(ctx context.Context, n look.Named) (all []*reviewed, err error) {
	for _, dir := range slices.Compact(slices.Sorted(slices.Values(n.Bundles))) {
		id, err := objects.BundleID(dir)
		if err != nil {
			return nil, err
		}
		c, err := r.Stack.Cover(ctx, r.layer, manifestIn(dir), nil)
		if err != nil {
			return nil, err
		}
		if c == nil || c.Dir != dir {
			continue // no manifest and none recorded: these files are no bundle yet
		}
		if d := r.change(c.Finding(r.layer), objects.BundleRef(id), look.BundleRef(id), len(r.q.Targets) > 0); d != nil {
			d.bundle = &reviewedBundle{dir: dir}
			all = append(all, d)
		}
	}
	return all, nil
}

// prepareBundle is prepare for a bundle. Each file is read once, for the manifest that binds its
// bytes; the dependencies and the version are those of the manifest that lies there.
func (r *review) prepareBundle(ctx context.Context, d *reviewed) error {
	b := d.bundle
	old, raw := oldManifest(r.layer, b.dir)
	if raw == nil {
		return fault.New(fault.NotFound, "review %s: its manifest is missing", d.Ref).Mend("rye restore .ai/%s", b.dir)
	}
	m, err := makeManifest(r.Session, r.layer, b.dir, old)
	if err != nil {
		return err
	}
	text, err := m.Encode()
	if err == nil {
		b.now, err = objects.ParseManifest(text)
	}
	if err != nil {
		return err
	}
	files, err := bundleFiles(r.Desk, r.layer, b.dir, b.now)
	if err != nil {
		return fault.Wrap(err, "review %s", d.Ref)
	}
	d.raw, d.item, d.Digest = raw, b.now.Item(), b.now.Item().Digest.String()
	if old != nil {
		d.signedBy(old.Item().Signature)
	}
	if err := r.deniedIn(d, files); err != nil {
		return err
	}
	if d.base, err = baseOf(ctx, r.Desk, r.layer, d.history(), r.published); err != nil {
		return fault.Wrap(err, "review %s", d.Ref)
	}
	if err := r.compare(d); err != nil {
		return err
	}
	b.files = files
	lines, err := r.bundleLines(ctx, d)
	if err == nil {
		err = r.show(d, lines)
	}
	if err != nil {
		return err
	}
	return r.signBundle(ctx, d, text)
}

// linesOf shows a change of either kind.
func (r *review) linesOf(ctx context.Context, d *reviewed) (_ []string, err error) {
	if d.bundle == nil {
		return r.lines(d), nil
	}
	if d.bundle.files, err = bundleFiles(r.Desk, r.layer, d.bundle.dir, d.bundle.now); err != nil {
		return nil, err
	}
	return r.bundleLines(ctx, d)
}

// history says where the versions of what changed are found.
func (d *reviewed) history() history {
	if d.bundle != nil {
		return history{d.ref, d.path, parseManifest}
	}
	return itemHistory(d.ref, d.path)
}

func parseManifest(_ string, raw []byte) (*objects.Item, error) {
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	return m.Item(), nil
}

// deniedIn refuses a bundle with content that was denied, as a file or as a whole.
func (r *review) deniedIn(d *reviewed, files []store.Change) error {
	items := []*objects.Item{d.item}
	for _, f := range files {
		if it, err := objects.Parse(f.Path, f.Data); err == nil {
			items = append(items, it)
		}
	}
	for _, it := range items {
		if r.Trust.DeniesContent(it, r.scope) {
			return fault.New(fault.Revoked, "review %s: the content of %s was denied", d.Ref, it.Path).Advise("rye trust explain %s", d.Ref)
		}
	}
	return nil
}

// signBundle signs the manifest of the files that were read.
func (r *review) signBundle(ctx context.Context, d *reviewed, text []byte) error {
	raw, err := trust.SignManifest(ctx, r.key, text, r.scope, d.base.before(r.now))
	if err != nil {
		return err
	}
	v, err := trust.OpenBundle(raw, r.layer.Folder(d.bundle.dir), r.scope, r.Trust)
	if err == nil && v.Patched() != trust.NoPatch {
		err = fault.New(fault.Untrusted, "review %s: your key does not own %s/ here", d.Ref, d.ref.ID.Namespace())
	}
	if err != nil {
		return err
	}
	changes, err := bundleChanges(ctx, r.layer, d.bundle.dir, raw, d.bundle.files)
	if err != nil {
		return err
	}
	d.bundle.others = slices.DeleteFunc(changes, func(c store.Change) bool { return c.Path == d.path })
	d.signed, d.SHA256, d.Status = raw, objects.DigestOf(raw).String(), "would-sign"
	return nil
}

// bundleLines shows a change of a bundle: head, the lines of the manifest, and every changed file.
func (r *review) bundleLines(ctx context.Context, d *reviewed) ([]string, error) {
	lines, was := r.head(d), &objects.Manifest{}
	if d.base != nil {
		m, err := objects.ParseManifest(d.base.item.Raw)
		if err != nil {
			return nil, err
		}
		was = m
		lines = append(append(lines, "manifest:"), difference(string(m.Item().Body), string(d.item.Body))...)
	}
	paths := map[string]bool{}
	for _, f := range slices.Concat(was.Files, d.bundle.now.Files) {
		paths[f.Path] = true
	}
	now := map[string][]byte{}
	for _, c := range d.bundle.files {
		now[strings.TrimPrefix(c.Path, d.bundle.dir+"/")] = c.Data
	}
	shown := len(lines)
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		before, had := was.File(p)
		after, has := d.bundle.now.File(p)
		switch {
		case had && has && before.Sum == after.Sum:
		case !has:
			lines = append(lines, "removed      "+p)
		case !had:
			lines = append(lines, "new          "+p)
			lines = append(lines, fileLines(d.bundle.dir+"/"+p, nil, now[p])...)
		default:
			old, err := r.ownersFile(ctx, d.bundle.dir+"/"+p, before.Sum)
			if err != nil {
				return nil, err
			}
			if lines = append(lines, "changed      "+p); old == nil {
				lines = append(lines, "the owner's text of it is not on this machine, so all of it is shown:")
			}
			lines = append(lines, fileLines(d.bundle.dir+"/"+p, old, now[p])...)
		}
	}
	if len(lines) == shown {
		lines = append(lines, "every file is the same; only the manifest is new")
	}
	return lines, nil
}

// fileLines shows a changed file of a bundle: permissions and lines, or the size and digest of
// what is no text.
func fileLines(p string, was, now []byte) []string {
	if !utf8.Valid(now) || bytes.IndexByte(now, 0) >= 0 {
		return []string{fmt.Sprintf("not text, so rye cannot show it: %d bytes, %s", len(now), objects.DigestOf(now))}
	}
	var lines []string
	if it, err := objects.Parse(p, now); err == nil {
		old, err := objects.Parse(p, was)
		if err != nil {
			old = nil
		}
		lines = look.Powers(old, it)
	}
	return append(lines, difference(string(was), string(now))...)
}

// ownersFile returns the bytes with a digest that the record or the user's git has of a file; nil
// for none.
func (r *review) ownersFile(ctx context.Context, p string, sum objects.Digest) ([]byte, error) {
	held, err := r.layer.Held(ctx, p, sum)
	if held != nil || err != nil {
		return held, err
	}
	all, err := r.Versions(p)
	if err != nil {
		return nil, nil // a history that cannot be read with certainty shows less, never something else
	}
	for _, v := range all {
		if objects.DigestOf(v.Raw) == sum {
			return v.Raw, nil
		}
	}
	return nil, nil
}
