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

// version is of what analysis and files mean: another one finds other indexes.
const version = "rye search 1\n"

// The endings of an index's files, and what begins the names of those that are being written.
const (
	rowsExt    = ".rows"
	termsExt   = ".zap"
	tempPrefix = ".rye-tmp-"
	lockName   = "build.lock"
)

const (
	kept   = 2                   // indexes of a layer
	maxAge = 90 * 24 * time.Hour // of an index that nobody used: projects are moved and thrown away
	daily  = 24 * time.Hour      // how often it is noted that one is used
)

// errBusy is for who would build what another process builds.
var errBusy = errors.New("another process builds it")

// newest returns the newest index of the layer, open; nil when there is none. One that is
// damaged is thrown away, and that is reported.
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
			remove(base) // whoever reads it keeps what was mapped
		}
	}
	y.keep(nil)
	return nil, damaged
}

// changed is when an index came or went last, as far as clocks tell. Who uses one that was the
// newest a moment ago has no worse answers.
func (y *layer) changed() (last time.Time) {
	if st, err := os.Stat(y.dir); y.dir != "" && err == nil {
		last = st.ModTime()
	}
	return last
}

// keep makes h the one that is open; y.mu is held.
func (y *layer) keep(h *handle) {
	if y.open != nil {
		y.open.release()
	}
	y.open = h
}

// bases returns the indexes of the layer, the newest first.
func (y *layer) bases() []string {
	if y.dir == "" {
		return nil
	}
	list, _ := os.ReadDir(y.dir) // where there is none, none is found
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

// discard removes an index, unless somebody reads it: then the next builder does.
func discard(base string) bool {
	unlock, ok := try(base + rowsExt)
	if !ok {
		return false
	}
	defer unlock()
	return remove(base)
}

// remove takes the rows away first: what has none is no index.
func remove(base string) bool {
	gone := os.Remove(base+rowsExt) == nil
	os.Remove(base + termsExt)
	return gone
}

// try takes a lock that nobody holds.
func try(path string) (unlock func(), ok bool) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	unlock, err := place.Lock(now, path)
	return unlock, err == nil
}

// building takes the right to build the layer's next index, and clears away what builders
// left that died.
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

// sweep removes older indexes of the layer, and those of others that nobody used for long.
func (y *layer) sweep() {
	for i, base := range y.bases() {
		if i >= kept {
			discard(base)
		}
	}
	sweepOld(filepath.Dir(y.dir), time.Now().Add(-maxAge))
}

// sweepOld removes the indexes below a directory that nobody used since before.
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
			os.Remove(y.dir) // fails while something is in it
		}
	}
}

// note says that an index is used, once a day.
func note(base string) {
	if st, err := os.Stat(base + rowsExt); err == nil && time.Since(st.ModTime()) > daily {
		now := time.Now()
		os.Chtimes(base+rowsExt, now, now) // where that is not possible, it is built again one day
	}
}
