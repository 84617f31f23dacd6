package store

import "sync/atomic"

// A reader of a history reads tens of thousands of objects of 200 bytes. They lie side by
// side, because they were packed in the order of their commits. So after several reads that
// were near each other, a larger part of the pack is read at once. It extends to both sides,
// because histories go backwards. A single item is found in five distant places, and costs
// five small reads.

const (
	windowSize  = 64 << 10
	windowSoon  = 8 // near reads before a window is worth it
	windowsKept = 4 // kept of one pack: several goroutines compare commits, each in its own part
)

// window is a part of a pack in memory. It never changes.
type window struct {
	off  int64
	data []byte
}

// lastReads holds the position of the last read from a pack, and the last windows. It is safe
// for concurrent use.
type lastReads struct {
	kept [windowsKept]atomic.Pointer[window]
	made atomic.Uint32 // number of windows
	last atomic.Int64  // offset of the last read
	near atomic.Int32  // number of near reads in a row
}

// at reads len(buf) bytes of the pack at off; the caller knows that they exist. The result is
// part of the window, which must not be changed, or buf. At the end of the window it may be
// shorter, but has at least least bytes.
func (p *pack) at(buf []byte, off int64, least int) ([]byte, error) {
	w := &p.reads
	if b := w.from(off, len(buf)); len(b) >= least {
		return b, nil
	}
	if d := off - w.last.Swap(off); d <= -windowSize || d >= windowSize {
		w.near.Store(0)
	} else if w.near.Add(1) > windowSoon && len(buf) < windowSize/2 {
		made := &window{off: max(0, off-windowSize/2)}
		made.data = make([]byte, min(windowSize, p.size-made.off))
		if _, err := p.file.ReadAt(made.data, made.off); err != nil {
			return nil, err
		}
		w.kept[w.made.Add(1)%windowsKept].Store(made)
		return made.from(off, len(buf)), nil
	}
	_, err := p.file.ReadAt(buf, off)
	return buf, err
}

// from returns up to n bytes at off, from the window that has most of them.
func (w *lastReads) from(off int64, n int) (most []byte) {
	for i := range w.kept {
		if b := w.kept[i].Load().from(off, n); len(b) > len(most) {
			most = b
		}
	}
	return most
}

// from returns up to n bytes at off. It returns none if off is outside w, or w is nil.
func (w *window) from(off int64, n int) []byte {
	if w == nil || off < w.off || off >= w.off+int64(len(w.data)) {
		return nil
	}
	b := w.data[off-w.off:]
	n = min(n, len(b))
	return b[:n:n]
}
