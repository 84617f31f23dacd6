package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/aside"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/look"
)

// History are the verbs that show and restore recorded versions.
type History struct{ *rooms }

// History returns the verbs that show and restore recorded versions.
func (w *Workspace) History() History { return History{&w.rooms} }

// Log lists the commits of the project's space, or of one item, newest first; with q.Patch
// also the changes of each.
func (g History) Log(ctx context.Context, c rye.Caller, q rye.LogRequest) ([]rye.LogEntry, error) {
	return do(ctx, c, "log", g.of(q.Space), look.Log, q)
}

// Blame shows, for each line of a recorded item, the version that introduced it and the
// signer of that version.
func (g History) Blame(ctx context.Context, c rye.Caller, q rye.BlameRequest) ([]rye.BlameLine, error) {
	return do(ctx, c, "blame", g.project, look.Blame, q)
}

// Diff compares working items of the project with their last recorded versions: named items,
// or all that differ. With From it compares two versions of one item. A bundle is compared
// with its manifest, a file at a time. It changes nothing.
func (g History) Diff(ctx context.Context, c rye.Caller, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	return do(ctx, c, "diff", g.of(q.Space), look.Diff, q)
}

// Restore brings back recorded files of items. A different file in the place of a named item is
// recorded first; a pattern and All never replace one. The reports are of what was restored,
// beside an error, too.
func (g History) Restore(ctx context.Context, c rye.Caller, q rye.RestoreRequest) ([]rye.AddReport, error) {
	all, err := do(ctx, c, "restore", g.working(g.of(q.Space)), author.Restore, q)
	return all, g.inUserSpace(ctx, c, "restore", q.Space, q.Targets, err)
}

// Taken shows what runs left in the project and rye moved away, puts it back, or ends the notices
// about it. Only a person may.
func (g History) Taken(ctx context.Context, c rye.Caller, q rye.TakenRequest) (*rye.TakenReport, error) {
	if !c.IsPerson() {
		return nil, fault.New(fault.Denied, "restore --taken: only a person may")
	}
	return do(ctx, c, "restore", g.project, aside.Restore, q)
}
