package share

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry"
)

// What browsing needs of this room. Whoever browses reads what a registry says of a namespace
// whether or not the user gave it to that registry, so nothing of it reaches the trust store.

// Decides reports whether the user agreed, in this directory, that a registry of the project
// says whose a namespace is. The error says why not.
func Decides(s *Desk, name, ns string) error { return mayDecide(s, name, ns) }

// OpenHere is Open for what was verified before and nothing else: nobody is contacted, so
// that the user need not have agreed to the address.
func OpenHere(s *Desk, name string) (*registry.Registry, error) {
	c, ok := s.Project.Registries[name]
	if !ok {
		return nil, unknownRegistry(name)
	}
	return openAt(s, c.ID, registry.Options{URL: c.URL, Offline: true})
}

// Doubts says how far what was read of namespaces may be believed to be the newest. Where the
// policy says so, those beyond what the root calls fresh are refused.
func Doubts(s *Desk, reg *registry.Registry, root registry.Root, namespaces ...string) ([]string, error) {
	return Newest(s, reg, root, namespaces...)
}

// Away reports whether a registry could not be asked, so that what was verified before is all
// there is to say.
func Away(err error) bool { return fault.Is(err, fault.Offline) || fault.Is(err, fault.Network) }
