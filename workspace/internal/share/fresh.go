package share

import (
	"fmt"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Newest warns of namespaces that may have a newer state than the one here. If the policy says
// so, it refuses namespaces that the root no longer calls fresh.
func Newest(s *custody.Desk, reg *registry.Registry, root oplog.Root, namespaces ...string) (warnings []string, err error) {
	for _, ns := range namespaces {
		st, err := reg.View(ns)
		if err != nil || st.Seq == 0 {
			continue // no one has claimed it
		}
		g := root.Grant(ns)
		said := g != nil && !g.FreshUntil.IsZero()
		switch {
		case said && s.Now().After(g.FreshUntil):
			if warnings, err = stale(s, warnings, ns, g.FreshUntil); err != nil {
				return warnings, err
			}
		case !said && !s.Offline && reg.FirstContact(ns) && !lockKnows(s, reg, ns):
			warnings = append(warnings, fmt.Sprintf("%s: first contact, so rye cannot tell whether the host withholds newer entries", ns))
		}
	}
	return warnings, nil
}

// stale warns of a namespace whose next checkpoint is overdue, or refuses it.
func stale(s *custody.Desk, warnings []string, ns string, until time.Time) ([]string, error) {
	rules, err := s.Rules()
	if err != nil {
		return warnings, err
	}
	text := fmt.Sprintf("%s: its checkpoint expired on %s, so newer entries may be hidden", ns, until.UTC().Format(time.RFC3339))
	if rules.RefuseStale {
		return warnings, fault.New(fault.Stale, "%s", text).
			Advise("a holder of its root runs rye registry checkpoint %s --fresh 720h; or remove stale: refuse from the policy", ns)
	}
	return append(warnings, text), nil
}

// lockKnows reports whether the lock has a position of a namespace.
func lockKnows(s *custody.Desk, reg *registry.Registry, ns string) bool {
	if s.Lock == nil {
		return false
	}
	pin, ok := s.Lock.Namespaces[ns]
	return ok && s.Lock.Registries[pin.Registry].ID == reg.ID()
}
