package rye

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// Diff compares working items of the project with what was last recorded of them:
// those named, or, with none, all that differ. A bundle is compared with its manifest,
// a file at a time. It changes nothing.
func (r *Rye) Diff(ctx context.Context, refs []string) ([]ItemDiff, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if len(refs) == 0 {
		return s.diffAll(ctx, s.stack.Project)
	}
	var all []ItemDiff
	for _, arg := range refs {
		some, err := s.diffNamed(ctx, s.stack.Project, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// diffAll compares everything that differs.
func (s *session) diffAll(ctx context.Context, l *space.Layer) ([]ItemDiff, error) {
	found, err := s.scan(ctx, l.Space)
	if err != nil {
		return nil, err
	}
	var all []ItemDiff
	for _, f := range found {
		if f.Manifest && f.Cover != nil {
			some, err := s.diffBundle(ctx, l, f.Cover, bundleRef(f.Bundle))
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		if f.Recorded || f.Registry != "" || f.Ref == (objects.Ref{}) {
			continue
		}
		d, err := s.diff(ctx, l, f.Ref, f.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, *d)
	}
	return all, nil
}

// diffNamed compares the one item or bundle that a person named.
func (s *session) diffNamed(ctx context.Context, l *space.Layer, arg string) ([]ItemDiff, error) {
	b, ok, err := s.bundleFinding(ctx, arg)
	if err != nil {
		return nil, err
	}
	if ok && b.Space == l.Space && b.Cover != nil {
		return s.diffBundle(ctx, l, b.Cover, bundleRef(b.Bundle))
	}
	ref, err := s.ref(arg)
	if err != nil {
		return nil, err
	}
	f, ok, err := s.stack.In(ctx, l.Space, ref)
	if err != nil {
		return nil, err
	}
	if !ok || f.Registry != "" {
		return nil, fault.New(fault.NotFound, "diff %s: the project has no working file of it", ref).Mend("rye list --space project")
	}
	d, err := s.diff(ctx, l, ref, f.Path)
	if err != nil {
		return nil, err
	}
	return []ItemDiff{*d}, nil
}

// DiffVersions compares two versions of one item of the project: from and to are
// commits of the record (at least four digits of one), to may be "" for the
// working file. A version without the item is an empty one.
func (r *Rye) DiffVersions(ctx context.Context, arg, from, to string) (*ItemDiff, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ref, err := s.ref(arg)
	if err != nil {
		return nil, err
	}
	l := s.stack.Project
	_, was, old, err := l.Version(ctx, ref, from)
	if err != nil {
		return nil, err
	}
	var (
		path = was
		now  []byte
	)
	if to != "" {
		_, path, now, err = l.Version(ctx, ref, to)
	} else if path, err = l.Locate(ref); err == nil && path != "" {
		now, err = l.Read(path)
	}
	if err != nil {
		return nil, err
	}
	if was == "" && path == "" {
		return nil, fault.New(fault.NotFound, "diff %s: neither version has it", ref).Mend("rye log %s", ref)
	}
	d := &ItemDiff{Ref: ref.String(), Recorded: was != "", Deleted: path == "", From: from, To: to,
		Lines: append([]string{}, diff.Lines(string(old), string(now))...)}
	d.Path = ".ai/" + path
	if path == "" {
		d.Path = ".ai/" + was
	}
	return d, nil
}

func (s *session) diff(ctx context.Context, l *space.Layer, ref objects.Ref, path string) (*ItemDiff, error) {
	was, old, err := l.LastRecorded(ctx, ref)
	if err != nil {
		return nil, err
	}
	d := &ItemDiff{Ref: ref.String(), Path: ".ai/" + path, Recorded: was != "", Lines: []string{}}
	now, err := l.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) != fault.Malformed { // no file but a folder, a link
		return nil, err
	}
	d.Deleted = err != nil
	d.Lines = append(d.Lines, diff.Lines(string(old), string(now))...)
	return d, nil
}
