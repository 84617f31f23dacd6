package space

import (
	"context"
	"sync"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Watch looks at one working tree repeatedly, for a long-running program. If the system
// reports no change since the last look, Watch returns the same one again without a system
// call per file. It is safe for concurrent use.
//
// The system reports a change before the call that makes it returns. So a look never misses a
// write that ended before it began. The system does not report mounts over a folder, writes
// through another name of a file, or writes through a memory map. So after maxQuiet every file
// is checked again. Writes by other machines are not watched.
type Watch struct {
	mu   sync.Mutex
	used bool
	seen *Look // nil if the next look must read again
	key  objects.Digest
	tip  store.OID
	when time.Time // time of the look
	tree *treeWatch
}

// maxQuiet is how long a quiet tree is trusted before all files are checked again.
const maxQuiet = 2 * time.Second

// maxWatched is the largest number of watched folders: the system limits the watches of a
// user.
const maxWatched = 4096

// Look is s.Look(ctx, l). The layer must be the same each time, but may be another value.
func (w *Watch) Look(ctx context.Context, s *Stack, l *Layer) (*Look, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := w.tree.quiet(l) // asked first: later changes are reported to the next look
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
	case u.key == (objects.Digest{}): // without a catalogue, there is no digest of its inputs
	case !w.used: // perhaps the only look
	case !w.tree.holds(folders):
		w.tree.close()
		w.tree = l.watchTree(folders) // for the next look: this one began without it
	case u.began >= began.UnixNano(): // not a listing that began before the system was asked
		w.seen, w.key, w.tip, w.when = k, u.key, u.tip, began
	}
	return k, nil
}

// noLook is a look at an empty space.
var noLook = LookAt(nil)

// same reports whether the other inputs of a look, besides files, are unchanged.
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

// Close drops all state. A later look starts again.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
	w.tree.close()
	w.tree = nil
}
