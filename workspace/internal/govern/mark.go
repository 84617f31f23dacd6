package govern

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Mark changes what a registry says of published versions: "deprecate" warns of
// them, "yank" takes them out of new selections, "unyank" takes both back,
// "revoke" forbids them for good, even where they are locked, and "redact" says beside that that
// their bytes are to go: see Rebuild. It is a signed operation in the namespace's log.
func Mark(ctx context.Context, s *share.Desk, q rye.MarkRequest) (*rye.MarkReport, error) {
	do := registry.OpKind(q.Do)
	if !slices.Contains(registry.Marks, do) {
		return nil, fault.New(fault.Usage, "mark %q: want deprecate, yank, unyank, revoke or redact", q.Do)
	}
	if len(q.Names) == 0 {
		return nil, fault.New(fault.Usage, "%s: no version named", q.Do).Advise("name them: acme/tool/hello@1.0.0")
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
	reg, err := share.OpenSynced(ctx, s, name, ns)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	if do == registry.OpRevoke || do == registry.OpRedact {
		if err := s.Ask(ctx, revokeQuestion(q)); err != nil {
			return nil, err
		}
	}
	if err := reg.Mark(ctx, do, registry.StatusChange{Names: q.Names, Reason: q.Reason, By: share.By(key)}); err != nil {
		return nil, err
	}
	return &rye.MarkReport{Registry: name, Namespace: ns, Done: q.Do, Names: q.Names, Reason: q.Reason}, share.UpdateTrust(ctx, s, reg, ns)
}

func revokeQuestion(q rye.MarkRequest) rye.Question {
	words := slices.Concat([]string{"rye", q.Do}, q.Names)
	if q.Do == string(registry.OpRedact) {
		words = slices.Concat([]string{"rye", "registry", q.Do}, q.Names)
	}
	if q.Reason != "" {
		words = append(words, "--reason", q.Reason)
	}
	return rye.Question{Topic: q.Do, Text: "Forbid these versions for good, everywhere?", Lines: q.Names,
		Mend: fault.CommandOf(append(words, "--yes")...)}
}
