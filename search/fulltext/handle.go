package fulltext

import (
	"cmp"
	"runtime/debug"
	"sync/atomic"

	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/search"
)

// handle is an open index. It is safe for concurrent use, and stays open until its last user
// releases it.
type handle struct {
	base    string // path of its files without extensions
	rows    *rows
	docs    int
	seg     *zap.Segment
	unshare func()
	uses    atomic.Int32
	bad     atomic.Bool // found damaged while reading
}

// openHandle opens the index whose files begin with base, and checks every byte. No process can
// remove it meanwhile.
func openHandle(base string) (h *handle, err error) {
	unshare, err := place.Share(base + rowsExt)
	if err != nil {
		return nil, err
	}
	h = &handle{base: base, unshare: unshare}
	h.uses.Store(1)
	defer func() {
		if err != nil {
			h.release()
			h = nil
		}
	}()
	raw, err := place.Read(base+rowsExt, maxRowsRaw)
	if err != nil {
		return h, err
	}
	if h.rows, err = parseRows(raw); err != nil {
		return h, err
	}
	h.docs = h.rows.len()
	// Read, not mapped: pages that were only summed would count as this process's memory.
	if size, sum, err := sumOf(base + termsExt); err != nil || size != h.rows.size() || sum != h.rows.terms() {
		return h, cmp.Or(err, damagedRows("its terms are damaged"))
	}
	return h, guarded(func() error {
		seg, err := (&zap.ZapPlugin{}).Open(base + termsExt)
		if err != nil {
			return err
		}
		h.seg = seg.(*zap.Segment)
		if int(h.seg.Count()) != h.docs {
			return damagedRows("it has other terms than rows")
		}
		return nil
	})
}

// acquire adds a use; it returns nil if the last use ended meanwhile.
func (h *handle) acquire() *handle {
	for {
		n := h.uses.Load()
		if n == 0 {
			return nil
		}
		if h.uses.CompareAndSwap(n, n+1) {
			return h
		}
	}
}

func (h *handle) release() {
	if h == nil || h.uses.Add(-1) > 0 {
		return
	}
	if h.seg != nil {
		_ = h.seg.Close() // opened read-only: nothing to lose
	}
	h.unshare()
}

// guarded calls f, which reads files that may be damaged or truncated meanwhile. It returns a panic
// as an error.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Malformed, "search index: %v", r)
		}
	}()
	return f()
}

// source is an index as a search.Source, for one search.
type source struct {
	h    *handle
	dict segment.TermDictionary
	list segment.PostingsList
	iter segment.PostingsIterator
}

func (h *handle) source() search.Source { return &source{h: h} }

func (s *source) Len() int { return s.h.docs }

func (s *source) Postings(term string, visit func(doc int, n uint32) bool) error {
	return s.read(func(visiting *bool) (err error) {
		if s.list, err = s.dict.PostingsList([]byte(term), nil, s.list); err != nil {
			return err
		}
		s.iter = s.list.Iterator(true, false, false, s.iter)
		for {
			p, err := s.iter.Next()
			if err != nil || p == nil {
				return err
			}
			*visiting = true
			more := visit(int(p.Number()), uint32(p.Frequency()))
			if *visiting = false; !more {
				return nil
			}
		}
	})
}

func (s *source) Dictionary(prefix string, visit func(term string) bool) error {
	return s.read(func(visiting *bool) error {
		end := []byte(prefix)
		for len(end) > 0 && end[len(end)-1] == 0xFF {
			end = end[:len(end)-1]
		}
		if len(end) > 0 {
			end[len(end)-1]++
		} else {
			end = nil
		}
		it := s.dict.(*zap.Dictionary).AutomatonIteratorOmitCount(nil, []byte(prefix), end)
		for {
			e, err := it.Next()
			if err != nil || e == nil {
				return err
			}
			*visiting = true
			more := visit(e.Term)
			if *visiting = false; !more {
				return nil
			}
		}
	})
}

// read calls f, which reads the index. An error or panic there means that the index is damaged.
// Panics inside visit pass through.
func (s *source) read(f func(visiting *bool) error) (err error) {
	visiting := false
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if visiting {
				panic(r)
			}
			err = fault.New(fault.Malformed, "search index: %v", r)
		}
		if err != nil {
			s.h.bad.Store(true)
			err = &search.DamagedError{Err: err}
		}
	}()
	if s.dict == nil {
		if s.dict, err = s.h.seg.Dictionary(termsField); err != nil {
			return err
		}
	}
	return f(&visiting)
}
