package share

import (
	"maps"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Registries offer items: whole catalogues are fetched and verified, searched, and shown.
// Browsing reads a registry's namespaces whether or not the user gave them to that registry, so
// nothing of it reaches the trust store. A namespace that the user gave to no registry can be
// browsed, and its description says so. A namespace given to another registry is left out, so
// that no registry's offer appears where another's is expected.

// namesOf returns the selected registries of the project: one, or all.
func namesOf(s *custody.Desk, only string) ([]string, error) {
	if s.Project == nil {
		return nil, fault.New(fault.NotFound, "no project here, so no registries").Mend("rye init")
	}
	if only != "" {
		if _, ok := s.Project.Registries[only]; !ok {
			return nil, unknownRegistry(only)
		}
		return []string{only}, nil
	}
	names := slices.Sorted(maps.Keys(s.Project.Registries))
	if len(names) == 0 {
		return nil, fault.New(fault.NotFound, "this project has no registry").Advise("rye registry add <url>")
	}
	return names, nil
}

// accepted reports whether the user lets a registry name the owners of a namespace.
func accepted(s *custody.Desk, name, ns string) bool { return mayDecide(s, name, ns) == nil }

// elsewhere reports whether a namespace was given to another registry by its name: by the
// project, or by the user, anywhere. Then only that registry may name its owners.
func elsewhere(s *custody.Desk, name, ns string) bool {
	if to, ok := s.Project.Scopes[ns]; ok && to != name {
		return true
	}
	id := s.Project.Registries[name].ID
	if b, ok := s.Trust.Binding(ns); ok && b.Registry != id {
		return true
	}
	of := s.Site().RegistryOf(s.Trust, ns)
	return of != "" && of != id && of != s.Site().RegistryOf(s.Trust, "*")
}

// away reports whether a registry could not be asked, so that only earlier verified data is
// known.
func away(err error) bool { return fault.Is(err, fault.Offline) || fault.Is(err, fault.Network) }

// lockedVersion is the locked version of a registry's item; "" for none.
func lockedVersion(s *session.Session, ref objects.Ref) string {
	if s.Lock == nil || s.Lock.Items[ref].From == "" {
		return ""
	}
	return s.Lock.Items[ref].Version
}

// timeText spells a time; "" is the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
