package share

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Fetch brings what this machine knows of the project's registries up to date,
// verified, and changes nothing in the project.
func Fetch(ctx context.Context, s *Desk) ([]rye.RegistryInfo, error) {
	return syncRegistries(ctx, s, "")
}

// RegistryVerify fetches one registry, or all, and replays what is new of their
// logs. Whatever does not follow from what was seen before is an error.
func RegistryVerify(ctx context.Context, s *Desk, q rye.RegistryRequest) ([]rye.RegistryInfo, error) {
	return syncRegistries(ctx, s, q.Registry)
}

func syncRegistries(ctx context.Context, s *Desk, only string) ([]rye.RegistryInfo, error) {
	if only != "" {
		if _, ok := s.Project.Registries[only]; !ok {
			return nil, fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", only).Mend("rye registry list")
		}
	}
	var all []rye.RegistryInfo
	for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
		if only != "" && name != only {
			continue
		}
		info, err := syncRegistry(ctx, s, name)
		if err != nil {
			return all, err
		}
		all = append(all, info)
	}
	return all, nil
}

func syncRegistry(ctx context.Context, s *Desk, name string) (rye.RegistryInfo, error) {
	info := registryInfo(s, name)
	namespaces := namespacesOf(s, name)
	reg, err := sync(ctx, s, name, namespaces...)
	if err != nil {
		return info, err
	}
	defer reg.Close()
	root, err := reg.Root(ctx)
	if err != nil {
		return info, err
	}
	if err := followRoots(s, reg.ID(), root); err != nil {
		return info, err
	}
	info.Seen = map[string]uint64{}
	for _, ns := range namespaces {
		st, err := reg.View(ns)
		if fault.Is(err, fault.NotFound) {
			continue // not claimed yet
		}
		if err != nil {
			return info, err
		}
		info.Seen[ns] = st.Seq
		if _, err := bind(s, reg, ns); err != nil {
			return info, err
		}
	}
	return info, nil
}

// namespacesOf lists the namespaces that this project has to do with in a registry.
func namespacesOf(s *Desk, name string) []string {
	set := map[string]bool{}
	note := func(ns string) {
		if to, _, err := s.Project.RegistryFor(ns); err == nil && to == name {
			set[ns] = true
		}
	}
	for scope := range s.Project.Scopes {
		if scope != "*" {
			note(scope)
		}
	}
	for dep := range s.Project.Deps {
		if ref, err := objects.ParseRef(dep); err == nil {
			note(ref.ID.Namespace())
		}
	}
	if s.Project.Namespace != objects.LocalNamespace {
		note(s.Project.Namespace)
	}
	return slices.Sorted(maps.Keys(set))
}

// bind tells the trust store what the log of a namespace says: whose keys it has,
// and which published bytes were taken back, so that both hold offline too. It returns
// a session that knows.
func bind(s *Desk, reg *registry.Registry, ns string) (*session.Session, error) {
	b, err := reg.Binding(ns)
	if err != nil {
		return nil, err
	}
	revoked, err := reg.Revoked(ns)
	if err != nil {
		return nil, err
	}
	err = trust.Update(s.TrustPath(), func(t *trust.Store) error {
		for _, e := range revoked {
			if err := t.DenyDigest(e.Sum, e.Name()+" was revoked: "+e.Reason); err != nil {
				return err
			}
		}
		return t.BindNamespace(ns, reg.ID().String(), b.Bound()...)
	})
	if err != nil {
		return nil, err
	}
	return s.WithTrust()
}

// sync brings a namespace up to date. When its registry gave it to other owners,
// a person has to agree before their word counts.
func sync(ctx context.Context, s *Desk, name string, namespaces ...string) (*registry.Registry, error) {
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
		q.Lines = append(q.Lines, "now "+k.Fingerprint().String())
	}
	return q
}

// by names the signer of an operation for git.
func by(key trust.Signer) registry.By {
	return registry.By{Signer: key, Who: custody.Author(key.Public())}
}
