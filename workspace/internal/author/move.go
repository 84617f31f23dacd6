package author

import (
	"context"
	"path"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Move gives a working item of the project or the user another id. It removes the signature
// line, which names the old id, so the item has to be signed again. It records the old file
// first.
func Move(ctx context.Context, s *custody.Desk, q rye.MoveRequest) (*rye.MoveReport, error) {
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, err
	}
	it, moved, err := planMove(ctx, s, l, q)
	if err != nil {
		return nil, err
	}
	rep := &rye.MoveReport{From: it.Ref.String(), Ref: moved.Ref.String(), Path: session.Shown(l, moved.Path),
		Next: fault.Command("rye sign %s"+session.SpaceFlag(l), moved.Ref), DryRun: q.DryRun}
	if rep.Problems, err = look.Problems(ctx, s.Session, l.Space, moved); err != nil {
		return nil, err
	}
	if q.DryRun {
		return rep, nil
	}
	if err = keepFile(ctx, s, l, it.Ref, it.Path, nil); err == nil {
		rep.Commit, err = change(ctx, s, l, "move "+it.Ref.String()+" to", []objects.Ref{moved.Ref},
			[]store.Change{{Path: it.Path, Delete: true}, {Path: moved.Path, Data: moved.Raw}})
	}
	if err != nil {
		return nil, err
	}
	return rep, nil
}

// planMove returns the item before and after the move.
func planMove(ctx context.Context, s *custody.Desk, l *space.Layer, q rye.MoveRequest) (it, moved *objects.Item, err error) {
	ref, err := session.RefOf(ctx, s.Session, string(q.From))
	if err != nil {
		return nil, nil, err
	}
	dest, err := newRef(ref, q.To)
	if err != nil {
		return nil, nil, err
	}
	if s.Stack.Locked != nil && l.Space == objects.Project {
		if _, ok := s.Stack.Locked(ref); ok {
			return nil, nil, fault.New(fault.Denied, "move %s: it belongs to a registry", ref).Mend("rye add %s --space project --as %s", ref, dest.ID)
		}
	}
	if it, err = draftOf(l, ref, l.Draft); err != nil {
		return nil, nil, err
	}
	if f, ok, err := s.Stack.In(ctx, l.Space, dest); err != nil {
		return nil, nil, err
	} else if ok {
		return nil, nil, fault.New(fault.Conflict, "move %s: %s is there already (%s)", ref, dest, f.State).Mend("rye rm %s"+session.SpaceFlag(l), dest)
	}
	if moved, err = renamed(objects.Retitled(it, dest), dest); err != nil {
		return nil, nil, err
	}
	return it, moved, l.Free(moved.Path)
}

// newRef reads the new name of an item: a ref of the same kind, or an id.
func newRef(old objects.Ref, arg string) (objects.Ref, error) {
	ref, err := objects.ParseRef(arg)
	if err != nil {
		id, iderr := objects.ParseID(arg)
		if iderr != nil {
			return ref, err
		}
		ref = objects.Ref{Kind: old.Kind, ID: id}
	}
	switch {
	case ref.Kind != old.Kind:
		return ref, fault.New(fault.Usage, "%s is a %s and cannot become a %s", old, old.Kind, ref.Kind)
	case ref == old:
		return ref, fault.New(fault.Usage, "%s is already its name", ref)
	}
	return ref, nil
}

// renamed returns an item under another ref, without its signature line.
func renamed(it *objects.Item, ref objects.Ref) (*objects.Item, error) {
	return objects.Parse(ref.Path(path.Ext(it.Path)), it.Body)
}
