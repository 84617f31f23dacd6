package store

import "slices"

// What becomes a delta of what, as git pack-objects decides it: each object is tried on the
// last few of its type, which the caller has put beside it by their paths, and the smallest
// delta wins, one that is deep in a chain only where it is so much smaller.
const (
	windowObjects = 10
	maxDepth      = 50       // deltas below each other, in packs that we make, ...
	newestDepth   = 1        // ... and below a file that is the newest of its path
	maxDelta      = 8 << 20  // bytes of an object that is made a delta, or a base
	maxWindow     = 32 << 20 // bytes that a window holds, with its indexes, beside one object
	minDelta      = 48       // smaller objects are shorter whole
)

// spot is where an entry of a pack being written is, and how many deltas are below it.
type spot struct {
	at    int64
	depth int
}

// A basis is an object of a pack being written that others may become deltas of.
type basis struct {
	*spot
	part *part                  // what compacting knows of it
	data []byte                 // nil until somebody asks
	load func() ([]byte, error) // makes data
	x    *deltaIndex            // nil until somebody asks
}

// was reports whether it came from a pack.
func (b *basis) was(in *pack) bool { return b.part != nil && b.part.from == in }

func (b *basis) size() int {
	n := len(b.data)
	if b.x != nil {
		n += b.x.memory()
	}
	return n
}

// deltaWindow holds the last objects of one type. It is for one goroutine.
type deltaWindow struct {
	last      []*basis // oldest first
	spare     []*deltaIndex
	out, best []byte // deltas; scratch
}

// find returns the basis of which data becomes the best delta, and that delta, which is the
// window's until it is used again; nil where data is better off whole. What was in the pack
// tried was compared before, in vain; at most deepest deltas may be below each other. What
// cannot be read is passed over: whoever packs it will say why.
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
			bound = min(bound, most-1) // as long and as deep is no better
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

// offers reports whether there is something to try that was not tried before.
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

// shrink lets go of the oldest while the window holds too much.
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

// clear forgets all of it, for objects of another type.
func (w *deltaWindow) clear() {
	for len(w.last) > 0 {
		w.drop()
	}
}
