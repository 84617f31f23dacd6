package fulltext

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/search"
)

// batch is how many terms are collected for one segment in memory.
const batch = 200_000

// slow is the number of items from which on a build reports its progress.
const slow = 2000

// first builds and opens the first index of a layer.
func (y *layer) first(ctx context.Context, l *search.Listing) (*handle, error) {
	done, err := y.building()
	if err != nil {
		return nil, err
	}
	defer done()
	if h, _ := y.newest(); h != nil { // another process built it meanwhile
		return h, nil
	}
	b := &builder{l: l}
	if err := parallel.Each(ctx, l.Len, b.analyse); err != nil {
		return nil, err
	}
	if err := b.flush(b.waiting); err != nil {
		return nil, err
	}
	if err := y.write(ctx, b); err != nil {
		return nil, err
	}
	h, _ := y.newest()
	return h, nil
}

// merge makes the next index of a layer from the newest one and the changes since, in the
// background. If that fails, the next search tries again.
func (x *Index) merge(y *layer, h *handle, l *search.Listing, d *difference, fresh []analysed) {
	y.mu.Lock()
	busy := y.merging
	y.merging = true
	y.mu.Unlock()
	if busy {
		return
	}
	b := &builder{l: l, rows: make([]row, 0, l.Len)}
	b.old(h, d)
	for n, i := range d.fresh {
		if fresh[n].whole {
			b.waiting = append(b.waiting, b.entry(i, fresh[n].terms))
		}
	}
	h = h.acquire() // the caller holds h
	x.merging.Add(1)
	go func() {
		defer x.merging.Done()
		defer h.release()
		if done, err := y.building(); err == nil {
			_ = guarded(func() error {
				if err := b.flush(b.waiting); err != nil {
					return err
				}
				return y.write(context.Background(), b)
			})
			done()
		}
		y.mu.Lock()
		y.merging = false
		y.mu.Unlock()
	}()
}

// builder builds an index. Segments are merged in the order of their creation.
type builder struct {
	l *search.Listing

	mu       sync.Mutex
	waiting  []entry
	terms    int
	seen     int
	segments []segment.Segment
	drops    []*roaring.Bitmap
	rows     []row // by document
}

// entry is an entry of a listing with its terms.
type entry struct {
	row
	doc document
}

func (b *builder) entry(i int, terms []search.Term) entry {
	path, sum := b.l.At(i)
	return entry{row{path: slices.Clone(path), sum: sum}, document{terms}}
}

// analyse adds one entry. It leaves out incomplete terms, which are asked for again later.
func (b *builder) analyse(i int) error {
	terms, whole, err := b.l.Terms(i)
	if err != nil || !whole {
		return err
	}
	b.mu.Lock()
	b.waiting = append(b.waiting, b.entry(i, terms))
	b.terms += len(terms)
	b.seen++
	b.tell()
	var full []entry
	if b.terms > batch {
		full, b.waiting, b.terms = b.waiting, nil, 0
	}
	b.mu.Unlock()
	return b.flush(full)
}

func (b *builder) tell() {
	if b.l.Say != nil && b.l.Len >= slow && b.seen%(slow/10) == 0 {
		b.l.Say(fmt.Sprintf("reading %s for search: %d of %d items", b.l.Name, b.seen, b.l.Len))
	}
}

// flush makes a segment from entries.
func (b *builder) flush(list []entry) error {
	if len(list) == 0 {
		return nil
	}
	docs := make([]index.Document, len(list))
	for i := range list {
		docs[i] = &list[i].doc
	}
	seg, _, err := (&zap.ZapPlugin{}).New(docs)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.segments, b.drops = append(b.segments, seg), append(b.drops, nil)
	for i := range list {
		list[i].row.doc = len(b.rows)
		b.rows = append(b.rows, list[i].row)
	}
	return nil
}

// old adds the documents of an index that are still listed.
func (b *builder) old(h *handle, d *difference) {
	drops := roaring.New()
	for doc, i := range d.entry {
		if i < 0 {
			drops.Add(uint32(doc))
			continue
		}
		path, sum := b.l.At(int(i))
		b.rows = append(b.rows, row{len(b.rows), sum, slices.Clone(path)})
	}
	b.segments, b.drops = append(b.segments, h.seg), append(b.drops, drops)
}

// write puts the whole index in its place, or nothing. It writes the rows last.
func (y *layer) write(ctx context.Context, b *builder) error {
	if len(b.rows) == 0 || len(b.rows) > maxRows {
		return fmt.Errorf("%d items", len(b.rows))
	}
	temp := filepath.Join(y.dir, tempPrefix+randomName()+termsExt)
	defer os.Remove(temp)
	stop := make(chan struct{})
	defer context.AfterFunc(ctx, func() { close(stop) })()
	if _, _, err := (&zap.ZapPlugin{}).Merge(b.segments, b.drops, temp, stop, nil); err != nil {
		return err
	}
	size, sum, err := sumOf(temp)
	if err != nil {
		return err
	}
	slices.SortFunc(b.rows, func(x, z row) int { return search.CompareEntries(x.path, z.path) })
	key := keyOf(b.rows)
	base := filepath.Join(y.dir, hex.EncodeToString(key[:16]))
	raw := encodeRows(b.rows, size, sum, key)
	if len(raw) > maxRowsRaw {
		return fmt.Errorf("%d items", len(b.rows))
	}
	if exists(base + rowsExt) {
		return nil // the same index exists already
	}
	if err := place.Replace(temp, base+termsExt); err != nil {
		return err
	}
	if err := place.Cache(base+rowsExt, raw, 0o600); err != nil {
		os.Remove(base + termsExt)
		return err
	}
	y.sweep()
	return nil
}

// keyOf returns the digest of an index's entries.
func keyOf(list []row) (key [sha256.Size]byte) {
	h := sha256.New()
	for _, r := range list {
		fmt.Fprintf(h, "%x %s\n", r.sum, r.path)
	}
	h.Sum(key[:0])
	return key
}

func sumOf(path string) (size int64, sum uint32, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	h := table.NewSum()
	size, err = io.Copy(h, f)
	return size, h.Sum32(), err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
