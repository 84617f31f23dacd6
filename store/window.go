package store

import "sync/atomic"

// Who follows a history reads tens of thousands of objects of 200 bytes that lie beside
// each other, because they were packed in the order of their commits. So when several
// reads of a pack were near the one before, a larger part of it is read at once, on both
// sides: histories go backwards. A single item is found in five places that are not near,
// and costs five small reads.

const (
	windowSize = 64 << 10
	windowSoon = 8 // reads near the one before, until a window is worth it
)

// window is a part of a pack that was read. Nobody changes it.
type window struct {
	off  int64
	data []byte
}

// lastReads remembers where a pack was read last, and its window. It is safe for concurrent use.
type lastReads struct {
	now  atomic.Pointer[window]
	last atomic.Int64 // where was read before
	near atomic.Int32 // how many reads were near the one before each
}

// at reads len(buf) bytes of the pack at off, which the caller knows to be there: from the
// window, which nobody may change, or into buf. At the end of the window there may be
// fewer, but at least least.
func (p *pack) at(buf []byte, off int64, least int) ([]byte, error) {
	w := &p.reads
	if b := w.now.Load().from(off, len(buf)); len(b) >= least {
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
		w.now.Store(made)
		return made.from(off, len(buf)), nil
	}
	_, err := p.file.ReadAt(buf, off)
	return buf, err
}

// from returns up to n bytes at off; none when w, which may be nil, does not begin there.
func (w *window) from(off int64, n int) []byte {
	if w == nil || off < w.off || off >= w.off+int64(len(w.data)) {
		return nil
	}
	b := w.data[off-w.off:]
	n = min(n, len(b))
	return b[:n:n]
}
