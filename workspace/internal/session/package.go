package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// LockEntry returns the ref of the lock's entry that pins an item: its own, or its bundle's;
// false where neither is locked.
func LockEntry(s *Session, ref objects.Ref) (objects.Ref, bool) {
	if s.Lock == nil {
		return ref, false
	}
	if _, ok := s.Lock.Items[ref]; ok {
		return ref, true
	}
	if p, err := space.PackageOf(s.Stack, ref); p != nil && err == nil {
		return p.Ref, true
	}
	return ref, false
}

// LockedRefs returns the lock's items from registries, sorted: items, bundles and their
// members.
func LockedRefs(s *Session) (refs []objects.Ref) {
	if s.Lock == nil {
		return nil
	}
	for ref, it := range s.Lock.Items {
		if it.From == "" {
			continue
		}
		refs = append(refs, ref)
		if p := s.Stack.LockedPackage(ref); p != nil {
			for _, it := range p.Members() {
				refs = append(refs, it.Ref)
			}
		}
	}
	slices.SortFunc(refs, func(a, b objects.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return slices.Compact(refs)
}

// RemoveLocked removes a registry's item, or a bundle with all of its members, from the
// project.
func RemoveLocked(ctx context.Context, s *Session, ref objects.Ref, dryRun bool) (*rye.AddReport, error) {
	entry, _ := LockEntry(s, ref)
	if entry != ref && entry.ID != ref.ID { // the name of its entry means the whole package
		return nil, fault.New(fault.Conflict, "remove %s: it is part of bundle %s", ref, entry.Published()).Mend("rye rm %s", entry)
	}
	rep := &rye.AddReport{Ref: entry.String(), State: objects.Absent}
	if dryRun {
		return rep, nil
	}
	rep.Next = fault.Command("rye add %s", entry.Published())
	return rep, DropDependency(ctx, s, entry)
}
