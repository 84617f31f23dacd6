package run

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/workspace/internal/session"
)

func SweepRuns(h *session.Host, q rye.GCRequest) (*rye.GCReport, error) {
	g := &rye.GCReport{Place: "runs", Dir: h.RunsDir()}
	if q.DryRun {
		left, err := primitive.Leftovers(g.Dir)
		g.Removed = len(left)
		return g, err
	}
	var err error
	g.Removed, err = primitive.Sweep(g.Dir)
	return g, err
}
