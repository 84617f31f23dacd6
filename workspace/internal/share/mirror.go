package share

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// agreed reports whether the user agreed to ask a registry at an address: in this directory,
// or anywhere by a command that named it.
func agreed(s *custody.Desk, id, url string) bool {
	return s.Trust.Granted(s.Site().Registry(id, url)) || s.Trust.Granted(s.Home().Registry(id, url))
}

// agreedMirrors returns the further addresses of a registry that the user agreed to. An address
// that is only in a rye.yaml is not used.
func agreedMirrors(s *custody.Desk, c session.Registry) []string {
	return slices.DeleteFunc(slices.Clone(c.Mirrors), func(url string) bool { return !agreed(s, c.ID, url) })
}

// notAgreed warns of further addresses in the project without the user's consent.
func notAgreed(s *custody.Desk, name string) (warnings []string) {
	c := s.Project.Registries[name]
	for _, url := range c.Mirrors {
		if !agreed(s, c.ID, url) {
			warnings = append(warnings, url+": you have not accepted this mirror of the project: rye trust")
		}
	}
	return warnings
}

// Mirrors lists the addresses of a registry, without the network.
func Mirrors(_ context.Context, s *custody.Desk, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	name, err := s.Project.OnlyRegistry(q.Registry)
	if err != nil {
		return nil, err
	}
	c, ok := s.Project.Registries[name]
	if !ok {
		return nil, unknownRegistry(name)
	}
	return mirrorReport(s, name, c, "listed"), nil
}

func mirrorReport(s *custody.Desk, name string, c session.Registry, status string) *rye.MirrorReport {
	rep := &rye.MirrorReport{Registry: name, ID: c.ID, Status: status}
	for _, url := range append([]string{c.URL}, c.Mirrors...) {
		rep.Addresses = append(rep.Addresses, rye.RegistryAddress{URL: url, Agreed: agreed(s, c.ID, url)})
	}
	return rep
}

// AddMirror adds an address to a registry, here and in the user space. The registry there must
// be the project's, and the user has to agree.
func AddMirror(ctx context.Context, s *custody.Desk, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	name, err := s.Project.OnlyRegistry(q.Registry)
	if err != nil {
		return nil, err
	}
	c, err := MayReach(s, name)
	if err != nil {
		return nil, err
	}
	if s.Offline {
		return nil, fault.New(fault.Offline, "mirror add %s: its identity must be fetched from the network", q.URL).Advise("leave out --offline")
	}
	if q.URL == c.URL || slices.Contains(c.Mirrors, q.URL) && agreed(s, c.ID, q.URL) {
		return mirrorReport(s, name, c, "added"), nil // it is one already
	}
	if err := sameRegistry(ctx, s, name, c, q.URL); err != nil {
		return nil, err
	}
	after := c
	if !slices.Contains(c.Mirrors, q.URL) {
		after.Mirrors = append(slices.Clone(c.Mirrors), q.URL)
	}
	if len(after.Mirrors) > registry.MaxMirrors {
		return nil, fault.New(fault.Limit, "mirror add %s: registry %s has %d mirrors already", q.URL, name, registry.MaxMirrors).Advise("rye registry mirror list %s shows the mirrors", name)
	}
	if q.DryRun {
		return dryMirrors(s, name, after, "would-add"), nil
	}
	if !agreed(s, c.ID, q.URL) {
		if err := s.Ask(ctx, mirrorQuestion(name, c, q.URL)); err != nil {
			return nil, err
		}
	}
	if err := setMirrors(ctx, s, name, after.Mirrors); err != nil {
		return nil, err
	}
	fresh, err := AgreeTo(s, c.ID, q.URL)
	if err != nil {
		return nil, err
	}
	return mirrorReport(fresh, name, after, "added"), nil
}

// sameRegistry refuses the address of another registry.
func sameRegistry(ctx context.Context, s *custody.Desk, name string, c session.Registry, url string) error {
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return err
	}
	id, err := registry.Contact(ctx, url, s.CacheDir, TransportOf(s))
	if fault.Is(err, fault.NotFound) && locates(ctx, s, name, url) {
		return nil // a repository of namespaces holds no root
	}
	if err != nil {
		return err
	}
	if id.ID.String() != c.ID {
		return fault.New(fault.Untrusted, "mirror add %s: the registry there is %s, but %s is %s", url, id.ID, name, c.ID).
			Advise("ask its administrator; a mirror has the same identity")
	}
	return nil
}

// locates reports whether the root of a registry, as it was last seen, locates a namespace
// at an address.
func locates(ctx context.Context, s *custody.Desk, name, url string) bool {
	reg, err := Open(s, name, nil)
	if err != nil {
		return false
	}
	defer reg.Close()
	return reg.Locates(ctx, url)
}

func mirrorQuestion(name string, c session.Registry, url string) rye.Question {
	return rye.Question{Topic: "mirror " + url, Text: "Ask " + words.Brief(url) + " for registry " + name + ", too?",
		Lines: []string{"identity " + c.ID + ", the same as at " + c.URL, "its log must continue the verified one; its host sees your requests"},
		Mend:  fault.Command("rye registry mirror add %s %s --yes", name, url)}
}

// AgreeTo stores the user's consent to ask a registry at an address, and returns the updated
// desk.
func AgreeTo(s *custody.Desk, id, url string) (*custody.Desk, error) {
	grants := []trust.Grant{s.Site().Registry(id, url)}
	if home := s.Home(); home.Place != "" {
		grants = append(grants, home.Registry(id, url))
	}
	if err := trust.Update(s.TrustPath(), func(st *trust.Store) error { return st.Grant(s.Now(), grants...) }); err != nil {
		return nil, err
	}
	fresh, err := s.WithTrust()
	n := *s
	n.Session = fresh
	return &n, err
}

// setMirrors writes the further addresses of a registry into rye.yaml.
func setMirrors(ctx context.Context, s *custody.Desk, name string, urls []string) error {
	alone, release, err := s.Alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	c := alone.Project.Edit()
	r, ok := c.Registries[name]
	if !ok {
		return unknownRegistry(name)
	}
	r.Mirrors = urls
	c.Registries[name] = r
	return c.Write(s.ProjectDir)
}

func dryMirrors(s *custody.Desk, name string, c session.Registry, status string) *rye.MirrorReport {
	rep := mirrorReport(s, name, c, status)
	rep.DryRun = true
	return rep
}

// RemoveMirror removes an address of a registry from the project, and the user's consent to it
// in this directory.
func RemoveMirror(ctx context.Context, s *custody.Desk, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	name, err := s.Project.OnlyRegistry(q.Registry)
	if err != nil {
		return nil, err
	}
	c, ok := s.Project.Registries[name]
	if !ok {
		return nil, unknownRegistry(name)
	}
	i := slices.Index(c.Mirrors, q.URL)
	if i < 0 {
		return nil, fault.New(fault.NotFound, "mirror remove %s: it is not a mirror of registry %s", q.URL, name).Advise("rye registry mirror list %s shows the mirrors", name)
	}
	c.Mirrors = slices.Delete(slices.Clone(c.Mirrors), i, i+1)
	if q.DryRun {
		return dryMirrors(s, name, c, "would-remove"), nil
	}
	if err := setMirrors(ctx, s, name, c.Mirrors); err != nil {
		return nil, err
	}
	err = trust.Update(s.TrustPath(), func(st *trust.Store) error {
		st.Ungrant(func(g trust.Grant) bool {
			return g.Site == s.Site() && g.Kind == trust.GrantRegistry && g.Value == s.Site().Registry(c.ID, q.URL).Value
		})
		return nil
	})
	return mirrorReport(s, name, c, "removed"), err
}

// A mirrorError reports that an address of a registry contradicts the verified state.
type mirrorError struct{ err error }

func (e *mirrorError) Error() string {
	return "compare the addresses of the registry: " + e.err.Error()
}

func (e *mirrorError) Unwrap() error { return e.err }

// compareAll compares the agreed addresses of a registry, if there are several, and returns
// their problems.
func compareAll(ctx context.Context, s *custody.Desk, name string, reg *registry.Registry, namespaces []string) (problems []string, err error) {
	if s.Offline || len(agreedMirrors(s, s.Project.Registries[name])) == 0 {
		return nil, nil
	}
	all, err := reg.Survey(ctx, namespaces...)
	for _, at := range all {
		if text := at.Problem(); text != "" {
			problems = append(problems, text)
		}
	}
	return problems, err
}

// compareNew is compareAll for first contact with a namespace: then nothing on this machine
// shows whether an address hides a newer state.
func compareNew(ctx context.Context, s *custody.Desk, name string, reg *registry.Registry, namespaces []string) error {
	if !slices.ContainsFunc(namespaces, func(ns string) bool { return reg.FirstContact(ns) }) {
		return nil
	}
	problems, err := compareAll(ctx, s, name, reg, namespaces)
	for _, text := range problems {
		s.Tell(text)
	}
	return err
}

// openSurveyed is OpenSynced for a registry from openAgreed, and compares all of its addresses.
// told lists the problems of addresses. contradicted is the error of an impossible state.
// Neither affects the rest.
func openSurveyed(ctx context.Context, s *custody.Desk, name string, namespaces []string, reg *registry.Registry) (_ *registry.Registry, told []string, contradicted, err error) {
	reg, err = openFollowing(ctx, s, name, namespaces, reg, func(reg *registry.Registry) error {
		problems, err := compareAll(ctx, s, name, reg, namespaces)
		told, contradicted = append(notAgreed(s, name), problems...), nil
		if owners := new(registry.OwnerError); errors.As(err, &owners) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			contradicted = &mirrorError{err}
		}
		return nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := settle(ctx, s, reg, namespaces); err != nil {
		reg.Close()
		return nil, nil, nil, err
	}
	return reg, told, contradicted, nil
}

// agreedSince is agreed with the present trust store: an earlier step of this command may have
// asked.
func agreedSince(s *custody.Desk, id, url string) bool {
	fresh, err := s.WithTrust()
	if err != nil {
		return false
	}
	n := *s
	n.Session = fresh
	return agreed(&n, id, url)
}

// agreeToPlace asks whether to follow a registry's root to the repository of a namespace.
// Credentials are bound to hosts, so the registry's are not sent there.
func agreeToPlace(ctx context.Context, s *custody.Desk, name string, e *registry.LocatedError) (*custody.Desk, error) {
	command := fault.Command("rye registry mirror add %s %s", name, e.URL)
	if e.Far != "" {
		return nil, fault.New(fault.Denied, "%w", e).With(command)
	}
	if agreedSince(s, s.Project.Registries[name].ID, e.URL) {
		return nil, fault.New(fault.Untrusted, "%w", e).With(command) // it was agreed to before, without effect
	}
	q := rye.Question{Topic: "repository of " + e.Namespace, Text: "Registry " + name + " locates " + e.Namespace + "/ at " + words.Brief(e.URL) + ". Use that repository?",
		Lines: []string{fmt.Sprintf("signed by its root keys, in operation %d", e.Since), "the owner of the namespace is still decided by " + name},
		Mend:  fault.Command("rye fetch --yes")}
	if err := s.Ask(ctx, q); err != nil {
		return nil, err
	}
	return AgreeTo(s, s.Project.Registries[name].ID, e.URL)
}
