package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// tempPrefixes begin the names of files and directories that rye is about to rename or remove;
// one older than tempAge belongs to a dead process.
var tempPrefixes = []string{tempFile, ".tmp-", "rye-create-", "rye-contact-", "rye-add-", "rye-registry-"}

// tempFile begins the name of a file that is about to replace another.
const tempFile = ".rye-tmp-"

const tempAge = time.Hour

// maxSwept bounds the names that SweepStale reads in one directory.
const maxSwept = 4096

// SweepStale removes what dead processes left directly in the directories in which this session's
// files are replaced, such as after a kill during a host's answer. A command that writes calls it.
// What it cannot remove is for rye gc, which also looks further down.
func (s *Session) SweepStale() {
	dirs := tempDirs(s.Host)
	if s.Place.Dir != "" {
		dirs = append(dirs, s.Place.Dir)
	}
	for _, dir := range slices.Compact(slices.Sorted(slices.Values(dirs))) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue // a missing or foreign directory holds nothing
		}
		if d, err := root.Open("."); err == nil {
			entries, _ := d.ReadDir(maxSwept)
			d.Close()
			for _, e := range entries {
				if st, err := e.Info(); err == nil && isTemp(e.Name()) && s.Now().Sub(st.ModTime()) >= tempAge {
					root.RemoveAll(e.Name())
				}
			}
		}
		root.Close()
	}
}

// SweepTemps removes leftovers of dead processes in the directories in which files are replaced.
func (h *Host) SweepTemps(q rye.GCRequest) (*rye.GCReport, error) {
	g := &rye.GCReport{Place: "temporary files", Dir: h.CacheDir}
	var errs []error
	for _, dir := range tempDirs(h) {
		entries, _ := os.ReadDir(dir) // a missing directory holds none
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
	for _, dir := range slices.Compact(slices.Sorted(slices.Values(append(tempDirs(h), h.Records.Dir())))) {
		n, err := h.sweepBelow(dir, q.DryRun)
		g.Removed, errs = g.Removed+n, append(errs, err)
	}
	return g, errors.Join(errs...)
}

// Bounds of a search for leftovers below a directory of rye's own.
const (
	sweepDepth = 6
	sweepNames = 100_000
)

// isHalfRepository reports whether a name belongs to an unfinished repository.
func isHalfRepository(name string) bool {
	base, digits, ok := strings.Cut(name, ".git.")
	return ok && strings.HasPrefix(base, ".") && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// sweepBelow removes leftovers of dead processes in the folders of a directory of rye's own:
// files that were to replace others, and unfinished repositories. It enters no repository, and
// follows no link.
func (h *Host) sweepBelow(dir string, dryRun bool) (n int, err error) {
	if !filepath.IsAbs(dir) {
		return 0, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, nil // a missing or foreign directory holds nothing
	}
	defer root.Close()
	left := sweepNames
	var errs []error
	fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return nil
		}
		half := d.IsDir() && isHalfRepository(d.Name())
		if half || d.Type().IsRegular() && strings.HasPrefix(d.Name(), tempFile) {
			if st, err := d.Info(); err != nil || h.Now().Sub(st.ModTime()) < tempAge {
				return nil
			}
			if !dryRun {
				err = root.RemoveAll(p)
			}
			if err == nil {
				n++
			}
			errs = append(errs, err)
		}
		if d.IsDir() && (half || strings.HasSuffix(d.Name(), ".git") || strings.Count(p, "/") >= sweepDepth) {
			return fs.SkipDir
		}
		return nil
	})
	return n, errors.Join(errs...)
}

// SweepLayers removes leftovers of dead processes in the project and the user space, and
// unused search indexes.
func (s *Session) SweepLayers(ctx context.Context, all *Collected, q rye.GCRequest) {
	for _, l := range s.Stack.Layers() {
		g := &rye.GCReport{Place: "temporary files of the " + l.Space.String() + " space", Dir: l.Dir}
		var err error
		if g.Removed, err = l.SweepTemps(ctx, s.Now(), q.DryRun); g.Removed > 0 || err != nil {
			all.Note(g, err)
		}
	}
	all.Note(SweepIndexes(s.Host, q))
}

// tempDirs lists the directories of rye's own in which files are replaced.
func tempDirs(h *Host) []string {
	cache, state := h.Registries()
	dirs := []string{h.CacheDir, cache, h.ConfigDir, h.KeyDir(), h.StateDir, state}
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
	err = CompactStore(ctx, g, repo, store.CompactOptions{DryRun: q.DryRun})
	switch {
	case fault.Is(err, fault.Integrity):
		return nil, fault.New(fault.Integrity, "%s: %w", g.Place, err).Mend("rye fsck --repair")
	case err != nil:
		return nil, fmt.Errorf("%s: %w", g.Place, err)
	}
	return g, nil
}

// CompactStore sweeps and compacts one store, and adds the work to g.
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

// Collected gathers the work place by place. An error in one place does not stop work on the
// others.
type Collected struct {
	reports []rye.GCReport
	errs    []error
}

// Note adds the work in one place; a nil report is a missing place.
func (all *Collected) Note(g *rye.GCReport, err error) {
	if g != nil {
		all.reports = append(all.reports, *g)
	}
	all.errs = append(all.errs, err)
}

// Reports returns all noted reports, with texts for people, and the errors.
func (all *Collected) Reports(q rye.GCRequest) ([]rye.GCReport, error) {
	for i := range all.reports {
		g := &all.reports[i]
		g.DryRun = q.DryRun
		g.Text = gcText(g)
	}
	return all.reports, errors.Join(all.errs...)
}

// gcText describes the work for people.
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
			return "removed " + words.Plural(g.Removed, "record") + " of missing directories"
		}
		return words.Plural(n, "record") + " of missing directories left; rye gc --gone removes them"
	}
	if g.Removed > 0 {
		parts = append(parts, removed+" "+words.Plural(g.Removed, "leftover"))
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing to do")
}
