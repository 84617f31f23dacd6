package share

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/session"
)

// CompactCaches sweeps the caches of registries and puts their packs together. What
// is wrong with one does not keep it from the others.
func CompactCaches(ctx context.Context, s *Desk, q rye.GCRequest) (*rye.GCReport, error) {
	g := &rye.GCReport{Place: "registry caches", Dir: filepath.Join(s.CacheDir, "registries")}
	dirs, _ := filepath.Glob(filepath.Join(g.Dir, "*.git"))
	var errs []error
	for _, dir := range dirs {
		repo, err := store.Open(dir)
		if err != nil {
			continue // a cache: made anew when it is needed
		}
		err = session.CompactStore(ctx, g, repo, store.CompactOptions{DryRun: q.DryRun, Packs: true})
		errs = append(errs, err, repo.Close())
	}
	return g, errors.Join(errs...)
}
