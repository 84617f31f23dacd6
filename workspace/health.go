package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/health"
)

// Outdated compares every dependency with its registry, now or, offline, as last seen. Where a
// registry cannot be asked, the report has the last known state, beside the error.
func (g Upkeep) Outdated(ctx context.Context, c rye.Caller) (*rye.OutdatedReport, error) {
	return do(ctx, c, "outdated", g.working(g.project), health.Outdated, struct{}{})
}

// Tree returns what the project or an item uses, or what uses it.
func (g Upkeep) Tree(ctx context.Context, c rye.Caller, q rye.TreeRequest) (*rye.TreeReport, error) {
	return do(ctx, c, "tree", g.project, health.Tree, q)
}

// Audit looks at everything that the project has and locks, asks no registry and changes
// nothing.
func (g Upkeep) Audit(ctx context.Context, c rye.Caller, q rye.AuditRequest) (*rye.AuditReport, error) {
	return do(ctx, c, "audit", g.working(g.project), health.Audit, q)
}
