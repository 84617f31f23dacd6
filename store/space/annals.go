package space

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// annals is the whole history of a record, sorted by name. Following one name through the
// record reads a folder for each commit; after a switch of branches that would be done for
// hundreds of names, so whoever asks for many has it read once for all. It is safe for
// concurrent use.
type annals struct {
	mu    sync.Mutex
	tip   store.OID
	asked int
	names map[string]*versions // by ref; manifests by path
}

// fewNames is for how many names the record is followed one by one.
const fewNames = 4

// of returns what the record of a layer ever held under the name of sub, as of a commit.
func (a *annals) of(ctx context.Context, l *Layer, from *store.Commit, sub subject) (*versions, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tip != from.ID {
		a.tip, a.asked, a.names = from.ID, 0, nil
	}
	if a.asked++; a.asked <= fewNames {
		return versionsOf(ctx, l, from.ID, sub)
	}
	if a.names == nil {
		names, err := readAnnals(ctx, l, from.ID)
		if err != nil {
			return nil, err
		}
		a.names = names
	}
	h := a.names[sub.key()]
	if h == nil {
		return &versions{}, nil
	}
	return &versions{slices.Clone(h.versions), h.removed}, nil
}

// key is the name of a subject among all.
func (s subject) key() string {
	if s.ref.Kind == "" {
		return s.path
	}
	return s.ref.String()
}

// keyOf is the name that a recorded path is a version of; "" for what is neither an item
// nor a manifest.
func keyOf(p string) string {
	if path.Base(p) == objects.ManifestName {
		return p
	}
	ref, _, err := objects.RefOfPath(p)
	if err != nil {
		return ""
	}
	return ref.String()
}

// readAnnals follows the record once, newest first, and notes every change of every name.
func readAnnals(ctx context.Context, l *Layer, from store.OID) (map[string]*versions, error) {
	names := map[string]*versions{}
	live, known := map[string]bool{}, map[string]bool{} // names that the tip holds; paths whose last change was seen
	note := func(c *store.Commit) func(p string, _, e store.Entry) error {
		return func(p string, _, e store.Entry) error {
			key := keyOf(p)
			if key == "" {
				return nil
			}
			h := names[key]
			if h == nil {
				h = &versions{removed: c.Committer.Time()} // unless the tip holds it
				names[key] = h
			}
			if !known[p] {
				known[p], live[key] = true, live[key] || !e.ID.IsZero()
			}
			if !e.ID.IsZero() && !h.holds(e.ID) {
				h.versions = append(h.versions, version{path: p, blob: e.ID, tree: c.Tree})
			}
			return nil
		}
	}
	var next *store.Commit
	err := l.repo.Log(ctx, from, func(c *store.Commit) (err error) {
		if next != nil {
			err = l.repo.Diff(ctx, c.Tree, next.Tree, note(next))
		}
		next = c
		return err
	})
	if err == nil && next != nil {
		err = l.repo.Diff(ctx, store.OID{}, next.Tree, note(next))
	}
	for key := range live {
		if live[key] {
			names[key].removed = time.Time{}
		}
	}
	return names, err
}
