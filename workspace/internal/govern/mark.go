package govern

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Mark changes the status of published versions. "deprecate" warns of them, "yank" takes them
// out of new selections, and "unyank" takes both back. "revoke" forbids them for good, even
// where they are locked, and "redact" also demands that their bytes be deleted: see Rebuild.
// It is a signed operation in the namespace's log.
func Mark(ctx context.Context, s *custody.Desk, q rye.MarkRequest) (*rye.MarkReport, error) {
	do := oplog.OpKind(q.Do)
	if !slices.Contains(registry.Marks, do) {
		return nil, fault.New(fault.Usage, "mark %q: want deprecate, yank, unyank, revoke or redact", q.Do)
	}
	if len(q.Names) == 0 {
		return nil, fault.New(fault.Usage, "%s: no version named", q.Do).Advise("name them: acme/tool/hello@1.0.0")
	}
	q.Names = published(q.Names)
	ref, _, err := oplog.ParseName(q.Names[0])
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
	if rep, err := proposeMark(ctx, s, q, markIn{name, ns, reg}); rep != nil || err != nil {
		return rep, err
	}
	if do == oplog.OpRevoke || do == oplog.OpRedact {
		if err := s.Ask(ctx, revokeQuestion(q)); err != nil {
			return nil, err
		}
	}
	if err := reg.Mark(ctx, do, registry.StatusChange{Names: q.Names, Reason: q.Reason, By: share.By(s, key)}); err != nil {
		return nil, err
	}
	return &rye.MarkReport{Registry: name, Namespace: ns, Done: q.Do, Names: q.Names, Reason: q.Reason}, share.UpdateTrust(ctx, s, reg, ns)
}

// markIn is the namespace whose versions are marked.
type markIn struct {
	name, ns string // of the registry in this project, and of the namespace
	reg      *registry.Registry
}

// proposeMark makes a proposal where other keys must agree; otherwise it returns nil.
func proposeMark(ctx context.Context, s *custody.Desk, q rye.MarkRequest, in markIn) (*rye.MarkReport, error) {
	kind := oplog.OpKind(q.Do)
	if !oplog.Governs(kind) {
		return nil, nil
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	m := &members{s: s, name: in.name, reg: in.reg}
	if m.root, err = in.reg.Root(ctx); err == nil {
		m.state, err = in.reg.View(in.ns)
	}
	if fault.Is(err, fault.NotFound) || err == nil && !m.needsOthers([]oplog.Op{{Kind: kind}}, key.Public()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	op, err := registry.StatusChange{Names: q.Names, Reason: q.Reason}.Operation(kind)
	if err != nil {
		return nil, err
	}
	c, err := m.propose(ctx, []oplog.Op{op}, key.Public(), step{file: q.Out})
	if err != nil {
		return nil, err
	}
	return &rye.MarkReport{Registry: in.name, Namespace: in.ns, Done: c.Status, Names: q.Names, Reason: q.Reason, Proposal: c}, nil
}

func revokeQuestion(q rye.MarkRequest) rye.Question {
	words := slices.Concat([]string{"rye", q.Do}, q.Names)
	if q.Do == string(oplog.OpRedact) {
		words = slices.Concat([]string{"rye", "registry", q.Do}, q.Names)
	}
	if q.Reason != "" {
		words = append(words, "--reason", q.Reason)
	}
	return rye.Question{Topic: q.Do, Text: "Forbid these versions for good, everywhere?", Lines: q.Names,
		Mend: fault.CommandOf(append(words, "--yes")...)}
}

// published returns names of versions in the form that registries use, where one has another form
// of a full name.
func published(names []string) []string {
	all := slices.Clone(names)
	for i, name := range all {
		item, version, ok := strings.Cut(name, "@")
		if ref, err := objects.ParseRef(item); err == nil && ok && ref.Published() != "" {
			all[i] = ref.Published() + "@" + version
		}
	}
	return all
}
