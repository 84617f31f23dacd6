package finder

import (
	"context"
	"sync"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// watched are the watches on visited spaces on disk, by directory: while nothing changes there,
// a space need not be listed again.
type watched struct {
	mu sync.Mutex
	of map[string]*space.Watch
}

// maxWatches is the number of watched spaces. With more projects at once, searches list their
// files each time.
const maxWatches = 8

func (w *watched) at(l *space.Layer) *space.Watch {
	name := l.Space.String() + "\n" + l.Dir
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := w.of[name]; v != nil {
		return v
	}
	if len(w.of) >= maxWatches {
		w.close()
	}
	if w.of == nil {
		w.of = map[string]*space.Watch{}
	}
	v := &space.Watch{}
	w.of[name] = v
	return v
}

func (w *watched) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close()
}

// close forgets all; w.mu is held.
func (w *watched) close() {
	for _, v := range w.of {
		v.Close()
	}
	w.of = nil
}

// looks looks at the spaces: it reads the library once, and watches the others.
func (f *Finder) looks(ctx context.Context, s *session.Session, only string) ([]*space.Look, error) {
	return look.SpacesBy(ctx, s, only, func(ctx context.Context, s *session.Session, sp objects.Space) (*space.Look, error) {
		if sp == objects.System {
			return f.system.at(ctx, s)
		}
		l, err := s.Stack.Layer(sp)
		if err != nil {
			return nil, err
		}
		k, err := f.watched.at(l).Look(ctx, s.Stack, l)
		if err != nil {
			return nil, err
		}
		return look.WithLocked(ctx, s, sp, k), nil
	})
}
