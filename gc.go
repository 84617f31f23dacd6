package rye

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// GCRequest says how to collect garbage.
type GCRequest struct {
	DryRun bool // say what would be done, and do nothing
}

// GCReport is what GC did in one place, or with DryRun would do.
type GCReport struct {
	Place   string `json:"place"`   // "project space", "user space", "registry caches", "runs", "temporary files"
	Dir     string `json:"dir"`     // where that is
	DryRun  bool   `json:"dry_run"` // nothing was done
	Loose   int    `json:"loose"`   // objects that were files of their own
	Packs   int    `json:"packs"`   // packs that were put together
	Objects int    `json:"objects"` // in the new pack; 0: there was nothing to do
	Before  int64  `json:"bytes_before"`
	After   int64  `json:"bytes_after"` // 0 with DryRun
	Left    int    `json:"left"`        // loose objects that no ref reaches, left as they are
	Moves   int    `json:"moves"`       // moves of refs older than 90 days, dropped from their logs
	Removed int    `json:"removed"`     // leftovers of dead processes
	Text    string `json:"text"`        // the same for people
}

// GC puts the objects of the stores into few files, and removes what processes
// that died left behind. It removes nothing that a store holds, and other
// processes may go on working. An error in one place does not keep it from the
// others; what was done is returned with it.
func (r *Rye) GC(ctx context.Context, q GCRequest) ([]GCReport, error) {
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []GCReport
	var errs []error
	note := func(g *GCReport, err error) {
		if g != nil {
			g.DryRun, g.Text = q.DryRun, g.text(q.DryRun)
			all = append(all, *g)
		}
		errs = append(errs, err)
	}
	for _, l := range s.stack.Layers() {
		note(gcLayer(ctx, l, q))
	}
	note(r.gcRegistries(ctx, q))
	note(r.gcRuns(q))
	note(r.gcTemps(q))
	return all, errors.Join(errs...)
}

// gcLayer compacts and sweeps the store of one space; nil when it has none.
func gcLayer(ctx context.Context, l *space.Layer, q GCRequest) (*GCReport, error) {
	repo, err := l.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	g := &GCReport{Place: l.Space.String() + " space", Dir: repo.Dir()}
	if g.Removed, err = repo.Sweep(ctx, q.DryRun); err != nil {
		return nil, fmt.Errorf("%s: %w", g.Place, err)
	}
	c, err := repo.Compact(ctx, store.CompactOptions{DryRun: q.DryRun})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Place, err)
	}
	g.add(c)
	return g, nil
}

// gcRegistries sweeps the caches of registries and puts their packs together. What
// is wrong with one does not keep it from the others.
func (r *Rye) gcRegistries(ctx context.Context, q GCRequest) (*GCReport, error) {
	g := &GCReport{Place: "registry caches", Dir: filepath.Join(r.o.CacheDir, "registries")}
	dirs, _ := filepath.Glob(filepath.Join(g.Dir, "*.git"))
	var errs []error
	for _, dir := range dirs {
		repo, err := store.Open(dir)
		if err != nil {
			continue // a cache: made anew when it is needed
		}
		n, err := repo.Sweep(ctx, q.DryRun)
		g.Removed += n
		var c store.Compacted
		if err == nil {
			c, err = repo.Compact(ctx, store.CompactOptions{DryRun: q.DryRun, Packs: true})
			g.add(c)
		}
		errs = append(errs, err, repo.Close())
	}
	return g, errors.Join(errs...)
}

// add counts what Compact did.
func (g *GCReport) add(c store.Compacted) {
	g.Loose, g.Packs, g.Objects = g.Loose+c.Loose, g.Packs+c.Packs, g.Objects+c.Objects
	g.Before, g.After, g.Left, g.Moves = g.Before+c.Before, g.After+c.After, g.Left+c.Left, g.Moves+c.Moves
}

// runsDir is where runs get their files.
func (r *Rye) runsDir() string { return filepath.Join(r.o.CacheDir, "run") }

func (r *Rye) gcRuns(q GCRequest) (*GCReport, error) {
	g := &GCReport{Place: "runs", Dir: r.runsDir()}
	if q.DryRun {
		left, err := primitive.Leftovers(g.Dir)
		g.Removed = len(left)
		return g, err
	}
	var err error
	g.Removed, err = primitive.Sweep(g.Dir)
	return g, err
}

// tempPrefixes begin the names of files and directories that rye is about to
// rename or remove; one that is old belongs to a process that died.
var tempPrefixes = []string{".rye-tmp-", ".tmp-", "rye-create-", "rye-contact-"}

const tempAge = time.Hour

func (r *Rye) gcTemps(q GCRequest) (*GCReport, error) {
	g := &GCReport{Place: "temporary files", Dir: r.o.CacheDir}
	var errs []error
	for _, dir := range r.tempDirs() {
		entries, _ := os.ReadDir(dir) // one that is not there holds none
		for _, e := range entries {
			st, err := e.Info()
			if err != nil || !isTemp(e.Name()) || r.o.Now().Sub(st.ModTime()) < tempAge {
				continue
			}
			if !q.DryRun {
				if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					errs = append(errs, err)
					continue
				}
			}
			g.Removed++
		}
	}
	return g, errors.Join(errs...)
}

// tempDirs lists the directories in which files are replaced.
func (r *Rye) tempDirs() []string {
	dirs := []string{r.o.CacheDir, filepath.Join(r.o.CacheDir, "registries"), r.o.ConfigDir, r.keyDir(),
		r.o.StateDir, filepath.Join(r.o.StateDir, "registries")}
	if r.o.Project != "" {
		dirs = append(dirs, r.aiDir(), filepath.Join(r.aiDir(), ".rye"))
	}
	return slices.DeleteFunc(dirs, func(d string) bool { return !filepath.IsAbs(d) })
}

func isTemp(name string) bool {
	return slices.ContainsFunc(tempPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// text says for people what was done.
func (g *GCReport) text(dry bool) string {
	verb := func(did, would string) string {
		if dry {
			return would
		}
		return did
	}
	var parts []string
	if g.Objects > 0 {
		parts = append(parts, fmt.Sprintf("%s %s and %s into one pack of %s", verb("put", "would put"),
			plural(g.Loose, "loose object"), plural(g.Packs, "pack"), plural(g.Objects, "object")))
	}
	if g.Moves > 0 {
		parts = append(parts, fmt.Sprintf("%s %s from the logs of refs", verb("dropped", "would drop"), plural(g.Moves, "old move")))
	}
	if g.Removed > 0 {
		parts = append(parts, fmt.Sprintf("%s %s", verb("removed", "would remove"), plural(g.Removed, "leftover")))
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, "; ")
}
