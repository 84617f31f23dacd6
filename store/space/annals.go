package space

import (
	"context"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// annals is the whole history of a record, sorted by name. Following one name through the
// record reads a folder for each commit. After a switch of branches, hundreds of names would
// need this, so for many names the record is read once. It is safe for concurrent use.
type annals struct {
	waiting atomic.Int32 // names that are asked for now
	follow  atomic.Pointer[context.CancelFunc]

	mu    sync.Mutex // of the fields below
	tip   store.OID
	asked int
	names map[string]*versions // by ref; manifests by path
}

// fewNames is the number of names that are followed one by one. Reading the whole record takes
// about as long as following three.
const fewNames = 1

// of returns all versions that a layer's record ever held under the name of sub, as of a
// commit.
func (a *annals) of(ctx context.Context, l *Layer, from *store.Commit, sub subject) (*versions, error) {
	if a.waiting.Add(1) > 1 {
		if stop := a.follow.Load(); stop != nil {
			(*stop)()
		}
	}
	defer a.waiting.Add(-1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tip != from.ID {
		a.tip, a.asked, a.names = from.ID, 0, nil
	}
	if a.asked++; a.asked <= fewNames {
		if h, err, done := a.alone(ctx, l, from.ID, sub); done {
			return h, err
		}
	}
	if a.names == nil {
		names, err := l.readAnnals(ctx, from.ID)
		if err != nil {
			return nil, err
		}
		a.names = names
	}
	h := a.names[sub.key()]
	if h == nil {
		return &versions{}, nil
	}
	return h.copy(), nil
}

// alone follows one name, unless another is asked for meanwhile: then the whole record is read
// anyway, and done is false.
func (a *annals) alone(ctx context.Context, l *Layer, from store.OID, sub subject) (h *versions, err error, done bool) {
	one, stop := context.WithCancel(ctx)
	defer stop()
	a.follow.Store(&stop)
	defer a.follow.Store(nil)
	if a.waiting.Load() > 1 {
		return nil, nil, false
	}
	h, err = versionsOf(one, l, from, sub)
	return h, err, one.Err() == nil || ctx.Err() != nil
}

// key returns the unique name of a subject.
func (s subject) key() string {
	if s.ref.Kind == "" {
		return s.path
	}
	return s.ref.String()
}

// keyOf returns the key of a recorded path; "" for a path that is neither an item nor a
// manifest.
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

// readAnnals follows the record once, newest first, and collects every change of every name.
func (l *Layer) readAnnals(ctx context.Context, from store.OID) (map[string]*versions, error) {
	n := notes{names: map[string]*versions{}, live: map[string]bool{}, known: map[string]bool{}}
	var line []*store.Commit // from the newest commit that is not read yet
	err := l.repo.Log(ctx, from, func(c *store.Commit) error {
		if line = append(line, c); len(line) <= someCommits {
			return nil
		}
		err := n.read(ctx, l, line[:someCommits], line[1:])
		line = slices.Clone(line[someCommits:])
		return err
	})
	if err == nil {
		err = n.read(ctx, l, line, append(line[min(1, len(line)):len(line):len(line)], &store.Commit{}))
	}
	for key := range n.live {
		if n.live[key] {
			n.names[key].removed = time.Time{}
		}
	}
	return n.names, err
}

// someCommits is the number of commits that are compared with their parents at a time.
const someCommits = 256

// notes collects the content of annals.
type notes struct {
	names map[string]*versions
	live  map[string]bool // names that the tip holds
	known map[string]bool // paths with a known last change
}

// read compares commits, newest first, with their parents, on all processors. It notes the
// changes in the order of the commits.
func (n *notes) read(ctx context.Context, l *Layer, commits, parents []*store.Commit) error {
	type change struct {
		path string
		blob store.OID // zero for a removal
	}
	changes := make([][]change, len(commits))
	err := parallel.Chunks(ctx, len(commits), 16, func(i int) error {
		return l.repo.Diff(ctx, parents[i].Tree, commits[i].Tree, func(p string, _, e store.Entry) error {
			changes[i] = append(changes[i], change{p, e.ID})
			return nil
		})
	})
	if err != nil {
		return err
	}
	for i, c := range commits {
		for _, is := range changes[i] {
			n.note(c, is.path, is.blob)
		}
	}
	return nil
}

// note notes that a commit set path to blob.
func (n *notes) note(c *store.Commit, path string, blob store.OID) {
	key := keyOf(path)
	if key == "" {
		return
	}
	h := n.names[key]
	if h == nil {
		h = &versions{removed: c.Committer.Time(), changed: c.Committer.Time()} // removed unless the tip holds it
		n.names[key] = h
	}
	if !n.known[path] {
		n.known[path], n.live[key] = true, n.live[key] || !blob.IsZero()
	}
	if !blob.IsZero() && !h.holds(blob) {
		h.versions = append(h.versions, version{path: path, blob: blob, tree: c.Tree})
	}
}
