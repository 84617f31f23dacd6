package share

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// RemoveRegistry removes a registry and its scopes from the project; with q.Everywhere also the
// user's trust in it. Its remembered state stays in the state directory.
func RemoveRegistry(ctx context.Context, s *custody.Desk, q rye.RegistryRemoveRequest) (*rye.RegistryRemoveReport, error) {
	rep := &rye.RegistryRemoveReport{Status: "removed", Everywhere: q.Everywhere, DryRun: q.DryRun}
	if q.DryRun {
		rep.Status = "would-remove"
	}
	if err := findRegistry(s, q, rep); err != nil {
		return nil, err
	}
	if rep.Name != "" {
		if err := unused(s.Session, rep.Name); err != nil {
			return nil, err
		}
	}
	if q.Everywhere {
		rep.Namespaces = boundTo(s.Trust, rep.ID)
	}
	if q.DryRun {
		return rep, nil
	}
	if err := s.Ask(ctx, removeQuestion(rep, q)); err != nil {
		return nil, err
	}
	if rep.Name != "" {
		if err := removeFromProject(ctx, s, rep.Name); err != nil {
			return nil, err
		}
	}
	return rep, trust.Update(s.TrustPath(), func(st *trust.Store) error { return disbelieve(s, st, rep) })
}

// disbelieve takes back the grants to a registry, in this directory or everywhere.
func disbelieve(s *custody.Desk, st *trust.Store, rep *rye.RegistryRemoveReport) error {
	st.Ungrant(func(g trust.Grant) bool {
		what, of := g.Cut()
		about := g.Kind == trust.GrantRegistry && what == rep.ID || g.Kind == trust.GrantScope && of == rep.ID
		return about && (rep.Everywhere || s.Project != nil && g.Site == s.Site())
	})
	if _, ok := st.Registry(rep.ID); !ok || !rep.Everywhere {
		return nil // also if the project named it without the user's consent
	}
	return st.RemoveRegistry(rep.ID)
}

// findRegistry finds the requested registry: by its name in the project, or with q.Everywhere by
// its identity.
func findRegistry(s *custody.Desk, q rye.RegistryRemoveRequest, rep *rye.RegistryRemoveReport) error {
	if s.Project != nil {
		for name, c := range s.Project.Registries {
			if name == q.Name || q.Everywhere && c.ID == q.Name {
				rep.Name, rep.ID, rep.URL = name, c.ID, c.URL
				rep.Scopes = scopesOf(s.Project, name)
				return nil
			}
		}
	}
	if reg, ok := s.Trust.Registry(q.Name); ok && q.Everywhere {
		rep.ID, rep.URL = reg.ID, reg.URL
		return nil
	}
	if s.Project == nil && !q.Everywhere {
		return s.NoProject()
	}
	return fault.New(fault.NotFound, "registry %q: this project has no such registry", words.Brief(q.Name)).Advise("rye registry list shows the registries")
}

// scopesOf returns the scopes of a registry, sorted.
func scopesOf(p *session.Project, name string) (scopes []string) {
	for _, scope := range slices.Sorted(maps.Keys(p.Scopes)) {
		if p.Scopes[scope] == name {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// unused refuses a registry that the project still has items from.
func unused(s *session.Session, name string) error {
	var refs []objects.Ref
	for dep := range s.Project.Deps {
		ref, err := objects.ParseRef(dep)
		if from, _, ferr := s.Project.RegistryFor(ref.ID.Namespace()); err == nil && ferr == nil && from == name {
			refs = append(refs, ref)
		}
	}
	if s.Lock != nil {
		for ref, pin := range s.Lock.Items {
			if pin.From == name && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	if len(refs) == 0 {
		return nil
	}
	slices.SortFunc(refs, func(a, b objects.Ref) int { return strings.Compare(a.String(), b.String()) })
	return fault.New(fault.Conflict, "remove registry %s: the project has %s from it; first remove %s", name, words.Plural(len(refs), "item"), refs[0]).
		Mend("rye rm %s", refs[0])
}

// boundTo returns the namespaces that are bound to a registry, sorted.
func boundTo(st *trust.Store, id string) (names []string) {
	for _, b := range st.Bindings() {
		if b.Registry == id {
			names = append(names, b.Namespace)
		}
	}
	return names
}

func removeQuestion(rep *rye.RegistryRemoveReport, q rye.RegistryRemoveRequest) rye.Question {
	words := []string{"rye", "registry", "remove", q.Name}
	ask := rye.Question{Topic: "remove registry", Text: "Remove it from this project?", Lines: []string{"identity " + rep.ID, "address  " + rep.URL}}
	for _, scope := range rep.Scopes {
		ask.Lines = append(ask.Lines, "scope    "+scope)
	}
	if q.Everywhere {
		words = append(words, "--everywhere")
		ask.Text = "Remove it from every project? Its items are then refused everywhere."
		for _, ns := range rep.Namespaces {
			ask.Lines = append(ask.Lines, "no longer decides who owns "+ns+"/ is")
		}
	}
	ask.Mend = fault.CommandOf(append(words, "--yes")...)
	return ask
}

// removeFromProject writes rye.yaml without a registry and its scopes.
func removeFromProject(ctx context.Context, s *custody.Desk, name string) error {
	alone, release, err := s.Alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := unused(alone, name); err != nil {
		return err // someone added an item meanwhile
	}
	c := alone.Project.Edit()
	delete(c.Registries, name)
	maps.DeleteFunc(c.Scopes, func(_, from string) bool { return from == name })
	return c.Write(s.ProjectDir)
}
