package store

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
)

// The order of a pack decides which objects become deltas of which. Versions of one path lie
// together, newest first. The newest stays whole because it is read most; older versions are
// deltas of newer ones. Paths come in the order in which the newest commits show them.

// sort puts the parts into the order of the new pack.
func (s *parts) sort(ctx context.Context) error {
	o := ordering{parts: s, paths: map[pathKey]int32{}, newer: map[int32][]byte{}}
	if err := o.walk(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(s.list, func(a, b *part) int {
		return cmp.Or(cmp.Compare(rank[a.t], rank[b.t]), cmp.Compare(a.place(), b.place()), cmp.Compare(a.seq, b.seq))
	})
	return nil
}

// rank is the order of types. Readers of history read commits, then trees.
var rank = [TypeTag + 1]int{TypeCommit: 0, TypeTag: 1, TypeTree: 2, TypeBlob: 3}

// place is the number of the part's path. Parts on no path come last, in their old order.
func (p *part) place() int64 {
	if p.group == 0 {
		return 1 << 32
	}
	return int64(p.group)
}

// ordering finds the paths of parts by following the commits among them, newest first. It
// reads only objects that are parts: objects below an unchanged tree are in other packs.
type ordering struct {
	*parts
	paths  map[pathKey]int32 // by the group of the directory and the name in it
	newer  map[int32][]byte  // by the group of a wide directory: its last visited tree
	groups int32
	met    int32
}

type pathKey struct {
	in   int32
	name string
}

// The groups of parts without a path.
const (
	groupCommits = 1 + iota
	groupRoots
	firstGroup
)

func (o *ordering) walk(ctx context.Context) error {
	o.groups = firstGroup - 1
	head, tips, err := o.tips()
	if err != nil {
		return err
	}
	list := o.commits()
	for _, m := range list {
		if m.id == head {
			o.keep(m.tree, 0)
		}
	}
	for _, m := range newestFirst(list) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p := o.byID[m.id]
		o.meet(p, groupCommits)
		if tips[m.id] {
			p.most = 0
		}
		o.tree(ctx, m.tree, groupRoots, 0)
	}
	return context.Cause(ctx)
}

// keep limits the deltas of a tree at HEAD and of everything below it, so that they stay quick
// to read.
func (o *ordering) keep(id OID, depth int) {
	p := o.byID[id]
	if p == nil || p.most == 0 || depth == maxTreeDepth {
		return
	}
	if p.t != TypeTree {
		p.most = newestDepth
		return
	}
	p.most = 0
	raw, _ := o.r.rawTree(id)
	o.each(raw, func(_ []byte, p *part) { o.keep(p.id, depth+1) })
}

// each calls f for the parts that a tree names.
func (o *ordering) each(raw []byte, f func(name []byte, p *part)) {
	for len(raw) > 0 {
		mode, name, id, rest, ok := splitEntry(o.r.format, raw)
		if !ok {
			return
		}
		if p := o.byID[oidOf(id)]; p != nil && mode != ModeGitlink {
			f(name, p)
		}
		raw = rest
	}
}

// keptTree is the size in bytes from which a tree is kept to compare the next one with it.
const keptTree = 4 << 10

// eachNew is each without the parts that the last tree of the group has too: those were visited.
func (o *ordering) eachNew(raw []byte, group int32, f func(name []byte, p *part)) {
	if len(raw) < keptTree {
		o.each(raw, f)
		return
	}
	found, ok := replacedIn(o.r.format, raw, o.newer[group])
	o.newer[group] = raw
	if !ok {
		o.each(raw, f)
		return
	}
	for _, c := range found {
		o.each(c.entry, f)
	}
}

// tips returns the commit at HEAD, and the targets of all refs.
func (o *ordering) tips() (head OID, tips map[OID]bool, err error) {
	refs, err := o.r.Refs("refs/")
	if err != nil {
		return head, nil, err
	}
	name, _ := o.r.Head() // with a damaged HEAD, no commit is the head
	tips = map[OID]bool{}
	for _, ref := range refs {
		tips[ref.ID] = true
		if ref.Name == name {
			head = ref.ID
		}
	}
	return head, tips, nil
}

// commits reads the links of the commits. An unreadable commit is skipped; packing it reports
// the error.
func (o *ordering) commits() (list []*mark) {
	for _, p := range o.list {
		if p.t != TypeCommit {
			continue
		}
		if raw, err := o.r.typed(p.id, TypeCommit, MaxCommitSize); err == nil {
			m := &mark{id: p.id}
			if m.tree, m.parents, m.when, err = commitLinks(raw); err == nil {
				list = append(list, m)
			}
		}
	}
	return list
}

func (o *ordering) meet(p *part, group int32) {
	o.met++
	p.group, p.seq = group, o.met
}

// tree visits a tree and everything below it. An unreadable tree is skipped: it only loses its
// order here, and packing it reports the error.
func (o *ordering) tree(ctx context.Context, id OID, group int32, depth int) {
	p := o.byID[id]
	if p == nil || p.group != 0 || p.t != TypeTree || depth == maxTreeDepth || ctx.Err() != nil {
		return
	}
	o.meet(p, group)
	raw, _ := o.r.rawTree(id)
	o.eachNew(raw, group, func(name []byte, p *part) {
		if p.group != 0 {
			return
		}
		path := pathKey{group, string(name)}
		below, ok := o.paths[path]
		if !ok {
			o.groups++
			below = o.groups
			o.paths[path] = below
		}
		if p.t == TypeTree {
			o.tree(ctx, p.id, below, depth+1)
		} else {
			o.meet(p, below)
		}
	})
}

// newestFirst sorts commits by their time, each before its parents.
func newestFirst(list []*mark) []*mark {
	byID := make(map[OID]*mark, len(list))
	for _, m := range list {
		byID[m.id] = m
	}
	for _, m := range list {
		for _, id := range m.parents {
			if p := byID[id]; p != nil {
				p.depth++ // the number of commits that come before it
			}
		}
	}
	var q markQueue
	for _, m := range list {
		if m.depth == 0 {
			heap.Push(&q, m)
		}
	}
	sorted := make([]*mark, 0, len(list))
	for len(q) > 0 {
		m := heap.Pop(&q).(*mark)
		sorted = append(sorted, m)
		for _, id := range m.parents {
			if p := byID[id]; p != nil {
				if p.depth--; p.depth == 0 {
					heap.Push(&q, p)
				}
			}
		}
	}
	return sorted
}
