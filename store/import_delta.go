package store

import (
	"context"

	"github.com/rye-os/rye/internal/fault"
)

// resolver turns the deltas of an import into objects. It works from each base
// outwards, so every delta is applied once, and holds only bases that still have
// deltas waiting.
type resolver struct {
	im    *importer
	pack  *pack         // the received entries, in the temporary file
	byOff map[int][]int // deltas by the index of the entry they are based on
	byRef map[OID][]int // deltas by the id they are based on
	left  int           // deltas not yet resolved
	held  int64         // bytes of bases held
}

// maxHeld bounds the bytes of bases held at a time.
const maxHeld = 512 << 20

// base is an object whose deltas wait in todo.
type base struct {
	t     Type
	data  []byte
	todo  []int
	depth int
}

// resolve resolves every delta of the import, adding to the pack the bases that
// only the repository has.
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
			if err := rs.from(i, todo); err != nil {
				return err
			}
		}
	}
	return rs.external()
}

// waiting takes the deltas that entry i is the base of.
func (rs *resolver) waiting(i int) []int {
	id := rs.im.entries[i].id
	todo := append(rs.byOff[i], rs.byRef[id]...)
	delete(rs.byOff, i)
	delete(rs.byRef, id)
	return todo
}

// from resolves everything that hangs on the whole object in entry i.
func (rs *resolver) from(i int, todo []int) error {
	e := &rs.im.entries[i]
	data, err := rs.pack.inflate(e.entryHead, rs.im.lim.Object)
	if err != nil {
		return err
	}
	return rs.walk(base{t: e.t, data: data, todo: todo, depth: 1})
}

// walk resolves deltas depth first. A base is dropped when its last delta is taken.
func (rs *resolver) walk(first base) error {
	stack := []base{first}
	rs.held = int64(len(first.data))
	for len(stack) > 0 {
		if err := rs.im.ctx.Err(); err != nil {
			return context.Cause(rs.im.ctx)
		}
		b := &stack[len(stack)-1]
		from, i := *b, b.todo[0]
		if b.todo = b.todo[1:]; len(b.todo) == 0 {
			stack = stack[:len(stack)-1]
			rs.held -= int64(len(from.data))
		}
		data, err := rs.one(from, i)
		if err != nil {
			return fault.New(fault.CodeOf(err), "entry at %d: %w", rs.im.entries[i].off, err)
		}
		if todo := rs.waiting(i); len(todo) > 0 {
			if rs.held += int64(len(data)); rs.held > maxHeld {
				return fault.New(fault.Limit, "deltas need more than %d bytes of bases at a time", int64(maxHeld))
			}
			stack = append(stack, base{t: from.t, data: data, todo: todo, depth: from.depth + 1})
		}
	}
	return nil
}

// one resolves entry i, a delta on from.
func (rs *resolver) one(from base, i int) ([]byte, error) {
	im := rs.im
	e := &im.entries[i]
	if from.depth > im.lim.Depth {
		return nil, fault.New(fault.Limit, "more than %d deltas below each other", im.lim.Depth)
	}
	delta, err := rs.pack.inflate(e.entryHead, im.lim.Object)
	if err != nil {
		return nil, err
	}
	_, size, _, err := deltaSizes(delta)
	if err != nil {
		return nil, err
	}
	if err := im.count(size); err != nil {
		return nil, err
	}
	data, err := applyDelta(from.data, delta, im.lim.Object)
	if err != nil {
		return nil, err
	}
	rs.left--
	return data, im.identify(e, from.t, data)
}

// external resolves the deltas whose bases the pack does not hold: those bases
// are appended to it, as a pack on disk must stand alone.
func (rs *resolver) external() error {
	im := rs.im
	for i := 0; i < len(im.entries) && rs.left > 0; i++ {
		e := im.entries[i]
		if e.t != packRefDelta || !e.id.IsZero() || rs.byRef[e.ref] == nil {
			continue
		}
		t, data, err := im.r.Object(e.ref, im.lim.Object)
		if isMissing(err) {
			continue // perhaps a delta that another external base resolves
		}
		if err != nil {
			return err
		}
		if err := rs.append(e.ref, t, data); err != nil {
			return err
		}
		todo := rs.byRef[e.ref]
		delete(rs.byRef, e.ref)
		if err := rs.walk(base{t: t, data: data, todo: todo, depth: 1}); err != nil {
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
	if err := im.count(int64(len(data))); err != nil {
		return err
	}
	links, err := linksOf(im.r.format, t, data)
	if err != nil {
		return err
	}
	im.links.add(im.ids, links)
	return im.out.add(id, t, data)
}
