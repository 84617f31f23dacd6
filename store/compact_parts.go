package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/rye-os/rye/fault"
)

// part is an object that is being compacted, with its old and its new position.
type part struct {
	spot        // in the new pack
	placed bool // its position there is known
	id     OID
	t      Type  // of the object
	size   int64 // of the object; -1 where only inflating would tell
	from   *pack // nil: a loose object
	i      int64 // position in the index of from
	off    int64 // start of its entry there
	end    int64 // end of its entry there
	base   *part // the base of that entry; nil: the entry is whole
	group  int32 // number of its path, in order of first visit; 0: never visited
	seq    int32 // order of the visit, the newest version first
	most   int   // greatest delta depth allowed in the new pack
}

// parts gathers the objects to compact, each object once.
type parts struct {
	r    *Repo
	list []*part // in the order of the new pack, after sort
	byID map[OID]*part
}

// gatherParts finds the objects to compact and their positions.
func gatherParts(ctx context.Context, r *Repo, loose []OID, packs []oldPack) (*parts, error) {
	s := &parts{r: r, byID: map[OID]*part{}}
	for _, id := range loose {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		t, size, err := r.Stat(id)
		if err != nil {
			return nil, err
		}
		s.add(&part{id: id, t: t, size: size})
	}
	for _, p := range packs {
		if err := s.addPack(ctx, p.pack); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add enters an object. Of two copies it takes one that is already a delta, which need not be
// made again.
func (s *parts) add(p *part) *part {
	have := s.byID[p.id]
	switch {
	case have == nil:
		p.most = maxDepth
		s.byID[p.id] = p
		s.list = append(s.list, p)
		return p
	case have.base == nil && p.base != nil:
		have.from, have.i, have.off, have.end, have.base = p.from, p.i, p.off, p.end, p.base
	}
	return have
}

// addPack enters the objects of a pack.
func (s *parts) addPack(ctx context.Context, p *pack) error {
	list, bases, err := p.entries(ctx)
	if err != nil {
		return err
	}
	for n := range list { // a delta has the type of the object below all deltas
		var chain []int
		at := n
		for ; list[at].t == 0; at = bases[at] {
			if chain = append(chain, at); len(chain) > maxChain {
				return fault.New(fault.Integrity, "pack %s: a chain of more than %d deltas", p.path, maxChain)
			}
		}
		for _, i := range chain {
			list[i].t = list[at].t
		}
	}
	for n, b := range bases {
		if b >= 0 {
			list[n].base = list[b]
		}
	}
	for n, e := range list {
		list[n] = s.add(e)
	}
	for _, e := range list { // a base that another pack has too is the same object
		if e.base != nil {
			e.base = s.byID[e.base.id]
		}
	}
	return nil
}

// entries lists the objects of a pack in pack order, and for each the position of its base in
// the list. The position is -1 for a whole object. The types of deltas are not known yet.
func (p *pack) entries(ctx context.Context) ([]*part, []int, error) {
	if err := p.open(true); err != nil {
		return nil, nil, err
	}
	if err := p.sortStarts(); err != nil {
		return nil, nil, err
	}
	list, bases := make([]*part, p.idx.n), make([]int, p.idx.n)
	for i := range p.idx.n {
		id, err := p.idx.id(i)
		if err != nil {
			return nil, nil, err
		}
		off, err := p.idx.offset(i)
		if err != nil {
			return nil, nil, err
		}
		list[i] = &part{id: id, from: p, i: i, off: off}
	}
	slices.SortFunc(list, func(a, b *part) int { return cmp.Compare(a.off, b.off) })
	for n, e := range list {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		h, err := p.head(e.off)
		if err != nil {
			return nil, nil, fault.Wrap(err, "read pack %s", p.path)
		}
		e.end, e.size, bases[n] = p.starts[n+1], h.size, -1
		if e.t = h.t; h.t > TypeTag {
			at, ok := slices.BinarySearch(p.starts[:len(list)], h.base)
			if !ok {
				return nil, nil, fault.New(fault.Integrity, "read pack %s: a delta whose base is not an entry, at %d", p.path, h.base)
			}
			e.t, e.size, bases[n] = 0, -1, at
		}
	}
	return list, bases, nil
}
