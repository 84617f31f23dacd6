package fulltext

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/place"
)

// version identifies the analysis and the file format: another version uses other indexes.
const version = "rye search 2\n"

// The extensions of an index's files, and the prefix of temporary files.
const (
	rowsExt    = ".rows"
	termsExt   = ".zap"
	tempPrefix = ".rye-tmp-"
	lockName   = "build.lock"
)

const (
	kept   = 2                   // indexes to keep for each layer
	maxAge = 90 * 24 * time.Hour // of an unused index: projects are moved and deleted
	daily  = 24 * time.Hour      // how often use is recorded
)

// errBusy reports that another process is building the same index.
var errBusy = errors.New("another process builds it")

// newest returns the newest index of the layer, open; nil if there is none. It removes a damaged
// one and reports that.
func (y *layer) newest() (h *handle, damaged bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	seen := y.changed()
	if !seen.IsZero() && seen.Equal(y.seen) && y.open != nil && !y.open.bad.Load() {
		if h := y.open.acquire(); h != nil {
			return h, false
		}
	}
	y.seen = seen
	for _, base := range y.bases() {
		if y.open != nil && y.open.base == base && !y.open.bad.Load() {
			if h := y.open.acquire(); h != nil {
				return h, damaged
			}
		}
		fresh, err := openHandle(base)
		if err == nil {
			y.keep(fresh)
			note(base)
			return fresh.acquire(), damaged
		}
		if !errors.Is(err, os.ErrNotExist) || exists(base+rowsExt) {
			damaged = true
			remove(base) // readers keep their mapping
		}
	}
	y.keep(nil)
	return nil, damaged
}

// changed returns when an index was last added or removed, as far as clocks show. The newest index
// of a moment ago gives no worse answers.
func (y *layer) changed() (last time.Time) {
	if st, err := os.Stat(y.dir); y.dir != "" && err == nil {
		last = st.ModTime()
	}
	return last
}

// keep makes h the open index. The caller holds y.mu.
func (y *layer) keep(h *handle) {
	if y.open != nil {
		y.open.release()
	}
	y.open = h
}

// bases returns the indexes of the layer, newest first.
func (y *layer) bases() []string {
	if y.dir == "" {
		return nil
	}
	list, _ := os.ReadDir(y.dir) // a missing directory has none
	type found struct {
		base string
		when time.Time
	}
	var all []found
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), rowsExt)
		st, err := e.Info()
		if !ok || strings.HasPrefix(name, ".") || err != nil || !st.Mode().IsRegular() {
			continue
		}
		all = append(all, found{filepath.Join(y.dir, name), st.ModTime()})
	}
	slices.SortStableFunc(all, func(a, b found) int { return b.when.Compare(a.when) })
	bases := make([]string, len(all))
	for i, f := range all {
		bases[i] = f.base
	}
	return bases
}

// discard removes an index unless it is in use; then the next builder removes it.
func discard(base string) bool {
	unlock, ok := try(base + rowsExt)
	if !ok {
		return false
	}
	defer unlock()
	return remove(base)
}

// remove removes the rows first: without them, the other file is no index.
func remove(base string) bool {
	gone := os.Remove(base+rowsExt) == nil
	os.Remove(base + termsExt)
	return gone
}

// try takes a lock if it is free.
func try(path string) (unlock func(), ok bool) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	unlock, err := place.Lock(now, path)
	return unlock, err == nil
}

// building takes the right to build the layer's next index, and removes files of builders that
// died.
func (y *layer) building() (done func(), err error) {
	if y.dir == "" {
		return nil, errors.New("there is no cache directory")
	}
	if err := os.MkdirAll(y.dir, 0o700); err != nil {
		return nil, err
	}
	if f, err := os.OpenFile(filepath.Join(y.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	} else {
		f.Close()
	}
	unlock, ok := try(filepath.Join(y.dir, lockName))
	if !ok {
		return nil, errBusy
	}
	list, _ := os.ReadDir(y.dir)
	for _, e := range list {
		terms, isTerms := strings.CutSuffix(e.Name(), termsExt)
		_, err := os.Stat(filepath.Join(y.dir, terms+rowsExt))
		if strings.HasPrefix(e.Name(), tempPrefix) || isTerms && errors.Is(err, os.ErrNotExist) {
			os.Remove(filepath.Join(y.dir, e.Name()))
		}
	}
	return unlock, nil
}

// sweep removes older indexes of the layer, and indexes of other layers that are long unused.
func (y *layer) sweep() {
	for i, base := range y.bases() {
		if i >= kept {
			discard(base)
		}
	}
	sweepOld(filepath.Dir(y.dir), time.Now().Add(-maxAge))
}

// sweepOld removes the indexes below a directory that were last used before a time.
func sweepOld(dir string, before time.Time) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		y := &layer{dir: filepath.Join(dir, e.Name())}
		left := 0
		for _, base := range y.bases() {
			st, err := os.Stat(base + rowsExt)
			if err != nil || !st.ModTime().Before(before) || !discard(base) {
				left++
			}
		}
		if st, err := e.Info(); e.IsDir() && left == 0 && err == nil && st.ModTime().Before(before) {
			os.Remove(filepath.Join(y.dir, lockName))
			os.Remove(y.dir) // fails unless it is empty
		}
	}
}

// note records the use of an index, once a day.
func note(base string) {
	if st, err := os.Stat(base + rowsExt); err == nil && time.Since(st.ModTime()) > daily {
		now := time.Now()
		os.Chtimes(base+rowsExt, now, now) // if this fails, the index is built again one day
	}
}
