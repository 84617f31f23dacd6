package author

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Remove takes a working item, or a dependency, out of the project. A working
// file's bytes are recorded before it goes, so that nothing is lost.
func Remove(ctx context.Context, s *Desk, q rye.RemoveRequest) (*rye.AddReport, error) {
	arg, dryRun := string(q.Target), q.DryRun
	if dir, ok := look.BundleTarget(s.Session, s.Stack.Project, arg); ok {
		return removeBundle(ctx, s, s.Stack.Project, dir, dryRun)
	}
	ref, err := s.Ref(arg)
	if err != nil {
		return nil, err
	}
	f, ok, err := typed(ctx, s, arg, ref)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.NotFound, "remove %s: not in this project", arg).Mend("rye list --space project")
	}
	rep := &rye.AddReport{Ref: ref.String(), Path: ".ai/" + f.Path, State: objects.Deleted, Next: fault.Command("rye restore %s", ref)}
	if dryRun {
		return rep, nil
	}
	if f.Registry != "" {
		rep.Path, rep.Next = "", fault.Command("rye add %s", ref.Published())
		return rep, dropDependency(ctx, s.Session, ref)
	}
	l := s.Stack.Project
	// What is no regular file, a link for one, holds nothing that could be lost.
	if err := keep(ctx, s, l, ref, f.Path, nil); err != nil && fault.CodeOf(err) != fault.Malformed {
		return nil, err
	}
	rep.Commit, err = record(ctx, s, l, "remove", []objects.Ref{ref}, []store.Change{{Path: f.Path, Delete: true}})
	if err != nil {
		return nil, err
	}
	if err := l.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return rep, nil
}

// dropDependency takes a registry item out of rye.yaml and the lock, then lets go
// of its content.
func dropDependency(ctx context.Context, s *session.Session, ref objects.Ref) error {
	s, release, err := s.Alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	if s.Lock == nil {
		return fault.New(fault.NotFound, "remove %s: there is no lock", ref)
	}
	it, ok := s.Lock.Items[ref]
	if !ok {
		return fault.New(fault.NotFound, "remove %s: not in the lock", ref)
	}
	project := s.Project.Edit()
	delete(project.Deps, ref.Published())
	if err := project.Write(s.ProjectDir); err != nil {
		return err
	}
	lock := s.Lock.Clone()
	lock.Remove(ref)
	if err := s.WriteLock(lock); err != nil {
		return err
	}
	repo, err := s.Stack.Project.Repo()
	if err != nil || repo == nil {
		return err
	}
	name := session.LockRefs + it.SHA256.Hex()
	id, err := repo.Ref(name)
	if err != nil {
		return nil // gone already
	}
	return repo.Swap(ctx, name, id, store.OID{}, "remove "+ref.String())
}
