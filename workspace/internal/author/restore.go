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

// Restore brings back the recorded file of an item: its space's version at a commit, or the
// last one. It first records a different file in that place. An old version that the user
// asked for is valid again.
func Restore(ctx context.Context, s *custody.Desk, q rye.RestoreRequest) (*rye.AddReport, error) {
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, err
	}
	if dir, ok := look.RecordedBundle(ctx, l, q.Target); ok {
		if q.At != "" {
			return nil, fault.New(fault.Usage, "restore .ai/%s: a bundle comes back as it was last recorded", dir).Advise("rye restore .ai/%s", dir)
		}
		return restoreBundle(ctx, s, l, dir, q.DryRun)
	}
	ref, err := session.RefOf(ctx, s.Session, string(q.Target))
	if err != nil {
		return nil, err
	}
	p, raw, err := recordedVersion(ctx, l, ref, q.At)
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
	if !q.DryRun {
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
