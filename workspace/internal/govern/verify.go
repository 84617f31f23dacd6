package govern

import (
	"context"
	"maps"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Verify brings registries up to date as Sync does. It replays the logs of their namespaces
// from the claims, and asks for every object that the logs name. Missing objects are an error,
// after all checks.
func Verify(ctx context.Context, s *custody.Desk, q rye.RegistryVerifyRequest) ([]rye.RegistryInfo, error) {
	s = s.Looking()
	all, err := share.Sync(ctx, s, rye.RegistryRequest{Registry: q.Registry})
	if err != nil {
		return all, err
	}
	var lost []string
	for i := range all {
		missing, err := verifyRegistry(ctx, s, &all[i], q.Whole)
		if err != nil {
			return all[:i+1], err
		}
		lost = append(lost, missing...)
	}
	if len(lost) > 0 {
		return all, fault.New(fault.Network, "registry verify: %s missing on the host: %s", words.Plural(len(lost), "object"), words.Brief(lost[0])).
			Advise("its publisher runs rye registry rebuild <namespace>, to send the lost objects again")
	}
	return all, nil
}

func verifyRegistry(ctx context.Context, s *custody.Desk, info *rye.RegistryInfo, whole bool) (lost []string, err error) {
	namespaces := slices.Sorted(maps.Keys(info.Seen))
	reg, err := share.OpenSynced(ctx, s, info.Name, namespaces...)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	for _, ns := range namespaces {
		s.Say("verifying " + ns + " in " + info.Name)
		c, err := reg.Verify(ctx, ns, whole)
		if err != nil {
			return nil, err
		}
		info.Checked = append(info.Checked, *checked(c))
		lost = append(lost, c.Missing...)
	}
	return lost, nil
}

func checked(c registry.Checked) *rye.RegistryCheck {
	if c.Threshold <= 1 {
		c.Threshold = 0
	}
	return &rye.RegistryCheck{Namespace: c.Namespace, Operations: c.Operations, Versions: c.Versions, Threshold: c.Threshold, Fetched: c.Fetched,
		Redacted: c.Redacted, Pruned: c.Pruned, Missing: c.Missing}
}

// Rebuild rebuilds the branch that keeps a namespace's content, without redacted bytes and old
// states. It sends again the objects that the host lost and this machine has.
func Rebuild(ctx context.Context, s *custody.Desk, q rye.RebuildRequest) (*rye.RegistryCheck, error) {
	m, err := openMembers(ctx, s, q.Registry, q.Namespace)
	if err != nil {
		return nil, err
	}
	defer m.reg.Close()
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	ns := m.state.Namespace
	if !q.DryRun {
		if err := s.Ask(ctx, rye.Question{Topic: "rebuild " + ns, Text: "Replace the branch content/" + ns + " in " + m.name + "?",
			Lines: []string{"redacted versions and old unsigned states will be on no branch"},
			Mend:  fault.Command("rye registry rebuild %s --yes", ns)}); err != nil {
			return nil, err
		}
	}
	c, err := m.reg.Rebuild(ctx, share.By(m.s, key), ns, q.DryRun)
	return checked(c), err
}
