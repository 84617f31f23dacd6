package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/look"
)

// History are the verbs that look back: what was recorded of items, and bring it back.
type History struct{ *rooms }

// History returns the verbs that look back: what was recorded of items, and bring it back.
func (w *Workspace) History() History { return History{&w.rooms} }

// Log lists the commits of the project's space, or those that changed one item,
// newest first; with q.Patch also what each changed.
func (g History) Log(ctx context.Context, c rye.Caller, q rye.LogRequest) ([]rye.LogEntry, error) {
	return do(ctx, c, "log", g.of(q.Space), look.Log, q)
}

// Blame tells for each line of an item, as it was recorded, which recorded version it came
// with, and who signed that.
func (g History) Blame(ctx context.Context, c rye.Caller, q rye.BlameRequest) ([]rye.BlameLine, error) {
	return do(ctx, c, "blame", g.project, look.Blame, q)
}

// Diff compares working items of the project with what was last recorded of them, those
// named or all that differ; with From, two versions of one item. A bundle is compared
// with its manifest, a file at a time. It changes nothing.
func (g History) Diff(ctx context.Context, c rye.Caller, q rye.DiffRequest) ([]rye.ItemDiff, error) {
	return do(ctx, c, "diff", g.of(q.Space), look.Diff, q)
}

// Restore brings back a recorded file of an item. A different file that is there now is
// recorded first.
func (g History) Restore(ctx context.Context, c rye.Caller, q rye.RestoreRequest) (*rye.AddReport, error) {
	return do(ctx, c, "restore", g.working(g.of(q.Space)), author.Restore, q)
}
