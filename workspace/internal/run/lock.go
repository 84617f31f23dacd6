package run

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Lock pins items of the project as they are now, with the whole chain of every
// tool; without refs it pins all that may be used, and lets go of what is gone.
func Lock(ctx context.Context, s *session.Session, q rye.LockRequest) (*rye.LockReport, error) {
	s, release, err := s.Alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	std, err := Stdlib(ctx, s)
	if err != nil {
		return nil, err
	}
	lock := s.Lock.Clone()
	lock.Stdlib = std
	found, err := lockable(ctx, s, q.Targets)
	if err != nil {
		return nil, err
	}
	if len(q.Targets) == 0 {
		for ref, pin := range lock.Items {
			if pin.From == "" {
				delete(lock.Items, ref)
			}
		}
	}
	rep := &rye.LockReport{Path: ".ai/" + session.LockFile}
	for _, f := range found {
		if err := lockOne(ctx, s, lock, f); err != nil {
			return nil, err
		}
		rep.Added = append(rep.Added, f.Ref.String())
	}
	rep.Items = len(lock.Items)
	return rep, s.WriteLock(lock)
}

// lockable returns the items to pin. Named ones must be usable; of all, those are
// left out that are not, because nothing can run them either.
func lockable(ctx context.Context, s *session.Session, targets []rye.Target) ([]space.Finding, error) {
	if len(targets) == 0 {
		all, err := look.Scan(ctx, s, objects.Project)
		if err != nil {
			return nil, err
		}
		var usable []space.Finding
		for _, f := range all {
			if f.Err == nil && !f.Manifest { // a bundle is pinned with the tools that load it
				usable = append(usable, f)
			}
		}
		return usable, nil
	}
	var all []space.Finding
	for _, arg := range targets {
		ref, err := s.Ref(string(arg))
		if err != nil {
			return nil, err
		}
		f, err := look.Finding(ctx, s, ref)
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

func lockOne(ctx context.Context, s *session.Session, lock *chain.Lock, f space.Finding) error {
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
	lock.SetItem(link(s, f.Found))
	return nil
}

// VerifyLock compares everything that the lock pins with what is here. The error
// is the first drift; the report lists all.
func VerifyLock(ctx context.Context, s *session.Session) (*rye.LockReport, error) {
	if s.Lock == nil {
		return nil, fault.New(fault.NotFound, "no lock here: no .ai/%s", session.LockFile).Mend("rye lock")
	}
	rep := &rye.LockReport{Path: ".ai/" + session.LockFile, Items: len(s.Lock.Items)}
	var first error
	for _, ref := range lockRefsOf(s.Lock) {
		if err := verifyPin(ctx, s, ref); err != nil {
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

func verifyPin(ctx context.Context, s *session.Session, ref objects.Ref) error {
	f, err := s.Stack.Find(ctx, ref)
	if err != nil {
		return err
	}
	if len(s.Lock.Items[ref].Chain) == 0 { // pinned as a part of others' chains, or no tool
		return s.Lock.MatchItem(link(s, f))
	}
	plan, err := chain.Resolve(ctx, finder{s}, ref)
	if err != nil {
		return err
	}
	return s.Lock.Match(plan)
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

// Stdlib is the pin of the standard library in this program, and keeps its bytes in
// the project's store.
func Stdlib(ctx context.Context, s *session.Session) (*chain.StdlibPin, error) {
	system, err := s.System()
	if err != nil {
		return nil, err
	}
	id, err := s.Stack.Project.Keep(ctx, system)
	if err != nil {
		return nil, err
	}
	return &chain.StdlibPin{Version: system.Release.Version, Manifest: system.Digest(), Commit: id.String()}, nil
}

// matchLock compares what would run with what the lock pins. Without --locked an
// item that the lock does not know may run; one that drifted never does.
func matchLock(s *session.Session, plan *chain.Plan, q rye.ExecuteRequest) (bool, error) {
	want := q.Locked || q.Frozen || q.Pinned
	if s.Lock == nil {
		if want {
			return false, noLock(plan.Tool().Ref)
		}
		return false, nil
	}
	if _, ok := s.Lock.Items[plan.Tool().Ref]; !ok && !want {
		return false, nil
	}
	err := s.Lock.Match(plan)
	return err == nil, err
}
