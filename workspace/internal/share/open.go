package share

import (
	"context"
	"errors"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
)

// Open opens a registry of the project, with the change of owners that the user
// accepted, if any. It uses no network yet.
func Open(s *Desk, name string, accepted map[string]uint64) (*registry.Registry, error) {
	c, err := MayReach(s, name)
	if err != nil {
		return nil, err
	}
	return OpenPinned(s, c.URL, c.ID, accepted)
}

func unknownRegistry(name string) error {
	return fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", name).Advise("rye registry list shows those that are")
}

// OpenPinned opens a registry that the user agreed to ask at this address.
func OpenPinned(s *Desk, url, id string, accepted map[string]uint64) (*registry.Registry, error) {
	return openAs(s, url, id, accepted, s.Offline)
}

func openAs(s *Desk, url, id string, accepted map[string]uint64, offline bool) (*registry.Registry, error) {
	digest, err := objects.ParseDigest(id)
	if err != nil {
		return nil, err
	}
	cache, state := s.Registries()
	return registry.Open(registry.Options{URL: url, ID: digest, CacheDir: cache, StateDir: state, Offline: offline,
		Transport: s.transport(), AcceptOwners: accepted, Now: s.Now})
}

// OpenSynced opens a registry of the project and brings what is known of namespaces up to
// date. The user must have agreed that it says whose these are: else nobody is contacted.
// When a namespace has other owners, by the word of the root or of those before them, the
// user has to agree before their signatures count.
func OpenSynced(ctx context.Context, s *Desk, name string, namespaces ...string) (*registry.Registry, error) {
	for _, ns := range namespaces {
		if err := mayDecide(s, name, ns); err != nil {
			return nil, err
		}
	}
	reg, err := openFollowing(ctx, s, name, namespaces)
	if err != nil {
		return nil, err
	}
	if err := settle(ctx, s, reg, namespaces); err != nil {
		reg.Close()
		return nil, err
	}
	return reg, nil
}

// openFollowing is OpenSynced without what the user must have agreed to, and asks about new
// owners.
func openFollowing(ctx context.Context, s *Desk, name string, namespaces []string) (*registry.Registry, error) {
	accepted := map[string]uint64{}
	for {
		reg, err := Open(s, name, accepted)
		if err != nil {
			return nil, err
		}
		err = reg.Sync(ctx, namespaces...)
		if err == nil {
			return reg, nil
		}
		reg.Close()
		var changed *registry.OwnerError
		if !errors.As(err, &changed) || accepted[changed.Namespace] == changed.Seq {
			return nil, err
		}
		if err := s.Ask(ctx, ownerQuestion(name, changed)); err != nil {
			return nil, err
		}
		accepted[changed.Namespace] = changed.Seq
	}
}

func ownerQuestion(name string, e *registry.OwnerError) rye.Question {
	q := rye.Question{Topic: "owners of " + e.Namespace, Text: "In registry " + name + " the namespace " + e.Namespace + " has other owners. Follow them?",
		Mend: fault.Advice("rye fetch --yes, after asking whoever owned it")}
	for _, k := range e.Keys {
		q.Lines = append(q.Lines, "now "+k.String())
	}
	return q
}
