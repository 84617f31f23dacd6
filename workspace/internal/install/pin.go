package install

import (
	"context"
	"maps"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/session"
)

// pin keeps the content of the arrivals, then writes the lock, then rye.yaml: at every moment
// the store has the content of every pin.
func (in *installation) pin(ctx context.Context, rep *rye.InstallReport) error {
	if in.Lock == nil && len(in.arrivals)+len(in.gone)+len(in.deps) == 0 {
		return nil // nothing to pin: a lock is for what it pins
	}
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
			return fault.New(fault.Conflict, "add %s: another rye process pinned a different version meanwhile", in.arrivals[i].item.Ref).Advise("run it again")
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
	for _, ref := range in.gone {
		if _, direct := s.Project.Deps[ref.Published()]; !direct { // another rye may have been asked for it meanwhile
			lock.Remove(ref)
		}
	}
	if err := in.pinChains(ctx, s.WithLock(lock, objects.Digest{})); err != nil {
		return err
	}
	if err := s.WriteLock(ctx, lock); err != nil {
		return err
	}
	return in.writeDeps(s)
}

// pinChains pins the executors of the new tools, as they resolve now that everything is in
// place.
func (in *installation) pinChains(ctx context.Context, s *session.Session) error {
	for _, a := range in.arrivals {
		if a.parcel != nil {
			if err := locks.PinPackage(ctx, s, a.item.Ref); err != nil {
				return err
			}
			continue
		}
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
