package share

import (
	"context"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/session"
)

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
	if err := in.Stack.Project.Create(); err != nil {
		return err
	}
	repo, err := in.Stack.Project.Repo()
	if err != nil {
		return err
	}
	was := in.Lock
	alone, release, err := in.Alone(ctx)
	if err != nil {
		return err
	}
	in.Session = alone
	defer release()
	for _, a := range in.done {
		if in.pinnedMeanwhile(was, &a) {
			return fault.New(fault.Conflict, "add %s: another rye pinned something else for it meanwhile", a.item.Ref).Advise("run it again")
		}
	}
	lock := in.Lock.Clone()
	if lock.Stdlib, err = locks.Stdlib(ctx, in.Session); err != nil {
		return err
	}
	for _, a := range in.done {
		e := a.release.Entry
		got := a.installed()
		if in.unchanged(&a) && repo.Has(e.Commit) {
			in.rep.Unchanged = append(in.rep.Unchanged, got)
		} else {
			if _, err := a.content.CopyTo(ctx, repo, session.LockRefs+e.Sum.Hex()); err != nil {
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
	if err := in.WriteLock(lock); err != nil {
		return err
	}
	return in.writeDeps()
}

// pinnedMeanwhile reports whether the lock now says something of an arrival that it
// did not say when a person was asked about it, and that is not what arrived.
func (in *installation) pinnedMeanwhile(was *chain.Lock, a *arrival) bool {
	if in.Lock == nil || in.unchanged(a) {
		return false
	}
	now, ok := in.Lock.Items[a.item.Ref]
	if !ok || was == nil {
		return ok
	}
	return was.Items[a.item.Ref].SHA256 != now.SHA256
}

// pinArrival writes an item that came from a registry into the lock, and how far
// its namespace had come: a floor for everybody who has this lock.
func (in *installation) pinArrival(lock *chain.Lock, a arrival) error {
	e := a.release.Entry
	c := in.Project.Registries[a.name]
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
	s := in.WithLock(lock, objects.Digest{})
	for _, a := range in.done {
		if a.item.Ref.Kind != objects.Tool || a.item.Meta.Executor == "" {
			continue
		}
		plan, err := locks.Plan(ctx, s, a.item.Ref)
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
		if in.Project.Deps[name] != text {
			if in.Project.Deps == nil {
				in.Project.Deps = map[string]string{}
			}
			in.Project.Deps[name], changed = text, true
		}
	}
	if !changed {
		return nil
	}
	return in.Project.Write(in.ProjectDir)
}
