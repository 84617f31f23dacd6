package store

import "slices"

// Bases are chosen as git pack-objects does. Each object is tried against the last few of its
// type, which the caller sorted by path. The smallest delta wins. A base deep in a chain wins
// only if its delta is smaller by enough.
const (
	windowObjects = 10
	maxDepth      = 50       // most deltas in a chain, in packs that we make
	newestDepth   = 1        // the same for a file that is the newest of its path
	maxDelta      = 8 << 20  // largest object in bytes that becomes a delta or a base
	maxWindow     = 32 << 20 // most bytes in a window with its indexes, besides one object
	minDelta      = 48       // smaller objects are shorter whole
)

// spot is the position of an entry in a pack that is being written, and its depth in deltas.
type spot struct {
	at    int64
	depth int
}

// A basis is an object in a pack that is being written, and a possible base for deltas.
type basis struct {
	*spot
	part *part                  // the part that is being compacted; nil in a Batch
	data []byte                 // nil until it is needed
	load func() ([]byte, error) // reads data
	x    *deltaIndex            // nil until it is needed
}

// was reports whether the object came from that pack.
func (b *basis) was(in *pack) bool { return b.part != nil && b.part.from == in }

func (b *basis) size() int {
	n := len(b.data)
	if b.x != nil {
		n += b.x.memory()
	}
	return n
}

// deltaWindow holds the last objects of one type. It is not safe for concurrent use.
type deltaWindow struct {
	last      []*basis // oldest first
	spare     []*deltaIndex
	out, best []byte // deltas; scratch
}

// find returns the best base for data, and the delta, which the next use of the window
// overwrites. It returns nil when data is better stored whole. It skips objects from the pack
// tried, because they were already compared without success. Chains stay within deepest
// deltas. It also skips an unreadable object; packing that object reports the error.
func (w *deltaWindow) find(data []byte, tried *pack, deepest int) (found *basis, delta []byte) {
	if len(data) < minDelta || len(data) > maxDelta {
		return nil, nil
	}
	most, depth, held := len(data)/2-20, 1, 0
	for _, b := range slices.Backward(w.last) {
		if b.depth >= deepest || tried != nil && b.was(tried) {
			continue
		}
		if b.data == nil {
			var err error
			if b.data, err = b.load(); err != nil {
				continue
			}
		}
		bound := most * (maxDepth - b.depth) / (maxDepth - depth + 1)
		if found != nil && b.depth+1 >= depth {
			bound = min(bound, most-1) // same length and depth is no improvement
		}
		if len(data)-len(b.data) < bound && len(b.data)/32 <= len(data) && len(b.data) <= maxDelta {
			made, ok := w.index(b).delta(w.out, data, bound)
			if w.out = made; ok {
				found, most, depth = b, len(made), b.depth+1
				w.out, w.best = w.best, made
			}
		}
		if held += b.size(); held > maxWindow {
			break
		}
	}
	w.shrink()
	return found, w.best
}

// offers reports whether the window holds a candidate that was not tried before.
func (w *deltaWindow) offers(tried *pack, deepest int) bool {
	return slices.ContainsFunc(w.last, func(b *basis) bool {
		return b.depth < deepest && (tried == nil || !b.was(tried))
	})
}

// index returns the index of a basis.
func (w *deltaWindow) index(b *basis) *deltaIndex {
	if b.x == nil {
		b.x = new(deltaIndex)
		if n := len(w.spare); n > 0 {
			b.x, w.spare = w.spare[n-1], w.spare[:n-1]
		}
		b.x.reset(b.data)
	}
	return b.x
}

// push adds the newest object.
func (w *deltaWindow) push(b *basis) {
	if len(w.last) == windowObjects {
		w.drop()
	}
	w.last = append(w.last, b)
	w.shrink()
}

// shrink drops the oldest objects while the window holds too much.
func (w *deltaWindow) shrink() {
	held := 0
	for _, b := range w.last {
		held += b.size()
	}
	for held > maxWindow && len(w.last) > 1 {
		held -= w.last[0].size()
		w.drop()
	}
}

func (w *deltaWindow) drop() {
	b := w.last[0]
	w.last = append(w.last[:0], w.last[1:]...)
	if b.x != nil && b.x.memory() <= maxWindow/(4*windowObjects) {
		b.x.base = nil
		w.spare = append(w.spare, b.x)
	}
	b.data, b.x = nil, nil
}

// clear drops all objects, before objects of another type.
func (w *deltaWindow) clear() {
	for len(w.last) > 0 {
		w.drop()
	}
}
