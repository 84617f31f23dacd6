package rye

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
)

// Fetch brings what this machine knows of the project's registries up to date,
// verified, and changes nothing in the project.
func (r *Rye) Fetch(ctx context.Context) ([]RegistryInfo, error) { return r.syncRegistries(ctx, "") }

// RegistryVerify fetches one registry, or all, and replays what is new of their
// logs. Whatever does not follow from what was seen before is an error.
func (r *Rye) RegistryVerify(ctx context.Context, name string) ([]RegistryInfo, error) {
	return r.syncRegistries(ctx, name)
}

func (r *Rye) syncRegistries(ctx context.Context, only string) ([]RegistryInfo, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if only != "" {
		if _, ok := s.project.Registries[only]; !ok {
			return nil, fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", only).Mend("rye registry list")
		}
	}
	var all []RegistryInfo
	for _, name := range slices.Sorted(maps.Keys(s.project.Registries)) {
		if only != "" && name != only {
			continue
		}
		info, err := s.syncRegistry(ctx, name)
		if err != nil {
			return all, err
		}
		all = append(all, info)
	}
	return all, nil
}

func (s *session) syncRegistry(ctx context.Context, name string) (RegistryInfo, error) {
	info := s.registryInfo(name)
	namespaces := s.namespacesOf(name)
	reg, err := s.sync(ctx, name, namespaces...)
	if err != nil {
		return info, err
	}
	defer reg.Close()
	root, err := reg.Root(ctx)
	if err != nil {
		return info, err
	}
	if err := s.followRoots(reg.ID(), root); err != nil {
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
		if err := s.bind(reg, ns); err != nil {
			return info, err
		}
	}
	return info, nil
}

// namespacesOf lists the namespaces that this project has to do with in a registry.
func (s *session) namespacesOf(name string) []string {
	set := map[string]bool{}
	note := func(ns string) {
		if to, _, err := s.project.registryFor(ns); err == nil && to == name {
			set[ns] = true
		}
	}
	for scope := range s.project.Scopes {
		if scope != "*" {
			note(scope)
		}
	}
	for dep := range s.project.Deps {
		if ref, err := objects.ParseRef(dep); err == nil {
			note(ref.ID.Namespace())
		}
	}
	if s.project.Namespace != objects.LocalNamespace {
		note(s.project.Namespace)
	}
	return slices.Sorted(maps.Keys(set))
}

// bind tells the trust store what the log of a namespace says: whose keys it has,
// and which published bytes were taken back, so that both hold offline too.
func (s *session) bind(reg *registry.Registry, ns string) error {
	b, err := reg.Binding(ns)
	if err != nil {
		return err
	}
	revoked, err := reg.Revoked(ns)
	if err != nil {
		return err
	}
	err = trust.Update(s.r.trustPath(), func(t *trust.Store) error {
		for _, e := range revoked {
			if err := t.DenyDigest(e.Sum, e.Name()+" was revoked: "+e.Reason); err != nil {
				return err
			}
		}
		return t.BindNamespace(ns, reg.ID().String(), b.Bound()...)
	})
	if err != nil {
		return err
	}
	return s.reloadTrust()
}

// sync brings a namespace up to date. When its registry gave it to other owners,
// a person has to agree before their word counts.
func (s *session) sync(ctx context.Context, name string, namespaces ...string) (*registry.Registry, error) {
	accepted := map[string]uint64{}
	for {
		reg, err := s.openRegistry(name, accepted)
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
		if err := s.r.ask(ctx, ownerQuestion(name, changed)); err != nil {
			return nil, err
		}
		accepted[changed.Namespace] = changed.Grant
	}
}

func ownerQuestion(name string, e *registry.OwnerError) Question {
	q := Question{Topic: "owners of " + e.Namespace, Text: "Registry " + name + " gave the namespace " + e.Namespace + " to other keys. Follow it?",
		Mend: fault.Advice("rye fetch --yes, after asking whoever owned it")}
	for _, k := range e.Keys {
		q.Lines = append(q.Lines, "now "+k.Fingerprint().String())
	}
	return q
}

// by names the signer of an operation for git.
func by(key trust.Signer) registry.By {
	return registry.By{Signer: key, Who: author(key.Public())}
}

func (s *session) reloadTrust() error {
	t, err := trust.LoadStore(s.r.trustPath())
	if err != nil {
		return err
	}
	s.trust, s.stack.Trust = t, t
	return nil
}
