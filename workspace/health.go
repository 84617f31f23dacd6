package workspace

import (
	"cmp"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/health"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/origin"
)

// Outdated compares every dependency with its registry and every bundle with its source, now or,
// offline, as last seen. Where one cannot be asked, the report has its last known state, beside the
// error.
func (g Upkeep) Outdated(ctx context.Context, c rye.Caller) (*rye.OutdatedReport, error) {
	s, err := g.project(c, "outdated")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rep, err := health.Outdated(ctx, g.desk(s), struct{}{})
	if rep == nil {
		return nil, err
	}
	origins, oerr := origin.Outdated(ctx, g.desk(s))
	rep.Origins = origins
	return rep, cmp.Or(err, oerr)
}

// UpdateOrigins brings the newest content of their sources into bundles that have an origin. It keeps
// local edits, shows every change, and signs what was agreed to.
func (g Upkeep) UpdateOrigins(ctx context.Context, c rye.Caller, q rye.OriginUpdateRequest) (*rye.OriginUpdateReport, error) {
	s, err := g.project(c, "update")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rep, err := origin.Update(ctx, g.desk(s), q)
	if rep == nil {
		return nil, err
	}
	renewed, lockErr := locks.Follow(ctx, s, rep.Before, q.DryRun)
	for _, ref := range renewed {
		rep.Lock = append(rep.Lock, ref.String())
	}
	return rep, cmp.Or(err, lockErr)
}

// PullOrigins fetches the files of bundles whose signed manifests are here alone.
func (g Upkeep) PullOrigins(ctx context.Context, c rye.Caller, q rye.OriginPullRequest) (*rye.OriginUpdateReport, error) {
	return do(ctx, c, "pull", g.working(g.project), origin.Pull, q)
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
