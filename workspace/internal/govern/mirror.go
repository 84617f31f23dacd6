package govern

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// PushMirrors brings addresses of a registry, or a named repository, which may be empty, up to
// the newest state that any address shows.
func PushMirrors(ctx context.Context, s *custody.Desk, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	r, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	if len(q.Namespaces) > 0 && q.URL == "" {
		return nil, fault.New(fault.Usage, "registry mirror push: --namespace needs one address").Advise("add --to <url>")
	}
	names := q.Namespaces
	if len(names) == 0 {
		names = r.Namespaces()
	}
	if names, err = r.reg.Claimed(ctx, names); err != nil {
		return nil, err
	}
	standings, err := r.reg.Survey(ctx, names...)
	if err != nil {
		return nil, err
	}
	rep := &rye.MirrorReport{Registry: r.name, ID: r.ID.String(), Status: "pushed", DryRun: q.DryRun}
	if q.DryRun {
		rep.Status = "would-push"
	}
	urls := []string{q.URL}
	if q.URL == "" {
		urls = nil
		for _, at := range standings {
			urls = append(urls, at.URL)
		}
	}
	var down error
	for _, url := range urls {
		s.Say("bringing " + url + " up to date")
		at := rye.RegistryAddress{URL: url, Agreed: true}
		moved, err := r.reg.SpreadTo(ctx, url, registry.SpreadOptions{Namespaces: names, Only: len(q.Namespaces) > 0, DryRun: q.DryRun})
		at.Moved = moved.Moved
		if err != nil {
			if i := slices.IndexFunc(standings, func(x registry.Standing) bool { return x.URL == url && x.Down != nil }); i < 0 {
				return rep, err
			}
			at.Problem, down = err.Error(), err
		}
		rep.Addresses = append(rep.Addresses, at)
	}
	if down != nil {
		return rep, fault.New(fault.CodeOf(down), "registry mirror push: an address did not answer: %w", down).Advise("rye registry mirror push %s again, as soon as it answers", r.name)
	}
	return rep, nil
}
