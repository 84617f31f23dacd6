package look

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/session"
)

// warn sets what its registry says against an item that is described.
func warn(s *session.Session, i *rye.ItemInfo, registry string) {
	if registry == "" || i.Ref == "" {
		return
	}
	if ref, err := s.Ref(i.Ref); err == nil {
		i.Warning = s.Warning(ref)
	}
}

// warnAll is warn for items that come through the lock.
func warnAll(s *session.Session, all []rye.ItemInfo) {
	for i := range all {
		if all[i].Locked {
			warn(s, &all[i], "lock")
		}
	}
}

// outdated counts, of the dependencies that the lock pins, those of which a newer good version
// is known, and those that are deprecated or yanked. What cannot be read counts as nothing:
// the use of the item says so.
func outdated(s *session.Session) (behind, warned int) {
	if s.Lock == nil {
		return 0, 0
	}
	for ref, pin := range s.Lock.Items {
		if pin.From == "" {
			continue
		}
		if m, ok, err := s.Marked(ref); ok && err == nil {
			if m.Behind() {
				behind++
			}
			if m.Warned() {
				warned++
			}
		}
	}
	return behind, warned
}
