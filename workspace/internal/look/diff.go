package look

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Diff compares working items of the project with what was last recorded of them:
// those named, or, with none, all that differ. A bundle is compared with its manifest,
// a file at a time. It changes nothing.
func Diff(ctx context.Context, s *session.Session, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	if q.From != "" || q.To != "" {
		return diffVersions(ctx, s, q)
	}
	if len(q.Targets) == 0 {
		return diffAll(ctx, s, s.Stack.Project)
	}
	var all []rye.ItemDiff
	for _, arg := range q.Targets {
		some, err := diffNamed(ctx, s, s.Stack.Project, string(arg))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// diffAll compares everything that differs.
func diffAll(ctx context.Context, s *session.Session, l *space.Layer) ([]rye.ItemDiff, error) {
	found, err := Scan(ctx, s, l.Space)
	if err != nil {
		return nil, err
	}
	var all []rye.ItemDiff
	for _, f := range found {
		if f.Manifest && f.Cover != nil {
			some, err := diffBundle(ctx, s, l, f.Cover, BundleRef(f.Bundle))
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		if f.Recorded || f.Registry != "" || f.Ref == (objects.Ref{}) {
			continue
		}
		d, err := diffOne(ctx, s, l, f.Ref, f.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, *d)
	}
	return all, nil
}

// diffNamed compares the one item or bundle that a person named.
func diffNamed(ctx context.Context, s *session.Session, l *space.Layer, arg string) ([]rye.ItemDiff, error) {
	b, ok, err := BundleFinding(ctx, s, arg)
	if err != nil {
		return nil, err
	}
	if ok && b.Space == l.Space && b.Cover != nil {
		return diffBundle(ctx, s, l, b.Cover, BundleRef(b.Bundle))
	}
	ref, err := s.Ref(arg)
	if err != nil {
		return nil, err
	}
	f, ok, err := s.Stack.In(ctx, l.Space, ref)
	if err != nil {
		return nil, err
	}
	if !ok || f.Registry != "" {
		return nil, fault.New(fault.NotFound, "diff %s: the project has no working file of it", ref).Mend("rye list --space project")
	}
	d, err := diffOne(ctx, s, l, ref, f.Path)
	if err != nil {
		return nil, err
	}
	return []rye.ItemDiff{*d}, nil
}

// diffVersions compares two versions of one item of the project: From and To are
// commits of the record (at least four digits of one), To may be "" for the
// working file. A version without the item is an empty one.
func diffVersions(ctx context.Context, s *session.Session, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	if len(q.Targets) != 1 {
		return nil, fault.New(fault.Usage, "diff: versions are of one item, and %d were named", len(q.Targets))
	}
	ref, err := s.Ref(string(q.Targets[0]))
	if err != nil {
		return nil, err
	}
	l := s.Stack.Project
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
		return nil, fault.New(fault.NotFound, "diff %s: neither version has it", ref).Mend("rye log %s", ref)
	}
	d := rye.ItemDiff{Ref: ref.String(), Recorded: was != "", Deleted: path == "", From: q.From, To: q.To,
		Lines: append([]string{}, diff.Lines(string(old), string(now))...)}
	d.Path = ".ai/" + path
	if path == "" {
		d.Path = ".ai/" + was
	}
	return []rye.ItemDiff{d}, nil
}

func diffOne(ctx context.Context, s *session.Session, l *space.Layer, ref objects.Ref, path string) (*rye.ItemDiff, error) {
	was, old, err := l.LastRecorded(ctx, ref)
	if err != nil {
		return nil, err
	}
	d := &rye.ItemDiff{Ref: ref.String(), Path: ".ai/" + path, Recorded: was != "", Lines: []string{}}
	now, err := l.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) != fault.Malformed { // no file but a folder, a link
		return nil, err
	}
	d.Deleted = err != nil
	d.Lines = append(d.Lines, diff.Lines(string(old), string(now))...)
	return d, nil
}
