package store

import (
	"context"
	"path"

	"github.com/rye-os/rye/fault"
)

// Sweep removes the files of dead processes from the repository: their temporary files and
// quarantines, and the .keep files of their unfinished packs. It returns the number of those
// processes; all that died during a commit count as one. With dryRun it only counts, and also
// counts a process that is just starting or committing.
func (r *Repo) Sweep(ctx context.Context, dryRun bool) (int, error) {
	dead, files, err := r.deadNests()
	n := len(dead) + min(len(files), 1)
	if err != nil || n == 0 || dryRun {
		return n, err
	}
	r.mu.Lock()
	before := r.swept
	r.mu.Unlock()
	unlock, err := r.lock(ctx) // the first lock sweeps, too
	if err != nil {
		return 0, err
	}
	defer unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err = r.cleanNests()
	r.swept += n
	return r.swept - before, err
}

// deadNests lists the nests of dead processes, and the files beside them, which belong to the
// holder of the write lock. A missing directory is empty.
func (r *Repo) deadNests() (dead, files []string, err error) {
	names, err := r.files.readDir(tempName)
	if isMissing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fault.Wrap(err, "look for leftovers")
	}
	for _, n := range names {
		switch name := path.Join(tempName, n.Name()); {
		case n.Type().IsRegular():
			files = append(files, name)
		case n.IsDir() && r.nestIsDead(name):
			dead = append(dead, name)
		}
	}
	return dead, files, nil
}
