package session

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye"
)

// indexAge is the time until an unused search index is removed: a used one is touched once a
// day.
const indexAge = 90 * 24 * time.Hour

// SweepIndexes removes search indexes that have long been unused, and leftovers of dead
// processes beside the others; nil where there are none.
func SweepIndexes(h *Host, q rye.GCRequest) (*rye.GCReport, error) {
	if h.CacheDir == "" {
		return nil, nil
	}
	g := &rye.GCReport{Place: "indexes of search", Dir: filepath.Join(h.CacheDir, "search")}
	layers, _ := os.ReadDir(g.Dir) // where there is none, none is swept
	if len(layers) == 0 {
		return nil, nil
	}
	var errs []error
	for _, l := range layers {
		for _, path := range oldIndex(h, filepath.Join(g.Dir, l.Name())) {
			g.Removed++
			if !q.DryRun {
				errs = append(errs, os.RemoveAll(path))
			}
		}
	}
	return g, errors.Join(errs...)
}

// oldIndex returns the removable part of the folder of one layer: all of it, or the leftovers.
func oldIndex(h *Host, folder string) (gone []string) {
	files, _ := os.ReadDir(folder) // one that is gone meanwhile holds none
	newest := time.Duration(1 << 62)
	for _, f := range files {
		st, err := f.Info()
		if err != nil {
			continue
		}
		age := h.Now().Sub(st.ModTime())
		newest = min(newest, age)
		if isTemp(f.Name()) && age > tempAge {
			gone = append(gone, filepath.Join(folder, f.Name()))
		}
	}
	if newest > indexAge {
		return []string{folder}
	}
	return gone
}
