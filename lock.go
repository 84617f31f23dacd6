package rye

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/store/space"
)

// Lock pins items of the project as they are now, with the whole chain of every
// tool; without refs it pins all that may be used, and lets go of what is gone.
func (r *Rye) Lock(ctx context.Context, refs []string) (*LockReport, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	release, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	std, err := s.stdlib(ctx)
	if err != nil {
		return nil, err
	}
	lock := s.lock.Clone()
	lock.Stdlib = std
	found, err := s.lockable(ctx, refs)
	if err != nil {
		return nil, err
	}
	if len(refs) == 0 {
		for ref, pin := range lock.Items {
			if pin.From == "" {
				delete(lock.Items, ref)
			}
		}
	}
	rep := &LockReport{Path: ".ai/" + LockFile}
	for _, f := range found {
		if err := s.lockOne(ctx, lock, f); err != nil {
			return nil, err
		}
		rep.Added = append(rep.Added, f.Ref.String())
	}
	rep.Items = len(lock.Items)
	return rep, s.writeLock(lock)
}

// lockable returns the items to pin. Named ones must be usable; of all, those are
// left out that are not, because nothing can run them either.
func (s *session) lockable(ctx context.Context, refs []string) ([]space.Finding, error) {
	if len(refs) == 0 {
		all, err := s.scan(ctx, objects.Project)
		if err != nil {
			return nil, err
		}
		var usable []space.Finding
		for _, f := range all {
			if f.Err == nil {
				usable = append(usable, f)
			}
		}
		return usable, nil
	}
	var all []space.Finding
	for _, arg := range refs {
		ref, err := s.ref(arg)
		if err != nil {
			return nil, err
		}
		f, err := s.finding(ctx, ref)
		if err == nil {
			err = f.Err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func (s *session) lockOne(ctx context.Context, lock *chain.Lock, f space.Finding) error {
	if f.Ref.Kind == objects.Tool && f.Verified.Item().Meta.Executor != "" {
		plan, err := chain.Resolve(ctx, finder{s}, f.Ref)
		if err != nil {
			return err
		}
		return lock.Set(plan)
	}
	switch f.Space {
	case objects.System:
		return nil
	case objects.User:
		return fault.New(fault.Denied, "lock %s: it lies in the user space, which a lock cannot pin", f.Ref).Mend("rye load %s --to project", f.Ref)
	}
	lock.SetItem(s.link(f.Found))
	return nil
}

// VerifyLock compares everything that the lock pins with what is here. The error
// is the first drift; the report lists all.
func (r *Rye) VerifyLock(ctx context.Context) (*LockReport, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.lock == nil {
		return nil, fault.New(fault.NotFound, "no lock here: no .ai/%s", LockFile).Mend("rye lock")
	}
	rep := &LockReport{Path: ".ai/" + LockFile, Items: len(s.lock.Items)}
	var first error
	for _, ref := range lockRefsOf(s.lock) {
		if err := s.verifyPin(ctx, ref); err != nil {
			rep.Drift = append(rep.Drift, strings.TrimPrefix(err.Error(), "lock: "))
			if first == nil {
				first = err
			}
		}
	}
	if first != nil && !fault.Is(first, fault.Drift) {
		first = fault.New(fault.Drift, "%w", first)
	}
	return rep, first
}

func (s *session) verifyPin(ctx context.Context, ref objects.Ref) error {
	f, err := s.stack.Find(ctx, ref)
	if err != nil {
		return err
	}
	if len(s.lock.Items[ref].Chain) == 0 { // pinned as a part of others' chains, or no tool
		return s.lock.MatchItem(s.link(f))
	}
	plan, err := chain.Resolve(ctx, finder{s}, ref)
	if err != nil {
		return err
	}
	return s.lock.Match(plan)
}

// lockRefsOf lists what a lock pins, in the order of its file.
func lockRefsOf(l *chain.Lock) []objects.Ref {
	byName := map[string]objects.Ref{}
	for ref := range l.Items {
		byName[ref.String()] = ref
	}
	var refs []objects.Ref
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		refs = append(refs, byName[name])
	}
	return refs
}

// stdlib is the pin of the standard library in this program, and keeps its bytes in
// the project's store.
func (s *session) stdlib(ctx context.Context) (*chain.StdlibPin, error) {
	system, err := s.r.system()
	if err != nil {
		return nil, err
	}
	id, err := s.stack.Project.Keep(ctx, system)
	if err != nil {
		return nil, err
	}
	return &chain.StdlibPin{Version: system.Release.Version, Manifest: system.Digest(), Commit: id.String()}, nil
}

func (s *session) writeLock(l *chain.Lock) error {
	used := map[string]bool{}
	for _, pin := range l.Items {
		used[pin.From] = true
	}
	for ns, n := range l.Namespaces {
		if !used[n.Registry] {
			delete(l.Namespaces, ns)
		}
	}
	for name := range l.Registries {
		if !used[name] {
			delete(l.Registries, name)
		}
	}
	raw, err := l.Encode()
	if err != nil {
		return err
	}
	if err := place.File(s.r.lockPath(), raw, 0o644); err != nil {
		return err
	}
	s.lock = l
	return nil
}

// matchLock compares what would run with what the lock pins. Without --locked an
// item that the lock does not know may run; one that drifted never does.
func (s *session) matchLock(plan *chain.Plan, q ExecuteRequest) (bool, error) {
	want := q.Locked || q.Frozen || q.Pinned
	if s.lock == nil {
		if want {
			return false, noLock(plan.Tool().Ref)
		}
		return false, nil
	}
	if _, ok := s.lock.Items[plan.Tool().Ref]; !ok && !want {
		return false, nil
	}
	err := s.lock.Match(plan)
	return err == nil, err
}

// floors are the points that the lock holds of a registry's logs.
func (s *session) floors(name string) map[string][]registry.Point {
	if s.lock == nil {
		return nil
	}
	all := map[string][]registry.Point{}
	for ns, n := range s.lock.Namespaces {
		if n.Registry == name {
			all[ns] = append(all[ns], registry.Point{Seq: n.Seq, Sum: n.SHA256})
		}
	}
	return all
}
