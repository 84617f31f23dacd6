package workspace

import (
	"context"
	"encoding/json"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/install"
	"github.com/rye-os/rye/workspace/internal/run"
	"github.com/rye-os/rye/workspace/internal/share"
)

// served answers calls of the tools about registries, and passes other calls on.
func (r *rooms) served(next run.Serve) run.Serve {
	return func(ctx context.Context, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
		if !share.Serves(q) {
			return share.HandOn(ctx, next, c, q)
		}
		s, err := decided(c, "search")(share.Asking(r.host, c).OpenProject())
		if err != nil {
			return nil, err
		}
		defer s.Close()
		return share.Server{Finder: r.finder, Install: install.Install}.Serve(ctx, r.desk(s), c, q)
	}
}

// Catalogue fetches and verifies the whole catalogues of namespaces, so that the offers of
// registries can be searched and browsed. It changes neither the project nor the user's
// trust. The reports are complete; the error is the first of theirs.
func (g Registry) Catalogue(ctx context.Context, c rye.Caller, q rye.CatalogueRequest) ([]rye.CatalogueInfo, error) {
	return do(ctx, c, "fetch", g.working(g.project), share.Catalogues, q)
}

// Info shows a registry's answer about an item, a namespace or itself, as it is now. Where the
// registry cannot be asked, it shows the last verified answer, and its age.
func (g Registry) Info(ctx context.Context, c rye.Caller, q rye.PublishedRequest) (*rye.Published, error) {
	return do(ctx, c, "registry.info", g.working(g.project), share.Info, q)
}
