package fulltext

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
)

// Index holds the indexes of a user. It is safe for concurrent use.
type Index struct {
	dir     string
	mu      sync.Mutex
	layers  map[string]*layer
	merging sync.WaitGroup
}

// New returns the indexes below a directory, which is created on demand. With "" there are no
// indexes, and every search reads everything.
func New(dir string) *Index { return &Index{dir: dir, layers: map[string]*layer{}} }

var _ search.Index = (*Index)(nil)

// layer is the state of one layer in this process.
type layer struct {
	dir string // "" for none

	mu      sync.Mutex
	open    *handle                  // the newest; nil before the first use
	seen    time.Time                // the time of changed then
	fresh   map[string][]search.Term // terms of entries changed since, by path and digest
	last    answer                   // for a listing with Same
	merging bool
}

// answer is the result of comparing an index with a listing.
type answer struct {
	same any // of the listing; nil for none
	h    *handle
	d    *difference
	mem  search.Part // entries that the index lacks
}

// Open returns sources for all entries of l. It builds a missing index, which may take a while. If
// another process is building it, Open reads the entries itself instead of waiting.
func (x *Index) Open(ctx context.Context, l *search.Listing) (*search.Opened, error) {
	out := &search.Opened{Close: func() {}}
	if l.Len == 0 {
		return out, nil
	}
	y := x.layer(l)
	h, damaged := y.newest()
	if damaged {
		out.Notes = append(out.Notes, "the search index of "+l.Name+" was damaged and is built anew")
	}
	if h == nil {
		var why error
		if h, why = y.first(ctx, l); why != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if busy := why == errBusy; !busy {
				out.Notes = append(out.Notes, "there is no place for the search index of "+l.Name+", so every item was read: "+why.Error())
			}
		}
	}
	d, mem, err := x.read(ctx, y, h, l)
	if err != nil {
		h.release()
		return nil, err
	}
	if h != nil {
		out.Parts = append(out.Parts, search.Part{Source: h.source(), Entry: d.entry})
		out.Close = h.release
	}
	out.Parts = append(out.Parts, mem)
	return out, nil
}

// read returns the entries of a listing that an index lacks, and analyses them.
func (x *Index) read(ctx context.Context, y *layer, h *handle, l *search.Listing) (*difference, search.Part, error) {
	y.mu.Lock()
	last := y.last
	y.mu.Unlock()
	if l.Same != nil && h != nil && last.same == l.Same && last.h == h {
		return last.d, last.mem, nil
	}
	d := h.compare(l)
	fresh, err := y.analyse(ctx, l, d.fresh, h != nil)
	if err != nil {
		return nil, search.Part{}, err
	}
	mem := inMemory(d.fresh, fresh)
	if h == nil {
		return d, mem, nil
	}
	if d.many(l.Len) {
		x.merge(y, h, l, d, fresh)
	} else if !slices.ContainsFunc(fresh, func(a analysed) bool { return !a.whole }) {
		y.mu.Lock()
		y.last = answer{l.Same, h, d, mem}
		y.mu.Unlock()
	}
	return d, mem, nil
}

// Wait waits until no index is being written. A program calls it before it ends.
func (x *Index) Wait() { x.merging.Wait() }

// Rest closes the indexes that are not in use, and drops the terms of changed entries.
func (x *Index) Rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, y := range x.layers {
		y.mu.Lock()
		y.keep(nil)
		clear(y.fresh)
		y.last = answer{}
		y.mu.Unlock()
	}
}

func (x *Index) layer(l *search.Listing) *layer {
	sum := objects.DigestOf([]byte(version + l.Key))
	name := hex.EncodeToString(sum[:16])
	x.mu.Lock()
	defer x.mu.Unlock()
	y := x.layers[name]
	if y == nil {
		y = &layer{fresh: map[string][]search.Term{}}
		if x.dir != "" {
			y.dir = filepath.Join(x.dir, name)
		}
		x.layers[name] = y
	}
	return y
}

// analysed holds the terms of an entry that no index has.
type analysed struct {
	terms []search.Term
	whole bool
}

// analyse returns the terms of entries. It keeps the terms of a small number for the next time.
func (y *layer) analyse(ctx context.Context, l *search.Listing, entries []int, keep bool) ([]analysed, error) {
	out := make([]analysed, len(entries))
	names := make([]string, len(entries))
	y.mu.Lock()
	for n, i := range entries {
		path, sum := l.At(i)
		names[n] = string(path) + string(sum[:])
		out[n].terms, out[n].whole = y.fresh[names[n]]
	}
	y.mu.Unlock()
	err := parallel.Each(ctx, len(entries), func(n int) (err error) {
		if !out[n].whole {
			out[n].terms, out[n].whole, err = l.Terms(entries[n])
		}
		return err
	})
	if err != nil || !keep || len(entries) > 2*manyChanges {
		return out, err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	clear(y.fresh)
	for n, a := range out {
		if a.whole && len(a.terms) < maxKept {
			y.fresh[names[n]] = a.terms
		}
	}
	return out, nil
}

// maxKept bounds the terms of one changed item that are kept in memory.
const maxKept = 20_000

func inMemory(entries []int, fresh []analysed) search.Part {
	m, p := &search.Mem{}, search.Part{}
	for n, i := range entries {
		m.Add(fresh[n].terms)
		p.Entry = append(p.Entry, int32(i))
	}
	p.Source = m.Done()
	return p
}
