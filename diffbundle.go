package rye

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// diffBundle compares the files of a bundle with its manifest, one by one. What a
// file was is shown where the record still has the bytes that the manifest lists. A
// manifest that does not hold itself is shown instead of its files.
func (s *session) diffBundle(ctx context.Context, l *space.Layer, c *space.Cover, name string) ([]ItemDiff, error) {
	err := c.Check()
	if err == nil {
		return nil, nil
	}
	var differs *objects.BundleError
	if !errors.As(err, &differs) {
		return s.diffFiles(l, name, c.Dir, nil, []string{objects.ManifestName})
	}
	listed := map[string]objects.File{}
	for _, f := range c.Bundle.Files() {
		listed[f.Path] = f
	}
	var all []ItemDiff
	for _, paths := range [][]string{differs.Changed, differs.Missing, differs.Extra} {
		some, err := s.diffFiles(l, name, c.Dir, listed, paths)
		if err != nil {
			return all, err
		}
		all = append(all, some...)
	}
	return all, ctx.Err()
}

// diffFiles compares files of a directory with what was recorded of them. With
// listed, only bytes that a manifest lists count as what was.
func (s *session) diffFiles(l *space.Layer, name, dir string, listed map[string]objects.File, paths []string) ([]ItemDiff, error) {
	var all []ItemDiff
	for _, p := range paths {
		d := ItemDiff{Ref: name, Path: ".ai/" + dir + "/" + p, Lines: []string{}}
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

// changedLines is diff.Lines for files that may be anything.
func changedLines(lost bool, unread error, old, now []byte) []string {
	switch {
	case unread != nil && len(old) == 0:
		return nil
	case !isText(old) || !isText(now):
		return []string{fmt.Sprintf("@@ %d bytes, now %d: not text @@", len(old), len(now))}
	case lost:
		return []string{"@@ the record does not hold what the manifest lists @@"}
	}
	return diff.Lines(string(old), string(now))
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// recordedBytes returns what the record of a layer holds at a path, nil for nothing.
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
