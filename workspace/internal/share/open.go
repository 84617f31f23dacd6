package share

import (
	"context"
	"errors"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
)

// openRegistry opens a registry of the project, with the change of owners that the user
// accepted, if any. It uses no network yet.
func openRegistry(s *Desk, name string, accepted map[string]uint64) (*registry.Registry, error) {
	c, ok := s.Project.Registries[name]
	if !ok {
		return nil, unknownRegistry(name)
	}
	if _, ok := s.Trust.Registry(c.ID); !ok {
		return nil, fault.New(fault.Untrusted, "registry %s (%s): this project names it, but you have not pinned it", name, c.URL).
			Mend("rye registry add %s --name %s", c.URL, name)
	}
	return openPinned(s, c.URL, c.ID, accepted)
}

func unknownRegistry(name string) error {
	return fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", name).Mend("rye registry list")
}

// openPinned opens a registry that the trust store holds, in a project or not. Its logs
// must pass through the points that the lock holds of them.
func openPinned(s *Desk, url, id string, accepted map[string]uint64) (*registry.Registry, error) {
	digest, err := objects.ParseDigest(id)
	if err != nil {
		return nil, err
	}
	cache, state := s.Registries()
	return registry.Open(registry.Options{URL: url, ID: digest, CacheDir: cache, StateDir: state, Offline: s.Offline,
		Transport: s.transport(), Floors: floors(s, id), AcceptOwners: accepted, Now: s.Now})
}

// floors returns the points that the lock holds of the logs of a registry.
func floors(s *Desk, id string) map[string][]registry.Point {
	if s.Lock == nil {
		return nil
	}
	points := map[string][]registry.Point{}
	for ns, n := range s.Lock.Namespaces {
		if s.Project.Registries[n.Registry].ID == id {
			points[ns] = append(points[ns], registry.Point{Seq: n.Seq, Sum: n.SHA256})
		}
	}
	return points
}

// openSynced opens a registry of the project and brings what is known of namespaces up to
// date. When the registry gave a namespace to other owners, the user has to agree before
// their signatures count.
func openSynced(ctx context.Context, s *Desk, name string, namespaces ...string) (*registry.Registry, error) {
	accepted := map[string]uint64{}
	for {
		reg, err := openRegistry(s, name, accepted)
		if err != nil {
			return nil, err
		}
		err = reg.Sync(ctx, namespaces...)
		if err == nil {
			return reg, nil
		}
		reg.Close()
		var changed *registry.OwnerError
		if !errors.As(err, &changed) || accepted[changed.Namespace] == changed.Grant {
			return nil, err
		}
		if err := s.Ask(ctx, ownerQuestion(name, changed)); err != nil {
			return nil, err
		}
		accepted[changed.Namespace] = changed.Grant
	}
}

func ownerQuestion(name string, e *registry.OwnerError) rye.Question {
	q := rye.Question{Topic: "owners of " + e.Namespace, Text: "Registry " + name + " gave the namespace " + e.Namespace + " to other keys. Follow it?",
		Mend: fault.Advice("rye fetch --yes, after asking whoever owned it")}
	for _, k := range e.Keys {
		q.Lines = append(q.Lines, "now "+k.String())
	}
	return q
}
