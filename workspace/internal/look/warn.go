package look

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// warn sets the registry's warning about a described item.
func warn(s *session.Session, i *rye.ItemInfo, registry string) {
	if registry == "" || i.Ref == "" {
		return
	}
	if ref, err := objects.ParseRef(i.Ref); err == nil {
		i.Warning = s.Warning(ref)
	}
}

// warnAll is warn for items from the lock.
func warnAll(s *session.Session, all []rye.ItemInfo) {
	for i := range all {
		if all[i].Locked {
			warn(s, &all[i], "lock")
		}
	}
}

// outdated counts pinned dependencies: those with a known newer good version, and deprecated
// or yanked ones. It ignores unreadable entries: the use of the item reports them.
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
