package space

import (
	"context"
	"sync"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Watch looks at one working tree again and again, for a program that stays. Where the
// system can tell that nothing happened there since the last look, it gives the same one
// again: not one file is asked about. It is safe for concurrent use.
//
// The system tells of a change before the call that makes it returns, so a look never lacks
// what was written before it began. It is not told what is mounted over a folder, what is
// written to a file by a name that it has elsewhere, or through a map while that stays: so
// after maxQuiet every file is asked about. What other machines may write is not watched.
type Watch struct {
	mu   sync.Mutex
	used bool
	seen *Look // nil where it has to be looked again
	key  objects.Digest
	tip  store.OID
	when time.Time // of the look
	tree *treeWatch
}

// maxQuiet is how long nothing has to happen until all files are asked about nevertheless.
const maxQuiet = 2 * time.Second

// maxWatched is how many folders are watched: a user has a bounded number of watches.
const maxWatched = 4096

// Look is s.Look(ctx, l). The layer is the same each time, if not the same value.
func (w *Watch) Look(ctx context.Context, s *Stack, l *Layer) (*Look, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := w.tree.quiet(l) // asked first: what happens from here on is told to the next look
	if quiet && w.seen != nil && time.Since(w.when) < maxQuiet {
		if same, err := w.same(ctx, s, l); same || err != nil {
			return w.seen, err
		}
	}
	w.seen = nil
	began := time.Now()
	u, err := s.update(ctx, l)
	if err != nil {
		return nil, err
	}
	k, folders := &Look{u}, u.folders
	u.folders = nil
	defer func() { w.used = true }()
	switch {
	case len(u.order) == 0:
		return noLook, nil
	case u.key == (objects.Digest{}): // there is no catalogue, so nothing tells what it depends on
	case !w.used: // maybe it stays the only one
	case !w.tree.holds(folders):
		w.tree.close()
		w.tree = l.watchTree(folders) // for the next look: this one began without
	case u.began >= began.UnixNano(): // not a listing that was begun before the system was asked
		w.seen, w.key, w.tip, w.when = k, u.key, u.tip, began
	}
	return k, nil
}

// noLook is a look at an empty space.
var noLook = LookAt(nil)

// same reports whether what a look depends on, besides files, is as it was.
func (w *Watch) same(ctx context.Context, s *Stack, l *Layer) (bool, error) {
	set, err := s.Extractors(ctx, objects.Project)
	if err != nil && ctx.Err() != nil {
		return false, err
	}
	_, key, err := s.catalogueFile(ctx, l, set)
	if err != nil || key != w.key {
		return false, err
	}
	tip, err := l.Tip()
	return tip == w.tip, err
}

// Close forgets everything. A later look begins anew.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
	w.tree.close()
	w.tree = nil
}
