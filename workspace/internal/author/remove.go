package author

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Remove takes a working item, a bundle or a dependency out of the project, or an item or a
// bundle out of the user space. It records a working file's bytes before their removal, so
// that nothing is lost.
func Remove(ctx context.Context, s *custody.Desk, q rye.RemoveRequest) (*rye.AddReport, error) {
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, err
	}
	if dir, ok := look.BundleTarget(l, q.Target); ok {
		return removeBundle(ctx, s, l, dir, q.DryRun)
	}
	ref, err := session.RefOf(ctx, s.Session, string(q.Target))
	if err != nil {
		return nil, err
	}
	if dir, ok := look.PackageOf(l, q.Target, ref); ok {
		return removeBundle(ctx, s, l, dir, q.DryRun)
	}
	f, ok, err := findTarget(ctx, s, l, q.Target, ref)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.Wrap(space.Missing(ctx, s.Stack, ref, "not in the "+l.Space.String()+" space"), "remove")
	}
	if f.Registry != "" {
		return session.RemoveLocked(ctx, s.Session, ref, q.DryRun)
	}
	rep := &rye.AddReport{Ref: ref.String(), Path: session.Shown(l, f.Path), State: objects.Absent, Next: fault.Advice("rye restore %s%s", ref, session.SpaceFlag(l))}
	if q.DryRun {
		rep.Next = fault.Hint{}
		return rep, nil
	}
	// A file that is not regular, such as a link, holds nothing that could be lost.
	if err := keepFile(ctx, s, l, ref, f.Path, nil); err != nil && fault.CodeOf(err) != fault.Malformed {
		return nil, err
	}
	rep.Commit, err = change(ctx, s, l, "remove", []objects.Ref{ref}, []store.Change{{Path: f.Path, Delete: true}})
	if err != nil {
		return nil, err
	}
	return rep, nil
}

// findTarget is Stack.In for a target that a user typed: a path means this very file, also
// where another file is the same item.
func findTarget(ctx context.Context, s *custody.Desk, l *space.Layer, t rye.Target, ref objects.Ref) (space.Finding, bool, error) {
	p, is := session.Below(l.Dir, string(t))
	if _, err := objects.ParseRef(string(t)); err == nil || !is {
		return s.Stack.In(ctx, l.Space, ref)
	}
	f, ok, err := s.Stack.At(ctx, l.Space, ref, p)
	if ok || err != nil {
		return f, ok, err
	}
	was, err := l.RecordedBlob(p)
	f.Ref, f.Path = ref, p
	return f, err == nil && !was.IsZero(), err
}

// removeBundle takes a whole bundle out of the working tree and the record, after recording
// the files that differ.
func removeBundle(ctx context.Context, s *custody.Desk, l *space.Layer, dir string, dryRun bool) (*rye.AddReport, error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, err
	}
	rep := &rye.AddReport{Ref: look.BundleRef(id), Path: session.Shown(l, dir), State: objects.Absent, Next: fault.Advice("rye restore .ai/%s%s", dir, session.SpaceFlag(l))}
	if dryRun {
		rep.Next = fault.Hint{}
		return rep, nil
	}
	here, err := keepBundle(ctx, s, l, dir, id)
	if err != nil {
		return nil, err
	}
	gone, err := removals(ctx, l, dir, nil)
	if err == nil {
		rep.Commit, err = change(ctx, s, l, "remove", bundleRefs(id), removalsOf(here), gone...)
	}
	if err != nil {
		return nil, err
	}
	l.Prune(dir)
	return rep, nil
}
