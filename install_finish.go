package rye

import (
	"context"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// lockRefs is where a project's store keeps the content that its lock pins.
const lockRefs = "refs/rye/lock/"

// preview reports what finish would do.
func (in *installation) preview() {
	for _, a := range in.done {
		if in.unchanged(&a) {
			in.rep.Unchanged = append(in.rep.Unchanged, a.installed())
		} else {
			in.rep.Installed = append(in.rep.Installed, a.installed())
		}
	}
	for _, reg := range in.regs {
		in.rep.Bytes += reg.Stats().Bytes
	}
}

// finish keeps the content, then writes the lock, then rye.yaml: at every moment
// what the lock names is in the store.
func (in *installation) finish(ctx context.Context) error {
	if err := in.stack.Project.Create(); err != nil {
		return err
	}
	repo, err := in.stack.Project.Repo()
	if err != nil {
		return err
	}
	was := in.lock
	release, err := in.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	for _, a := range in.done {
		if in.pinnedMeanwhile(was, &a) {
			return fault.New(fault.Conflict, "add %s: another rye pinned something else for it meanwhile", a.item.Ref).Advise("run it again")
		}
	}
	lock := in.lock.Clone()
	if lock.Stdlib, err = in.stdlib(ctx); err != nil {
		return err
	}
	for _, a := range in.done {
		e := a.release.Entry
		got := a.installed()
		if in.unchanged(&a) && repo.Has(e.Commit) {
			in.rep.Unchanged = append(in.rep.Unchanged, got)
		} else {
			if _, err := a.content.CopyTo(ctx, repo, lockRefs+e.Sum.Hex()); err != nil {
				return err
			}
			in.rep.Installed = append(in.rep.Installed, got)
		}
		if err := in.pinArrival(lock, a); err != nil {
			return err
		}
	}
	if err := in.pinChains(ctx, lock); err != nil {
		return err
	}
	for _, reg := range in.regs {
		in.rep.Bytes += reg.Stats().Bytes
	}
	if err := in.writeLock(lock); err != nil {
		return err
	}
	return in.writeDeps()
}

// pinnedMeanwhile reports whether the lock now says something of an arrival that it
// did not say when a person was asked about it, and that is not what arrived.
func (in *installation) pinnedMeanwhile(was *chain.Lock, a *arrival) bool {
	if in.lock == nil || in.unchanged(a) {
		return false
	}
	now, ok := in.lock.Items[a.item.Ref]
	if !ok || was == nil {
		return ok
	}
	return was.Items[a.item.Ref].SHA256 != now.SHA256
}

// pinArrival writes an item that came from a registry into the lock, and how far
// its namespace had come: a floor for everybody who has this lock.
func (in *installation) pinArrival(lock *chain.Lock, a arrival) error {
	e := a.release.Entry
	c := in.project.Registries[a.name]
	id, err := objects.ParseDigest(c.ID)
	if err != nil {
		return err
	}
	lock.Registries[a.name] = chain.RegistryPin{ID: id, URL: c.URL}
	tip := a.release.Tip
	lock.Namespaces[a.release.Namespace] = chain.NamespacePin{Registry: a.name, Seq: tip.Seq, Tip: tip.Tip.String(), SHA256: tip.Sum}
	lock.SetItem(chain.Link{Verified: a.verified, Space: objects.Project, Origin: &chain.Origin{
		Registry: a.name, Version: e.Version, Commit: e.Commit.String(), Author: e.Author, Publisher: e.Publisher}})
	return nil
}

// pinChains pins the executors of the tools that arrived, as they resolve now that
// everything is in place.
func (in *installation) pinChains(ctx context.Context, lock *chain.Lock) error {
	in.lock, in.stack.Locked = lock, in.pin
	for _, a := range in.done {
		if a.item.Ref.Kind != objects.Tool || a.item.Meta.Executor == "" {
			continue
		}
		plan, err := chain.Resolve(ctx, finder{in.session}, a.item.Ref)
		if err != nil {
			return err
		}
		if err := lock.Set(plan); err != nil {
			return err
		}
	}
	return nil
}

func (in *installation) writeDeps() error {
	changed := false
	for name, text := range in.deps {
		if in.project.Deps[name] != text {
			if in.project.Deps == nil {
				in.project.Deps = map[string]string{}
			}
			in.project.Deps[name], changed = text, true
		}
	}
	if !changed {
		return nil
	}
	return in.project.write(in.r.o.Project)
}

// dropDependency takes a registry item out of rye.yaml and the lock, then lets go
// of its content.
func (s *session) dropDependency(ref objects.Ref) error {
	release, err := s.alone(context.Background()) // nobody holds it for long
	if err != nil {
		return err
	}
	defer release()
	if s.lock == nil {
		return fault.New(fault.NotFound, "remove %s: there is no lock", ref)
	}
	it, ok := s.lock.Items[ref]
	if !ok {
		return fault.New(fault.NotFound, "remove %s: not in the lock", ref)
	}
	delete(s.project.Deps, ref.Published())
	if err := s.project.write(s.r.o.Project); err != nil {
		return err
	}
	lock := s.lock.Clone()
	lock.Remove(ref)
	if err := s.writeLock(lock); err != nil {
		return err
	}
	repo, err := s.stack.Project.Repo()
	if err != nil || repo == nil {
		return err
	}
	name := lockRefs + it.SHA256.Hex()
	id, err := repo.Ref(name)
	if err != nil {
		return nil // gone already
	}
	return repo.Swap(context.Background(), name, id, store.OID{}, "remove "+ref.String())
}
