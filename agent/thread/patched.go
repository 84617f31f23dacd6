package thread

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
)

// patched returns, sorted, the refs of everything that drives a thread and that no owner of its
// namespace signed: directive, provider and loop. Its configurations are in rye/, where nothing is
// a patch, and the tools that it calls are judged at each call.
func (s *starter) patched(ctx context.Context, d *Description, pin *rye.Pinned) (refs []string, err error) {
	if pin.Patched {
		refs = append(refs, d.Directive)
	}
	for _, ref := range []string{d.Provider, d.Loop} {
		res, err := s.o.Verbs.Load(ctx, partCaller, rye.LoadRequest{Ref: refOf(ref)})
		if err != nil {
			return nil, err
		}
		if res.State == objects.Patched {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs), nil
}
