package share

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry"
)

// Mark changes what a registry says of published versions: "deprecate" warns of
// them, "yank" takes them out of new selections, "unyank" takes both back, and
// "revoke" forbids them for good, even where they are locked. It is a signed
// operation in the namespace's log; nothing published is ever deleted.
func Mark(ctx context.Context, s *Desk, q rye.MarkRequest) (*rye.MarkReport, error) {
	if len(q.Names) == 0 {
		return nil, fault.New(fault.Usage, "%s: no version named", q.Do).Advise("rye %s acme/tool/hello@1.0.0 --reason '...'", q.Do)
	}
	ref, _, err := registry.ParseName(q.Names[0])
	if err != nil {
		return nil, err
	}
	ns := ref.ID.Namespace()
	name, _, err := s.Project.RegistryFor(ns)
	if err != nil {
		return nil, err
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	reg, err := sync(ctx, s, name, ns)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	if q.Do == "revoke" {
		ask := rye.Question{Topic: "revoke", Text: "Forbid these versions for good, everywhere?", Lines: q.Names, Mend: fault.Command("rye revoke --yes")}
		if err := s.Ask(ctx, ask); err != nil {
			return nil, err
		}
	}
	change := registry.StatusChange{Names: q.Names, Reason: q.Reason, By: by(key)}
	if err := mark(ctx, reg, q.Do, change); err != nil {
		return nil, err
	}
	rep := &rye.MarkReport{Registry: name, Namespace: ns, Done: q.Do, Names: q.Names, Reason: q.Reason}
	_, err = bind(s, reg, ns)
	return rep, err
}

func mark(ctx context.Context, reg *registry.Registry, do string, c registry.StatusChange) error {
	switch do {
	case "deprecate":
		return reg.Deprecate(ctx, c)
	case "yank":
		return reg.Yank(ctx, c)
	case "unyank":
		return reg.Unyank(ctx, c)
	case "revoke":
		return reg.Revoke(ctx, c)
	}
	return fault.New(fault.Usage, "mark %q: want deprecate, yank, unyank or revoke", do)
}
