package session

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// DropDependency removes a registry item from rye.yaml and the lock, then drops the ref to its
// content.
func DropDependency(ctx context.Context, s *Session, ref objects.Ref) error {
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
	if err := s.WriteLock(ctx, lock); err != nil {
		return err
	}
	repo, err := s.Stack.Project.Repo()
	if err != nil || repo == nil {
		return err
	}
	name := LockRefs + it.SHA256.Hex()
	id, err := repo.Ref(name)
	if err != nil {
		return nil // gone already
	}
	return repo.Swap(ctx, name, id, store.OID{}, "remove "+ref.String())
}
