package author

import (
	"context"
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

// Restore brings back the recorded files of items: their space's versions at a commit, or the
// last ones. It first records a different file in the place of a named item. An old version that
// the user asked for is valid again. A pattern, and a request for all, bring back only what is
// gone.
func Restore(ctx context.Context, s *custody.Desk, q rye.RestoreRequest) ([]rye.AddReport, error) {
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, err
	}
	targets, skipped, err := toRestore(ctx, l, q)
	if err != nil {
		return nil, err
	}
	line := again("restore", q.Targets, "--at", q.At, "--space", q.Space)
	if q.All {
		line = append(line, "--all")
	}
	b := batch{Desk: s, verb: "restore", text: "Restore them?", again: line, dry: q.DryRun,
		one: func(t rye.Target, dry bool) (*rye.AddReport, error) { return restoreOne(ctx, s, l, t, q.At, dry) }}
	all, err := b.run(ctx, targets)
	return append(all, skipped...), err
}

// toRestore replaces patterns, and the request for all, by the items and bundles that are gone.
// skipped reports those that are here and differ from the record.
func toRestore(ctx context.Context, l *space.Layer, q rye.RestoreRequest) (all []rye.Target, skipped []rye.AddReport, err error) {
	if q.All && len(q.Targets) > 0 {
		return nil, nil, fault.New(fault.Usage, "restore: --all takes no names").Advise("rye restore --all")
	}
	var gone *absences
	for _, t := range q.Targets {
		if !look.IsPattern(t) {
			all = append(all, t)
			continue
		}
		if gone == nil {
			if gone, err = everRecorded(ctx, l); err != nil {
				return nil, nil, err
			}
		}
		f, err := gone.find(ctx, l, func(ref objects.Ref) bool { return look.Matches(t, ref) })
		if err != nil {
			return nil, nil, err
		}
		if len(f.gone)+len(f.skipped) == 0 {
			return nil, nil, fault.New(fault.NotFound, "%q matches no item that the %s space had and lacks now", t, l.Space).Advise("%s", "rye log"+session.SpaceFlag(l))
		}
		all, skipped = append(all, f.gone...), append(skipped, f.skipped...)
	}
	if !q.All {
		return all, skipped, nil
	}
	if gone, err = recordedNow(ctx, l); err != nil {
		return nil, nil, err
	}
	f, err := gone.find(ctx, l, func(objects.Ref) bool { return true })
	if err == nil && len(f.gone)+len(f.skipped) == 0 {
		err = fault.New(fault.NotFound, "restore: every item of the record of the %s space is here", l.Space).Advise("%s", "rye log"+session.SpaceFlag(l)+" shows what was removed")
	}
	return f.gone, f.skipped, err
}

// restoreOne is Restore for one target that is no pattern.
func restoreOne(ctx context.Context, s *custody.Desk, l *space.Layer, target rye.Target, at string, dryRun bool) (*rye.AddReport, error) {
	if dir, ok := look.RecordedBundle(ctx, l, target); ok {
		if at != "" {
			return nil, fault.New(fault.Usage, "restore .ai/%s: a bundle comes back as it was last recorded", dir).Advise("rye restore .ai/%s", dir)
		}
		return restoreBundle(ctx, s, l, dir, dryRun)
	}
	ref, err := session.RecordedRef(ctx, s.Session, l, string(target))
	if err != nil {
		return nil, err
	}
	p, raw, err := recordedVersion(ctx, l, ref, at)
	if err != nil {
		return nil, err
	}
	if there, err := l.Locate(ref); err != nil {
		return nil, err
	} else if there != "" && there != p {
		return nil, fault.New(fault.Conflict, "restore %s: %s is this item now, and the version to bring back lies at %s", ref, session.Shown(l, there), session.Shown(l, p)).
			Advise("rye rm %s%s, then again", ref, session.SpaceFlag(l))
	}
	if err := l.Free(p); err != nil {
		return nil, err
	}
	rep := &rye.AddReport{Ref: ref.String(), Path: session.Shown(l, p), SHA256: objects.DigestOf(raw).String()}
	if !dryRun {
		if err = keepFile(ctx, s, l, ref, p, raw); err == nil {
			rep.Commit, err = change(ctx, s, l, "restore", []objects.Ref{ref}, []store.Change{{Path: p, Data: raw}})
		}
		if err != nil {
			return nil, err
		}
	}
	f, err := s.Stack.JudgeBytes(ctx, l, p, ref, raw, l.BlobID(raw))
	rep.State = f.State
	if f.Err != nil {
		rep.Next = fault.HintOf(f.Err)
	}
	return rep, err
}

// recordedVersion returns the recorded file of an item at a commit; with "", the last one.
func recordedVersion(ctx context.Context, l *space.Layer, ref objects.Ref, at string) (p string, raw []byte, err error) {
	if at == "" {
		if p, raw, err = l.LastRecorded(ctx, ref); err == nil && p == "" {
			err = fault.New(fault.NotFound, "restore %s: never recorded in the %s space", ref, l.Space).Advise("%s", "rye log"+session.SpaceFlag(l))
		}
		return p, raw, err
	}
	if _, p, raw, err = l.Version(ctx, ref, at); err == nil && p == "" {
		err = fault.New(fault.NotFound, "restore %s: it was not there at %s", ref, at).Advise("rye log %s%s", ref, session.SpaceFlag(l))
	}
	return p, raw, err
}

// restoreBundle brings back a bundle as it was last recorded. It first records files that
// differ, and removes files that do not belong to the bundle.
func restoreBundle(ctx context.Context, s *custody.Desk, l *space.Layer, dir string, dryRun bool) (*rye.AddReport, error) {
	id, err := objects.BundleID(dir)
	if err != nil {
		return nil, err
	}
	was, err := l.LastFolder(ctx, dir, manifestIn(dir))
	if err != nil {
		return nil, err
	}
	if len(was) == 0 {
		return nil, fault.New(fault.NotFound, "restore bundle %s: never recorded in the %s space", id, l.Space).Advise("%s", "rye log"+session.SpaceFlag(l))
	}
	rep := &rye.AddReport{Ref: look.BundleRef(id), Path: session.Shown(l, dir)}
	if dryRun {
		return rep, nil
	}
	here, err := keepBundle(ctx, s, l, dir, id)
	if err != nil {
		return nil, err
	}
	changes, belongs := slices.Clone(was), pathsOf(was)
	for _, c := range here {
		if !belongs[c.Path] {
			changes = append(changes, store.Change{Path: c.Path, Delete: true})
		}
	}
	if rep.Commit, err = change(ctx, s, l, "restore", bundleRefs(id), changes); err != nil {
		return nil, err
	}
	c, err := s.Stack.Cover(ctx, l, manifestIn(dir), nil)
	if err != nil || c == nil {
		return rep, err
	}
	rep.SHA256, rep.State = c.Sum.String(), c.State
	return rep, nil
}
