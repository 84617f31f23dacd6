package store

import (
	"context"
	"slices"
	"sync"

	"github.com/rye-os/rye/fault"
)

// Quarantine holds a pack from outside: checked and indexed, but not part of the repository.
// Its Reader reads the pack and the repository. End it with Accept or Discard; the next writer
// removes the quarantine of a dead process. After Accept it reads only the repository.
type Quarantine struct {
	Reader
	r   *Repo
	ids []OID // sorted
	in  map[OID]bool
	src *packSource

	outside []OID // ids that the objects name and the pack lacks; set if linked
	linked  bool  // outside is complete

	mu   sync.Mutex
	dir  string // "" after the removal
	path string // of the pack, without ".pack"
	sum  []byte
	keep *keep
}

// packSource reads one pack that is in no repository's list. It is safe for concurrent use.
type packSource struct {
	mu sync.RWMutex
	p  *pack // nil after close
}

// newQuarantine takes ownership of dir and of the ids, which must not repeat.
func (r *Repo) newQuarantine(dir, path string, sum []byte, ids []OID) *Quarantine {
	q := &Quarantine{r: r, dir: dir, path: path, sum: sum, ids: ids, in: setOf(ids)}
	slices.SortFunc(q.ids, OID.Compare)
	q.src = &packSource{p: &pack{files: r.files, path: path, format: r.format}}
	q.Reader.init(r.format, q.src, r.disk)
	return q
}

// use runs f for the object's position. It returns a missing error if the pack lacks the
// object.
func (s *packSource) use(id OID, f func(p *pack, i int64) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.p == nil {
		return notFound("object %s", id)
	}
	i, ok, err := s.p.find(id)
	if err == nil && !ok {
		return notFound("object %s", id)
	}
	if err == nil {
		err = f(s.p, i)
	}
	if err != nil {
		return wrapRead(id, err)
	}
	return nil
}

func (s *packSource) load(id OID, limit int64) (t Type, data []byte, err error) {
	err = s.use(id, func(p *pack, i int64) error {
		if t, data, err = p.load(i, limit); err != nil {
			return err
		}
		return compare(p.format, id, t, data)
	})
	if err != nil {
		return 0, nil, err
	}
	return t, data, nil
}

func (s *packSource) stat(id OID) (t Type, size int64, err error) {
	err = s.use(id, func(p *pack, i int64) error {
		t, size, err = p.stat(i)
		return err
	})
	return t, size, err
}

func (s *packSource) has(id OID) bool {
	return s.use(id, func(*pack, int64) error { return nil }) == nil
}

// close ends reading, before the files are moved or removed.
func (s *packSource) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p != nil {
		s.p.close()
		s.p = nil
	}
}

// Objects returns the ids of all objects in the pack, sorted: the received ones, and the bases
// that a thin pack left out.
func (q *Quarantine) Objects() []OID { return append([]OID(nil), q.ids...) }

// Connected checks that everything reachable from ids is in the quarantine or in the
// repository. It assumes that the repository is complete. The error for a hole is
// fault.Malformed.
func (q *Quarantine) Connected(ctx context.Context, ids ...OID) error {
	if q.closed(ctx) {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id OID) bool { return q.in[id] })
	}
	return q.walk(ctx, ids)
}

// closed reports whether every object that the pack names is present. It reads no object for
// this. If it returns false, a walk decides whether the hole matters.
func (q *Quarantine) closed(ctx context.Context) bool {
	if !q.linked {
		return false
	}
	for _, id := range q.outside {
		if ctx.Err() != nil || !q.r.Has(id) {
			return false
		}
	}
	return true
}

// walk follows every link from ids through the objects of the pack.
func (q *Quarantine) walk(ctx context.Context, ids []OID) error {
	seen := make(map[OID]bool, len(q.ids))
	var todo []OID // objects of the pack, each once: a tree may name the same one a million times
	enter := func(ids []OID) error {
		for _, id := range ids {
			switch {
			case seen[id]:
			case q.in[id]:
				seen[id] = true
				todo = append(todo, id)
			case !q.r.Has(id):
				return fault.New(fault.Malformed, "object %s is neither in the pack nor in the repository", id)
			}
		}
		return nil
	}
	err := enter(ids)
	for err == nil && len(todo) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var links []OID
		if links, err = q.links(id); err == nil {
			err = enter(links)
		}
	}
	return err
}

// links returns the ids that an object names.
func (r *Reader) links(id OID) ([]OID, error) {
	t, size, err := r.Stat(id)
	if err != nil || t == TypeBlob {
		return nil, err
	}
	_, data, err := r.Object(id, min(max(size, 1), MaxTreeSize)) // types with links are no larger
	if err != nil {
		return nil, err
	}
	ids, err := linksOf(r.format, t, data)
	if err != nil {
		return nil, fault.Wrap(err, "%s %s", t, id)
	}
	return ids, nil
}

// Accept moves the pack into the repository, durably. ids must be in the pack or in the
// repository; otherwise nothing happens. As with Batch.Flush, move the refs and then Release.
func (q *Quarantine) Accept(ctx context.Context, ids ...OID) error {
	for _, id := range ids {
		if !q.Has(id) {
			return fault.New(fault.Malformed, "accept pack: object %s is neither in it nor here", id)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dir == "" {
		return fault.New(fault.Failed, "accept pack: the quarantine is gone")
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	var err error
	if len(q.ids) > 0 {
		q.src.close()
		q.keep, err = q.r.installNew(ctx, q.path, q.sum)
	}
	q.remove()
	return err
}

// Release ends the protection from git repack that Accept began.
func (q *Quarantine) Release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.r.release(q.keep)
	q.keep = nil
}

// Discard removes the quarantine. After Accept it only releases.
func (q *Quarantine) Discard() {
	q.mu.Lock()
	q.remove()
	q.mu.Unlock()
	q.Release()
}

func (q *Quarantine) remove() {
	q.src.close()
	if q.dir != "" {
		q.r.files.removeAll(q.dir)
		q.dir = ""
	}
}
