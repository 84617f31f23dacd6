package store

import (
	"context"

	"github.com/rye-os/rye/fault"
)

// resolver turns the deltas of an import into objects. It works from each base outwards, so it
// applies every delta once, and it holds only bases with waiting deltas. When those take too
// many bytes, it drops the oldest and makes them again later.
type resolver struct {
	im    *importer
	pack  *pack         // the received entries, in the temporary file
	byOff map[int][]int // deltas by the index of their base's entry
	byRef map[OID][]int // deltas by the id of their base
	left  int           // deltas not yet resolved
	held  int64         // bytes of the bases in memory
}

// maxHeld bounds the bytes of bases in memory, not counting the whole object at their root and
// the two in use.
const maxHeld = 32 << 20

// base is an object with deltas that wait in todo.
type base struct {
	up    *base // its own base; nil for a whole object
	i     int   // its entry; -1 for an object that only the repository has
	ref   OID   // the id of that object
	t     Type
	data  []byte // nil while it is not in memory
	todo  []int
	depth int
	cost  int64 // bytes to make on the way to it from the whole object
}

// resolve resolves every delta of the import. It adds to the pack the bases that only the
// repository has.
func (im *importer) resolve() error {
	rs := &resolver{im: im, byOff: map[int][]int{}, byRef: map[OID][]int{}}
	rs.pack = &pack{format: im.r.format, file: im.out.file, size: im.out.off}
	for i := range im.entries {
		switch e := &im.entries[i]; e.t {
		case packOfsDelta:
			b := im.at(e.base)
			rs.byOff[b] = append(rs.byOff[b], i)
			rs.left++
		case packRefDelta:
			rs.byRef[e.ref] = append(rs.byRef[e.ref], i)
			rs.left++
		}
	}
	for i := 0; i < len(im.entries) && rs.left > 0; i++ {
		if im.entries[i].t > TypeTag {
			continue
		}
		if todo := rs.waiting(i); len(todo) > 0 {
			if err := rs.walk(&base{i: i, t: im.entries[i].t, todo: todo, depth: 1}); err != nil {
				return err
			}
		}
	}
	return rs.external()
}

// waiting takes the deltas with entry i as their base.
func (rs *resolver) waiting(i int) []int {
	id := rs.im.entries[i].id
	todo := append(rs.byOff[i], rs.byRef[id]...)
	delete(rs.byOff, i)
	delete(rs.byRef, id)
	return todo
}

// walk resolves all deltas above a whole object, depth first. It drops a base when its last
// delta is taken.
func (rs *resolver) walk(root *base) error {
	stack := []*base{root}
	for len(stack) > 0 {
		if err := rs.im.ctx.Err(); err != nil {
			return context.Cause(rs.im.ctx)
		}
		b := stack[len(stack)-1]
		i := b.todo[0]
		if err := rs.recall(b); err != nil {
			return err
		}
		data, err := rs.one(b, i)
		if err != nil {
			return fault.Wrap(err, "entry at %d", rs.im.entries[i].off)
		}
		if b.todo = b.todo[1:]; len(b.todo) == 0 {
			stack = stack[:len(stack)-1]
			rs.drop(b)
		}
		if todo := rs.waiting(i); len(todo) > 0 {
			stack = append(stack, &base{up: b, i: i, t: b.t, todo: todo, depth: b.depth + 1, cost: b.cost + int64(len(data))})
			rs.hold(stack, data)
		}
	}
	return nil
}

// hold keeps the bytes of the newest base, and drops the oldest others while the total is too
// large.
func (rs *resolver) hold(stack []*base, data []byte) {
	last := len(stack) - 1
	stack[last].data = data
	rs.held += int64(len(data))
	for _, b := range stack[:last] {
		if rs.held <= maxHeld {
			return
		}
		rs.drop(b)
	}
}

func (rs *resolver) drop(b *base) {
	if b.up != nil && b.data != nil {
		rs.held -= int64(len(b.data))
	}
	b.data = nil
}

// recall makes the dropped bytes of a base again.
func (rs *resolver) recall(b *base) error {
	if b.data != nil {
		return nil
	}
	var way []*base
	at := b
	for ; at.data == nil && at.up != nil; at = at.up {
		way = append(way, at)
	}
	data, err := at.data, error(nil)
	if data == nil {
		if data, err = rs.root(at); err != nil {
			return err
		}
	}
	for i := len(way) - 1; i >= 0; i-- {
		delta, err := rs.pack.inflate(rs.im.entries[way[i].i].entryHead, maxDeltified)
		if err != nil {
			return err
		}
		if data, err = applyDelta(data, delta, maxDeltified); err != nil {
			return err
		}
	}
	if b.data = data; b.up != nil {
		rs.held += int64(len(data))
	}
	return nil
}

// root reads the whole object at the root of a chain.
func (rs *resolver) root(b *base) ([]byte, error) {
	if b.i >= 0 {
		return rs.pack.inflate(rs.im.entries[b.i].entryHead, min(maxDeltified, rs.im.lim.Object))
	}
	_, data, err := rs.im.r.Object(b.ref, min(maxDeltified, rs.im.lim.Object))
	return data, err
}

// one resolves entry i, a delta on from.
func (rs *resolver) one(from *base, i int) ([]byte, error) {
	im := rs.im
	e := &im.entries[i]
	if from.depth > im.lim.Depth {
		return nil, fault.New(fault.Limit, "a chain of more than %d deltas", im.lim.Depth)
	}
	delta, err := rs.pack.inflate(e.entryHead, im.lim.Object)
	if err != nil {
		return nil, err
	}
	_, size, _, err := deltaSizes(delta)
	if err != nil {
		return nil, err
	}
	if err := im.count(size, maxDeltified); err != nil {
		return nil, err
	}
	if from.cost+size > maxRebuild*max(size, smallObject) {
		return nil, fault.New(fault.Limit, "a chain of %d deltas is too long for an object of %d bytes", from.depth, size)
	}
	data, err := applyDelta(from.data, delta, im.lim.Object)
	if err != nil {
		return nil, err
	}
	rs.left--
	return data, im.identify(e, from.t, data)
}

// external resolves the deltas whose bases are not in the pack. It appends those bases,
// because a pack on disk must be complete.
func (rs *resolver) external() error {
	im := rs.im
	if rs.left > 0 {
		if _, _, err := im.r.disk.rescan(); err != nil {
			return err
		}
	}
	for i := 0; i < len(im.entries) && rs.left > 0; i++ {
		e := im.entries[i]
		if e.t != packRefDelta || !e.id.IsZero() || rs.byRef[e.ref] == nil {
			continue
		}
		if !im.r.disk.hasNow(e.ref) {
			continue // perhaps a delta itself, resolved by another external base
		}
		t, data, err := im.r.Object(e.ref, min(maxDeltified, im.lim.Object))
		if err != nil {
			return err
		}
		if err := rs.append(e.ref, t, data); err != nil {
			return err
		}
		todo := rs.byRef[e.ref]
		delete(rs.byRef, e.ref)
		if err := rs.walk(&base{i: -1, ref: e.ref, t: t, data: data, todo: todo, depth: 1}); err != nil {
			return err
		}
	}
	for _, e := range im.entries {
		if e.id.IsZero() {
			return fault.New(fault.Malformed, "delta at %d: its base is neither in the pack nor in the repository", e.off)
		}
	}
	return nil
}

// append adds an object of the repository to the pack.
func (rs *resolver) append(id OID, t Type, data []byte) error {
	im := rs.im
	if err := im.once(id); err != nil {
		return err
	}
	if len(im.out.list)+len(im.entries) >= im.lim.Objects {
		return fault.New(fault.Limit, "more than %d objects, with the bases that are missing", im.lim.Objects)
	}
	if err := im.count(int64(len(data)), maxDeltified); err != nil {
		return err
	}
	links, err := linksOf(im.r.format, t, data)
	if err != nil {
		return err
	}
	im.links.add(im.ids, links)
	return im.out.add(id, t, data)
}
