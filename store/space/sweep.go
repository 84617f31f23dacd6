package space

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/place"
)

// tempAge is the least age of a temporary file for a sweep. No change is staged during a
// sweep, so a younger file can only be a single file that is being written now.
const tempAge = time.Minute

// SweepTemps removes the temporary working files of dead processes: regular files whose names
// begin with TempPrefix. It waits for a change of the layer by another process. It returns
// their number; with dryRun it only counts.
func (l *Layer) SweepTemps(ctx context.Context, now time.Time, dryRun bool) (n int, err error) {
	if err := l.load(); err != nil {
		return 0, err
	}
	if l.repo != nil {
		unlock, err := place.Lock(ctx, filepath.Join(l.Store, intentLock))
		if err != nil {
			return 0, err
		}
		defer unlock()
	}
	found, err := l.temps(ctx, now.Add(-tempAge))
	for _, p := range found {
		if !dryRun {
			if err := l.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return n, err
			}
		}
		n++
	}
	return n, err
}

// temps lists the temporary files that are older than a moment.
func (l *Layer) temps(ctx context.Context, before time.Time) (all []string, err error) {
	folders, err := l.list(ctx)
	if err != nil || l.root == nil {
		return nil, err
	}
	dirs := []string{"."}
	for _, f := range folders {
		dirs = append(dirs, f.path)
	}
	room := newRoom(ctx, l.Space)
	for _, dir := range dirs {
		err := eachTemp(l.root, dir, room, func(e fs.DirEntry) {
			if st, err := e.Info(); err == nil && st.ModTime().Before(before) {
				all = append(all, path.Join(dir, e.Name()))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// eachTemp calls visit for the temporary files directly in a folder.
func eachTemp(root *os.Root, dir string, room *room, visit func(fs.DirEntry)) error {
	f, err := openFolder(root, dir)
	if err != nil {
		return nil // rye need not clean a folder that it cannot list
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(1024)
		for _, e := range list {
			if !room.take(0) {
				return room.full()
			}
			if e.Type().IsRegular() && strings.HasPrefix(e.Name(), TempPrefix) {
				visit(e)
			}
		}
		if errors.Is(err, io.EOF) || len(list) == 0 {
			return nil
		}
	}
}
