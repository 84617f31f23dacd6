package locks

import (
	"maps"
	"slices"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Warnings returns registries' warnings about the links of a plan.
func Warnings(s *session.Session, plan *chain.Plan) (all []string) {
	for _, l := range plan.Links {
		if l.Origin != nil {
			all = appendWarning(s, all, l.Ref())
		}
	}
	return all
}

// WarningsOf returns a registry's warnings about a found item.
func WarningsOf(s *session.Session, f space.Found) []string {
	if f.Registry == "" {
		return nil
	}
	return appendWarning(s, nil, f.Item().Ref)
}

// warnLock returns registries' warnings about the pinned items of a lock.
func warnLock(s *session.Session, lock *chain.Lock) (all []string) {
	for _, ref := range slices.SortedFunc(maps.Keys(lock.Items), byName) {
		if lock.Items[ref].From != "" {
			all = appendWarning(s, all, ref)
		}
	}
	return all
}

func appendWarning(s *session.Session, all []string, ref objects.Ref) []string {
	if w := s.Warning(ref); w != "" {
		all = append(all, w)
	}
	return all
}
