package look

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Diff compares working items of the project with their last recorded versions: named items
// or, without names, all that differ. A bundle is compared with its manifest, a file at a
// time. With q.From it compares two versions of one item.
func Diff(ctx context.Context, s *session.Session, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	if len(q.Targets) == 1 {
		if ref, err := session.RefOf(ctx, s, string(q.Targets[0])); err == nil && IsDependency(s, ref) {
			return diffDependency(ctx, s, ref, q)
		}
	}
	if q.From != "" || q.To != "" {
		return diffVersions(ctx, s, q)
	}
	l, err := session.LayerOf(s, q.Space)
	if err != nil {
		return nil, err
	}
	found, err := differing(ctx, s, l, q.Targets)
	if err != nil {
		return nil, err
	}
	var all []rye.ItemDiff
	room := maxShown
	for _, f := range found {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		some, err := diffFinding(ctx, l, f)
		if err != nil {
			return nil, err
		}
		if room -= sizeOf(some); room < 0 && len(all) > 0 {
			return nil, fault.New(fault.Limit, "diff: the changes of %s have more than %d MiB", words.Plural(len(found), "item"), maxShown>>20).
				Advise("name some of them: rye diff %s", f.Ref)
		}
		all = append(all, some...)
	}
	return all, nil
}

// maxShown bounds one answer about several items, or several commits, in bytes.
const maxShown = 16 << 20

func sizeOf(all []rye.ItemDiff) (n int) {
	for _, d := range all {
		for _, line := range d.Lines {
			n += len(line) + 16 // its header
		}
	}
	return n
}

// differing returns the named items and bundles of the project or, without names, all that may
// differ from their record.
func differing(ctx context.Context, s *session.Session, l *space.Layer, targets []rye.Target) (found []space.Finding, err error) {
	if len(targets) == 0 {
		found, err = Scan(ctx, s, l.Space, nil)
		return slices.DeleteFunc(here(s, found), func(f space.Finding) bool {
			return !isBundle(f) && (f.Recorded || f.Registry != "" || f.Ref == (objects.Ref{}))
		}), err
	}
	for _, t := range targets {
		f, ok, err := bundleFinding(ctx, s, t)
		if err == nil && !(ok && f.Space == l.Space && isBundle(f)) {
			f, err = workingItem(ctx, s, l, t)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}

// workingItem resolves a user's target to an item with a working file in the project.
func workingItem(ctx context.Context, s *session.Session, l *space.Layer, t rye.Target) (space.Finding, error) {
	ref, err := session.RefOf(ctx, s, string(t))
	if err != nil {
		return space.Finding{}, err
	}
	f, ok, err := s.Stack.In(ctx, l.Space, ref)
	if err == nil && (!ok || f.Registry != "") {
		err = fault.New(fault.NotFound, "diff %s: the %s space has no working file of it", ref, l.Space).Advise("rye list --space %s", l.Space)
	}
	f.Ref = ref
	return f, err
}

func isBundle(f space.Finding) bool { return f.Manifest && f.Cover != nil && f.Registry == "" }

// diffVersions compares two versions of one item of the project: From and To are commits of
// the record (at least four digits of one), To may be "" for the working file. A version
// without the item is an empty one.
func diffVersions(ctx context.Context, s *session.Session, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	if len(q.Targets) != 1 {
		return nil, fault.New(fault.Usage, "diff: --from and --to take one item, not %d", len(q.Targets))
	}
	ref, err := session.RefOf(ctx, s, string(q.Targets[0]))
	if err != nil {
		return nil, err
	}
	l, err := session.LayerOf(s, q.Space)
	if err != nil {
		return nil, err
	}
	_, was, old, err := l.Version(ctx, ref, q.From)
	if err != nil {
		return nil, err
	}
	var (
		path = was
		now  []byte
	)
	if q.To != "" {
		_, path, now, err = l.Version(ctx, ref, q.To)
	} else if path, err = l.Locate(ref); err == nil && path != "" {
		now, err = l.Read(path)
	}
	if err != nil {
		return nil, err
	}
	if was == "" && path == "" {
		return nil, fault.New(fault.NotFound, "diff %s: it is in neither version", ref).Advise("rye log %s", ref)
	}
	return []rye.ItemDiff{{Ref: ref.String(), Path: ".ai/" + cmp.Or(path, was), Recorded: was != "", Deleted: path == "",
		From: q.From, To: q.To, Lines: append([]string{}, diff.Lines(string(old), string(now))...)}}, nil
}

// diffFinding compares a working item or a bundle with its last recorded version.
func diffFinding(ctx context.Context, l *space.Layer, f space.Finding) ([]rye.ItemDiff, error) {
	if isBundle(f) {
		return diffBundle(ctx, l, f.Cover, BundleRef(f.Bundle))
	}
	was, old, err := l.LastRecorded(ctx, f.Ref)
	if err != nil {
		return nil, err
	}
	now, err := l.Read(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) != fault.Malformed { // a folder or a link in place of the file
		return nil, err
	}
	return []rye.ItemDiff{{Ref: f.Ref.String(), Path: ".ai/" + f.Path, Recorded: was != "", Deleted: err != nil,
		Lines: append([]string{}, changedLines(false, nil, old, now)...)}}, nil
}

// diffBundle compares the files of a bundle with its manifest, one by one. The old text of a
// file is shown where the record still has the bytes that the manifest lists. A manifest
// that is itself refused is shown instead of its files.
func diffBundle(ctx context.Context, l *space.Layer, c *space.Cover, name string) ([]rye.ItemDiff, error) {
	err := c.Check()
	if err == nil {
		return nil, nil
	}
	var differs *objects.BundleError
	if !errors.As(err, &differs) {
		return diffFiles(l, name, c.Dir, nil, []string{objects.ManifestName})
	}
	listed := map[string]objects.File{}
	for _, f := range c.Bundle.Files() {
		listed[f.Path] = f
	}
	var all []rye.ItemDiff
	for _, paths := range [][]string{differs.Changed, differs.Missing, differs.Extra} {
		some, err := diffFiles(l, name, c.Dir, listed, paths)
		if err != nil {
			return all, err
		}
		all = append(all, some...)
	}
	return all, ctx.Err()
}

// diffFiles compares files of a directory with their recorded versions. With listed, only
// bytes in the manifest count as recorded.
func diffFiles(l *space.Layer, name, dir string, listed map[string]objects.File, paths []string) ([]rye.ItemDiff, error) {
	var all []rye.ItemDiff
	for _, p := range paths {
		d := rye.ItemDiff{Ref: name, Path: ".ai/" + dir + "/" + p, Lines: []string{}}
		f, ok := listed[p]
		d.Recorded = ok || listed == nil
		old, err := recordedBytes(l, dir+"/"+p)
		if err != nil {
			return all, err
		}
		if ok && !f.Matches(old) {
			old = nil
		}
		now, err := l.Read(dir + "/" + p)
		if err != nil && fault.CodeOf(err) == fault.Failed {
			d.Deleted = true
		}
		d.Lines = append(d.Lines, changedLines(ok && old == nil && f.Size > 0, err, old, now)...)
		all = append(all, d)
	}
	return all, nil
}

// changedLines is diff.Lines for files of any kind, binary or unreadable ones too.
func changedLines(lost bool, unread error, old, now []byte) []string {
	switch {
	case unread != nil && len(old) == 0:
		return nil
	case !isText(old) || !isText(now):
		return []string{fmt.Sprintf("@@ %d bytes, now %d: not text @@", len(old), len(now))}
	case lost:
		return []string{"@@ the record lacks the files of the manifest @@"}
	}
	return diff.Lines(string(old), string(now))
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// recordedBytes returns the recorded bytes at a path in a layer, nil for none.
func recordedBytes(l *space.Layer, p string) ([]byte, error) {
	blob, err := l.RecordedBlob(p)
	if err != nil || blob == (store.OID{}) {
		return nil, err
	}
	repo, err := l.Repo()
	if err != nil {
		return nil, err
	}
	return repo.Blob(blob, space.MaxItem)
}
