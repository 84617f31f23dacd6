package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// tempPrefixes begin the names of files and directories that rye is about to
// rename or remove; one that is older than tempAge belongs to a process that died.
var tempPrefixes = []string{".rye-tmp-", ".tmp-", "rye-create-", "rye-contact-"}

const tempAge = time.Hour

// SweepTemps removes what processes that died left in the directories in which files are
// replaced.
func (h *Host) SweepTemps(ctx context.Context, q rye.GCRequest) (*rye.GCReport, error) {
	g := &rye.GCReport{Place: "temporary files", Dir: h.CacheDir}
	var errs []error
	for _, dir := range h.tempDirs() {
		entries, _ := os.ReadDir(dir) // a directory that is not there holds none
		for _, e := range entries {
			st, err := e.Info()
			if err != nil || !isTemp(e.Name()) || h.Now().Sub(st.ModTime()) < tempAge {
				continue
			}
			if !q.DryRun {
				err = os.RemoveAll(filepath.Join(dir, e.Name()))
			}
			if err == nil {
				g.Removed++
			}
			errs = append(errs, err)
		}
	}
	for _, dir := range []string{h.ProjectDir, h.UserDir} {
		if dir == "" {
			continue
		}
		n, err := h.sweepItems(ctx, filepath.Join(dir, ".ai"), q.DryRun)
		g.Removed, errs = g.Removed+n, append(errs, err)
	}
	return g, errors.Join(errs...)
}

// maxSwept bounds how many entries below one .ai are looked at: what a clone brings may
// have any number.
const maxSwept = 200_000

// sweepItems removes what processes that died left beside items. It goes below dir only,
// follows no link, and touches regular files only.
func (h *Host) sweepItems(ctx context.Context, dir string, dryRun bool) (removed int, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, nil // there is no such directory, or it is a link that leads nowhere
	}
	defer root.Close()
	left := maxSwept
	for dirs := []string{"."}; len(dirs) > 0 && left > 0; {
		at := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		f, err := root.Open(at)
		if err != nil {
			continue // removed meanwhile, or not ours to read
		}
		for left > 0 && ctx.Err() == nil {
			entries, err := f.ReadDir(256)
			left -= len(entries)
			for _, e := range entries {
				if name := path.Join(at, e.Name()); e.IsDir() {
					dirs = append(dirs, name)
				} else if h.isLeftover(root, name) && (dryRun || root.Remove(name) == nil) {
					removed++
				}
			}
			if err != nil {
				break
			}
		}
		f.Close()
	}
	return removed, ctx.Err()
}

// isLeftover reports whether the file below root is one that a process that died was
// writing. In .ai itself SweepTemps finds them.
func (h *Host) isLeftover(root *os.Root, name string) bool {
	if !strings.HasPrefix(path.Base(name), space.TempPrefix) || path.Dir(name) == "." && root.Name() == h.AIDir() {
		return false
	}
	st, err := root.Lstat(name)
	return err == nil && st.Mode().IsRegular() && h.Now().Sub(st.ModTime()) >= tempAge
}

// tempDirs lists the directories in which files are replaced.
func (h *Host) tempDirs() []string {
	cache, state := h.Registries()
	dirs := []string{h.CacheDir, cache, h.ConfigDir, h.KeyDir(), h.StateDir, state}
	if h.ProjectDir != "" {
		dirs = append(dirs, h.AIDir())
	}
	return slices.DeleteFunc(dirs, func(d string) bool { return !filepath.IsAbs(d) })
}

func isTemp(name string) bool {
	return slices.ContainsFunc(tempPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// CompactLayers sweeps and compacts the stores of the project and of the user space.
func (s *Session) CompactLayers(ctx context.Context, all *Collected, q rye.GCRequest) {
	for _, l := range s.Stack.Layers() {
		all.Note(compactLayer(ctx, l, q))
	}
}

// compactLayer sweeps and compacts the store of one space; nil when it has none.
func compactLayer(ctx context.Context, l *space.Layer, q rye.GCRequest) (*rye.GCReport, error) {
	repo, err := l.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	g := &rye.GCReport{Place: l.Space.String() + " space", Dir: repo.Dir()}
	if err := CompactStore(ctx, g, repo, store.CompactOptions{DryRun: q.DryRun}); err != nil {
		return nil, fmt.Errorf("%s: %w", g.Place, err)
	}
	return g, nil
}

// CompactStore sweeps and compacts one store, and adds to g what was done.
func CompactStore(ctx context.Context, g *rye.GCReport, repo *store.Repo, o store.CompactOptions) error {
	n, err := repo.Sweep(ctx, o.DryRun)
	g.Removed += n
	if err != nil {
		return err
	}
	c, err := repo.Compact(ctx, o)
	g.Loose, g.Packs, g.Objects = g.Loose+c.Loose, g.Packs+c.Packs, g.Objects+c.Objects
	g.Before, g.After, g.Left, g.Moves = g.Before+c.Before, g.After+c.After, g.Left+c.Left, g.Moves+c.Moves
	return err
}

// Collected gathers what was done place by place. An error in one place does not keep the
// work from the others.
type Collected struct {
	reports []rye.GCReport
	errs    []error
}

// Note takes what was done in one place; a nil report is a place that is not there.
func (all *Collected) Note(g *rye.GCReport, err error) {
	if g != nil {
		all.reports = append(all.reports, *g)
	}
	all.errs = append(all.errs, err)
}

// Reports returns everything that was noted, told for people too, and what went wrong.
func (all *Collected) Reports(q rye.GCRequest) ([]rye.GCReport, error) {
	for i := range all.reports {
		g := &all.reports[i]
		g.DryRun = q.DryRun
		g.Text = gcText(g)
	}
	return all.reports, errors.Join(all.errs...)
}

// gcText says for people what was done.
func gcText(g *rye.GCReport) string {
	put, dropped, removed := "put", "dropped", "removed"
	if g.DryRun {
		put, dropped, removed = "would put", "would drop", "would remove"
	}
	var parts []string
	if g.Objects > 0 {
		parts = append(parts, fmt.Sprintf("%s %s and %s into one pack of %s", put,
			words.Plural(g.Loose, "loose object"), words.Plural(g.Packs, "pack"), words.Plural(g.Objects, "object")))
	}
	if g.Moves > 0 {
		parts = append(parts, dropped+" "+words.Plural(g.Moves, "old move")+" from the logs of refs")
	}
	if n := len(g.Gone); n > 0 {
		if g.Removed > 0 {
			return "removed " + words.Plural(g.Removed, "record") + " of directories that are gone"
		}
		return words.Plural(n, "record") + " of directories that are gone, which stay (rye gc --gone removes them)"
	}
	if g.Removed > 0 {
		parts = append(parts, removed+" "+words.Plural(g.Removed, "leftover"))
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing to do")
}
