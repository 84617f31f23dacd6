package store

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/fault"
)

// Sweep removes what dead processes left in the repository: their temporary files
// and quarantines, and the .keep files of packs that they were making. It returns
// how many processes there were. With dryRun it counts and does nothing, and
// counts a process that is only beginning as well.
func (r *Repo) Sweep(ctx context.Context, dryRun bool) (int, error) {
	top := filepath.Join(r.dir, tempName)
	dead, err := deadNests(top)
	if err != nil || len(dead) == 0 || dryRun {
		return len(dead), err
	}
	unlock, err := r.lock(ctx) // making a nest of our own sweeps, too
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := r.cleanNests(top); err != nil {
		return 0, err
	}
	left, err := deadNests(top)
	return len(dead) - len(left), err
}

// deadNests lists the nests whose process is gone; no directory is an empty one.
func deadNests(top string) ([]string, error) {
	names, err := os.ReadDir(top)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "look for leftovers: %w", err)
	}
	var dead []string
	for _, n := range names {
		if nest := filepath.Join(top, n.Name()); n.IsDir() && nestIsDead(nest) {
			dead = append(dead, nest)
		}
	}
	return dead, nil
}
