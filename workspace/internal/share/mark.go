package share

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry"
)

// Mark changes what a registry says of published versions: "deprecate" warns of
// them, "yank" takes them out of new selections, "unyank" takes both back, and
// "revoke" forbids them for good, even where they are locked. It is a signed
// operation in the namespace's log; nothing published is ever deleted.
func Mark(ctx context.Context, s *Desk, q rye.MarkRequest) (*rye.MarkReport, error) {
	do := registry.OpKind(q.Do)
	if !slices.Contains(registry.Marks, do) {
		return nil, fault.New(fault.Usage, "mark %q: want deprecate, yank, unyank or revoke", q.Do)
	}
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
	reg, err := openSynced(ctx, s, name, ns)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	if do == registry.OpRevoke {
		if err := s.Ask(ctx, revokeQuestion(q)); err != nil {
			return nil, err
		}
	}
	if err := reg.Mark(ctx, do, registry.StatusChange{Names: q.Names, Reason: q.Reason, By: by(key)}); err != nil {
		return nil, err
	}
	return &rye.MarkReport{Registry: name, Namespace: ns, Done: q.Do, Names: q.Names, Reason: q.Reason}, updateTrust(ctx, s, reg, ns)
}

func revokeQuestion(q rye.MarkRequest) rye.Question {
	words := slices.Concat([]string{"rye", "revoke"}, q.Names)
	if q.Reason != "" {
		words = append(words, "--reason", q.Reason)
	}
	return rye.Question{Topic: "revoke", Text: "Forbid these versions for good, everywhere?", Lines: q.Names,
		Mend: fault.CommandOf(append(words, "--yes")...)}
}
