package workspace

import (
	"context"
	"encoding/json"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/install"
	"github.com/rye-os/rye/workspace/internal/run"
	"github.com/rye-os/rye/workspace/internal/share"
)

// served answers the tools about registries here, and hands on what else is served.
func (r *rooms) served(next run.Serve) run.Serve {
	return func(ctx context.Context, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
		if !share.Serves(q) {
			return share.HandOn(ctx, next, c, q)
		}
		s, err := decided(c)(share.Asking(r.host, c).OpenProject())
		if err != nil {
			return nil, err
		}
		defer s.Close()
		return share.Server{Finder: r.finder, Install: install.Install}.Serve(ctx, r.desk(s), c, q)
	}
}

// Catalogue brings the whole catalogues of namespaces, verified, so that what registries offer
// can be searched and browsed. It changes nothing in the project, and nothing that the user
// believes. The reports are complete; the error is the first of theirs.
func (g Registry) Catalogue(ctx context.Context, c rye.Caller, q rye.CatalogueRequest) ([]rye.CatalogueInfo, error) {
	return do(ctx, c, "fetch", g.working(g.project), share.Catalogues, q)
}

// Info says what a registry says of an item, of a namespace or of itself: asked now, or, where
// it cannot be asked, as it was verified here before, and how long ago that was.
func (g Registry) Info(ctx context.Context, c rye.Caller, q rye.PublishedRequest) (*rye.Published, error) {
	return do(ctx, c, "registry.info", g.working(g.project), share.Info, q)
}
