package share

import (
	"context"
	"maps"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/session"
)

// pin keeps the content of what arrived, then writes the lock, then rye.yaml: at every
// moment what the lock names is in the store.
func (in *installation) pin(ctx context.Context, rep *rye.InstallReport) error {
	if err := in.Stack.Project.Create(); err != nil {
		return err
	}
	s, release, err := in.Alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	for i := range in.arrivals {
		if in.arrivals[i].overtaken(in.Lock, s.Lock) {
			return fault.New(fault.Conflict, "add %s: another rye pinned something else for it meanwhile", in.arrivals[i].item.Ref).Advise("run it again")
		}
	}
	lock := s.Lock.Clone()
	if lock.Stdlib, err = locks.Stdlib(ctx, s); err != nil {
		return err
	}
	for i := range in.arrivals {
		if err := in.arrivals[i].pin(ctx, s, lock, rep); err != nil {
			return err
		}
	}
	if err := in.pinChains(ctx, s.WithLock(lock, objects.Digest{})); err != nil {
		return err
	}
	if err := s.WriteLock(lock); err != nil {
		return err
	}
	return in.writeDeps(s)
}

// overtaken reports whether the lock now pins something that it did not pin when a person
// was asked, and that is not what arrived.
func (a *arrival) overtaken(before, now *chain.Lock) bool {
	pin, ok := pinOf(now, a.item.Ref)
	old, _ := pinOf(before, a.item.Ref)
	return ok && !a.pinned(now) && old.SHA256 != pin.SHA256
}

// pin keeps the content of an arrival in the project's store, unless it is there, and
// writes the item into the lock, with how far its namespace had come: a floor for everyone
// who has this lock.
func (a *arrival) pin(ctx context.Context, s *session.Session, lock *chain.Lock, rep *rye.InstallReport) error {
	repo, err := s.Stack.Project.Repo()
	if err != nil {
		return err
	}
	e, tip := a.release.Entry, a.release.Tip
	unchanged := a.pinned(s.Lock) && repo.Has(e.Commit)
	if !unchanged {
		if _, err := a.content.CopyTo(ctx, repo, session.LockRefs+e.Sum.Hex()); err != nil {
			return err
		}
	}
	a.note(rep, s.Lock, unchanged)
	c := s.Project.Registries[a.registry]
	id, err := objects.ParseDigest(c.ID)
	if err != nil {
		return err
	}
	lock.Registries[a.registry] = chain.RegistryPin{ID: id, URL: c.URL}
	lock.Namespaces[a.release.Namespace] = chain.NamespacePin{Registry: a.registry, Seq: tip.Seq, Tip: tip.Tip.String(), SHA256: tip.Sum}
	lock.SetItem(chain.Link{Verified: a.verified, Space: objects.Project, Origin: &chain.Origin{
		Registry: a.registry, Version: e.Version, Commit: e.Commit.String(), Author: e.Author, Publisher: e.Publisher}})
	return nil
}

// pinChains pins the executors of the tools that arrived, as they resolve now that
// everything is in place.
func (in *installation) pinChains(ctx context.Context, s *session.Session) error {
	for _, a := range in.arrivals {
		if a.item.Ref.Kind != objects.Tool || a.item.Meta.Executor == "" {
			continue
		}
		plan, err := locks.Plan(ctx, s, a.item.Ref)
		if err != nil {
			return err
		}
		if err := s.Lock.Set(plan); err != nil {
			return err
		}
	}
	return nil
}

// writeDeps writes the new ranges into rye.yaml.
func (in *installation) writeDeps(s *session.Session) error {
	project := s.Project.Edit()
	maps.Copy(project.Deps, in.deps)
	if maps.Equal(project.Deps, s.Project.Deps) {
		return nil
	}
	return project.Write(s.ProjectDir)
}
