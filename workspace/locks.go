package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Locks are the verbs that pin the items of a project.
type Locks struct{ *rooms }

// Locks returns the verbs that pin the items of a project.
func (w *Workspace) Locks() Locks { return Locks{&w.rooms} }

// Lock pins items of the project as they are now, with the whole chain of every tool.
// Without targets it pins every item that may be used, and drops pins of missing items.
// It reports where .ai/vendor differs from the lock.
func (g Locks) Lock(ctx context.Context, c rye.Caller, q rye.LockRequest) (*rye.LockReport, error) {
	rep, err := do(ctx, c, "lock", g.project, locks.Pin, q)
	if rep != nil {
		rep.Warnings = append(rep.Warnings, g.vendorWarnings(ctx, c, "lock")...)
	}
	return rep, err
}

// Vendor makes .ai/vendor hold what the lock pins from registries, and nothing else.
func (g Locks) Vendor(ctx context.Context, c rye.Caller, q rye.VendorRequest) (*rye.VendorReport, error) {
	return do(ctx, c, "lock", g.working(g.project), share.Vendor, q)
}

// vendorWarnings says where .ai/vendor differs from the lock as it is on disk now.
func (r *rooms) vendorWarnings(ctx context.Context, c rye.Caller, verb string) []string {
	s, err := r.project(c, verb)
	if err != nil {
		return nil // the verb has reported it
	}
	defer s.Close()
	if _, err := share.CheckVendor(ctx, s); err != nil {
		return []string{err.Error() + "; " + fault.HintOf(err).String()}
	}
	return nil
}

// Verify compares the lock's pins with the items here, and its positions of namespaces with
// their logs as last verified. The error is the first drift; the report lists all.
func (g Locks) Verify(ctx context.Context, c rye.Caller) (*rye.LockReport, error) {
	s, err := g.project(c, "lock.verify")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return share.VerifyLock(ctx, g.desk(s))
}

// Import takes over the lock files of RYE OS, as far as their pins match the items here.
func (g Locks) Import(ctx context.Context, c rye.Caller, q rye.LockImportRequest) (*rye.LockImport, error) {
	return do(ctx, c, "lock.import", g.project, locks.Import, q)
}

// Merge merges two changed locks by the rules of docs/format/lock.md. A pin that no rule
// decides is a conflict, and is written as one.
func (g Locks) Merge(ctx context.Context, c rye.Caller, q rye.LockMergeRequest) (*rye.LockMergeReport, error) {
	if err := g.host.Permit(c, "lock.merge"); err != nil {
		return nil, err
	}
	return locks.Merge(ctx, g.host, q)
}
