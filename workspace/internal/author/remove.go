package author

import (
	"context"
	"maps"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Remove takes working items, bundles and dependencies out of the project, or items and bundles
// out of the user space. It records a working file's bytes before their removal, so that nothing
// is lost. It looks at all of them first, so that a mistake in the last leaves the first unchanged.
func Remove(ctx context.Context, s *custody.Desk, q rye.RemoveRequest) ([]rye.AddReport, error) {
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, err
	}
	targets, err := toRemove(ctx, s, l, q.Targets)
	if err != nil {
		return nil, err
	}
	b := batch{Desk: s, verb: "remove", text: "Remove them? Their history stays", alone: "Remove it? Its history stays", again: again("remove", q.Targets, "--space", q.Space), dry: q.DryRun,
		one:  func(t rye.Target, dry bool) (*rye.AddReport, error) { return removeOne(ctx, s, l, t, dry) },
		look: func(ctx context.Context, would []rye.AddReport) ([]string, error) { return usersOf(ctx, s, l, would) }}
	return b.run(ctx, targets)
}

// usersOf completes reports with the signed items that depend on what is removed. It returns a line
// for each item of the project that breaks.
func usersOf(ctx context.Context, s *custody.Desk, l *space.Layer, would []rye.AddReport) (lines []string, err error) {
	var leaving []objects.Ref
	for _, rep := range would {
		if ref, err := objects.ParseName(rep.Ref); err == nil {
			leaving = append(leaving, ref)
		}
	}
	by, err := look.Users(ctx, s.Session, l, leaving)
	if err != nil {
		return nil, err
	}
	for i := range would {
		ref, err := objects.ParseName(would[i].Ref)
		if err != nil {
			continue
		}
		would[i].UsedBy = by[ref]
		for _, u := range by[ref] {
			if u.Breaks {
				lines = append(lines, "BREAKS "+u.String())
			}
		}
	}
	return lines, nil
}

// toRemove replaces each pattern by the items, bundles and dependencies that it matches.
func toRemove(ctx context.Context, s *custody.Desk, l *space.Layer, args []rye.Target) (all []rye.Target, err error) {
	for _, arg := range args {
		if !look.IsPattern(arg) {
			all = append(all, arg)
			continue
		}
		var found []rye.Target
		n, err := look.ItemsAndBundles(ctx, s.Session, l, []rye.Target{arg}, false)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		for _, ref := range n.Refs {
			found = append(found, rye.Target(ref.String()))
		}
		for _, dir := range n.Bundles {
			id, err := objects.BundleID(dir)
			if err != nil {
				return nil, err
			}
			found = append(found, rye.Target(look.BundleRef(id)))
		}
		if l.Space == objects.Project && s.Project != nil {
			for _, name := range slices.Sorted(maps.Keys(s.Project.Deps)) {
				if ref, err := objects.ParseRef(name); err == nil && look.Matches(arg, ref) {
					found = append(found, rye.Target(ref.String()))
				}
			}
		}
		if len(found) == 0 {
			return nil, err // ItemsAndBundles found nothing either
		}
		all = append(all, found...)
	}
	return all, nil
}

// removeOne is Remove for one target that is no pattern.
func removeOne(ctx context.Context, s *custody.Desk, l *space.Layer, target rye.Target, dryRun bool) (*rye.AddReport, error) {
	if dir, ok := look.BundleTarget(l, target); ok {
		return removeBundle(ctx, s, l, dir, dryRun)
	}
	ref, err := session.RefOf(ctx, s.Session, string(target))
	if err != nil {
		return nil, err
	}
	if dir, ok := look.PackageOf(l, target, ref); ok {
		return removeBundle(ctx, s, l, dir, dryRun)
	}
	f, ok, err := findTarget(ctx, s, l, target, ref)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, missingHere(ctx, s, l, ref)
	}
	if f.Registry != "" {
		return session.RemoveLocked(ctx, s.Session, ref, dryRun)
	}
	rep := &rye.AddReport{Ref: ref.String(), Path: session.Shown(l, f.Path), State: objects.Absent, Next: fault.Advice("rye restore %s%s", ref, session.SpaceFlag(l))}
	if dryRun {
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

// missingHere is the error for an item that a space lacks. It names the user space, if that has
// the item.
func missingHere(ctx context.Context, s *custody.Desk, l *space.Layer, ref objects.Ref) error {
	if _, ok, err := s.Stack.In(ctx, objects.User, ref); err == nil && ok && l.Space != objects.User {
		return fault.New(fault.NotFound, "remove %s: not in the %s space, but in your user space", ref, l.Space).Mend("rye rm %s --space user", ref)
	}
	return fault.Wrap(space.Missing(ctx, s.Stack, ref, "not in the "+l.Space.String()+" space"), "remove")
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
