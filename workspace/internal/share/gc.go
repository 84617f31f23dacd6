package share

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/session"
)

// CompactCaches sweeps the caches of registries and merges their packs. An error in one cache
// does not stop work on the others.
func CompactCaches(ctx context.Context, h *session.Host, q rye.GCRequest) (*rye.GCReport, error) {
	caches, _ := h.Registries()
	g := &rye.GCReport{Place: "registry caches", Dir: caches}
	dirs, _ := filepath.Glob(filepath.Join(caches, "*.git"))
	var errs []error
	for _, dir := range dirs {
		repo, err := store.Open(dir)
		if err != nil {
			continue // a missing cache is made anew when it is needed
		}
		err = session.CompactStore(ctx, g, repo, store.CompactOptions{DryRun: q.DryRun, Packs: true})
		errs = append(errs, err, repo.Close())
	}
	return g, errors.Join(errs...)
}
