package store

import (
	"container/heap"
	"context"

	"github.com/rye-os/rye/fault"
)

// ReachOptions narrows Reach for a shallow or filtering reader.
type ReachOptions struct {
	Depth     int   // commits in a line from each wanted one; 0: all
	Shallow   []OID // commits whose parents the other side does not have
	NoBlobs   bool  // filter blob:none
	NoTrees   bool  // filter tree:0
	BlobLimit int64 // filter blob:limit: only blobs below this many bytes; 0: no limit
}

// Reached is the result of Reach.
type Reached struct {
	Objects   []OID // tags and commits first, newest first; each once
	Shallow   []OID // commits whose parents were left out because of Depth
	Unshallow []OID // commits in ReachOptions.Shallow whose parents are now included
}

// Reach lists the objects that are reachable from want and, as far as that is cheap to know,
// not from have: every object that the other side lacks, and perhaps some that it has. It
// skips unknown ids in have; an unknown id in want is an error. It lists wanted trees and
// blobs whatever the filter.
func (r *Reader) Reach(ctx context.Context, want, have []OID, o ReachOptions) (*Reached, error) {
	w := &reach{r: r, o: o, out: &Reached{}, marks: map[OID]*mark{}, seen: map[OID]bool{}, valid: map[OID]bool{}, shallow: setOf(o.Shallow)}
	w.deepen = o.Depth > 0 && len(o.Shallow) > 0
	var rest []OID // wanted trees and blobs
	for _, id := range want {
		if err := w.want(id, &rest, 0); err != nil {
			return nil, err
		}
	}
	for _, id := range have {
		if err := w.have(id); err != nil {
			return nil, err
		}
	}
	if err := w.paint(ctx); err != nil {
		return nil, err
	}
	if err := w.commits(ctx); err != nil {
		return nil, err
	}
	w.o.NoTrees, w.o.NoBlobs, w.o.BlobLimit = false, false, 0
	for _, id := range rest {
		if err := w.single(ctx, id); err != nil {
			return nil, err
		}
	}
	return w.out, nil
}

// mark holds the state of one commit.
type mark struct {
	id      OID
	tree    OID
	parents []OID
	when    int64
	has     bool // the other side has it
	wanted  bool
	depth   int  // from the nearest wanted tip, 1 for the tip itself
	cut     bool // Depth ends here: its parents are left out
	queued  bool
	counted bool // queued, and counted in wanting
}

type reach struct {
	r       *Reader
	o       ReachOptions
	out     *Reached
	marks   map[OID]*mark
	queue   markQueue
	wanting int // queued marks whose parents may be wanted
	order   []*mark
	seen    map[OID]bool // objects that are listed, or that the other side has
	valid   map[OID]bool // trees that were parsed, and whose objects are listed
	shallow map[OID]bool // commits whose parents the other side does not have
	deepen  bool         // look behind the other side's commits, for parents that it lacks
}

// maxTagChain bounds tags of tags.
const maxTagChain = 16

// want enters one wanted id: commits into the queue, tags together with their targets.
func (w *reach) want(id OID, rest *[]OID, depth int) error {
	t, _, err := w.r.Stat(id)
	if err != nil {
		return err
	}
	switch t {
	case TypeCommit:
		m, err := w.mark(id)
		if err != nil {
			return err
		}
		m.wanted, m.depth = true, 1
		w.push(m)
	case TypeTag:
		if depth == maxTagChain {
			return fault.New(fault.Limit, "tag %s: a chain of more than %d tags", id, maxTagChain)
		}
		raw, err := w.r.typed(id, TypeTag, MaxCommitSize)
		if err != nil {
			return err
		}
		tag, err := ParseTag(raw)
		if err != nil {
			return fault.Wrap(err, "tag %s", id)
		}
		w.list(id)
		return w.want(tag.Target, rest, depth+1)
	default:
		*rest = append(*rest, id)
	}
	return nil
}

// have enters one id that the other side has.
func (w *reach) have(id OID) error {
	t, _, err := w.r.Stat(id)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if t != TypeCommit {
		w.seen[id] = true
		return nil
	}
	m, err := w.mark(id)
	if err != nil {
		return err
	}
	w.has(m)
	return nil
}

func (w *reach) list(id OID) {
	if !w.seen[id] {
		w.seen[id] = true
		w.out.Objects = append(w.out.Objects, id)
	}
}

// mark reads the links of a commit, once.
func (w *reach) mark(id OID) (*mark, error) {
	if m := w.marks[id]; m != nil {
		return m, nil
	}
	raw, err := w.r.typed(id, TypeCommit, MaxCommitSize)
	if err != nil {
		return nil, err
	}
	m := &mark{id: id}
	if m.tree, m.parents, m.when, err = commitLinks(raw); err != nil {
		return nil, fault.Wrap(err, "commit %s", id)
	}
	w.marks[id] = m
	return m, nil
}

// push queues m. If m is queued already and is now wanted, push counts it.
func (w *reach) push(m *mark) {
	if m.wanted && (!m.has || w.deepen) && !m.counted {
		m.counted = true
		w.wanting++
	}
	if !m.queued {
		m.queued = true
		heap.Push(&w.queue, m)
	}
}

// has marks a commit as present on the other side. It is then no longer counted as wanted.
func (w *reach) has(m *mark) {
	if m.has {
		return
	}
	m.has = true
	if m.counted && !w.deepen {
		m.counted = false
		w.wanting--
	}
	w.push(m)
}

// paint walks from both sides, newest first, until no wanted commit is left that the other
// side may lack. Clocks that run backwards make it list more than needed, never less.
func (w *reach) paint(ctx context.Context) error {
	for w.wanting > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		m := heap.Pop(&w.queue).(*mark)
		m.queued = false
		if m.counted {
			m.counted = false
			w.wanting--
		}
		has, wants := m.has, m.wanted && (!m.has || w.deepen)
		if wants {
			w.order = append(w.order, m)
			m.cut = w.o.Depth > 0 && m.depth >= w.o.Depth && len(m.parents) > 0
			wants = !m.cut
		}
		if w.shallow[m.id] {
			has, wants = false, wants && w.deepen
		}
		for _, p := range m.parents {
			if err := w.parent(m, p, has, wants); err != nil {
				return err
			}
		}
	}
	return nil
}

// parent marks a parent of m as present on the other side, or as wanted.
func (w *reach) parent(m *mark, id OID, has, wants bool) error {
	if !has && !wants {
		return nil
	}
	p, err := w.mark(id)
	if isMissing(err) && !wants {
		return nil // a partial repository may lack objects that both sides have
	}
	if err != nil {
		return err
	}
	if has {
		w.has(p)
	}
	if !wants {
		return nil
	}
	nearer := p.depth == 0 || m.depth+1 < p.depth
	if nearer {
		p.depth = m.depth + 1
	}
	if !p.wanted || nearer && w.o.Depth > 0 {
		p.wanted = true
		if !p.has || w.deepen {
			w.push(p)
		}
	}
	return nil
}

// commits lists the wanted commits, and then the objects that their trees add.
func (w *reach) commits(ctx context.Context) error {
	var list []*mark
	for _, m := range w.order {
		if m.has || w.seen[m.id] {
			continue
		}
		w.list(m.id)
		list = append(list, m)
	}
	for _, m := range w.order {
		if m.cut && !m.has && !w.shallow[m.id] {
			w.shallow[m.id] = true
			w.out.Shallow = append(w.out.Shallow, m.id)
		}
	}
	if err := w.unshallow(ctx); err != nil {
		return err
	}
	var last OID                          // the tree before, whose objects are listed
	for i := len(list) - 1; i >= 0; i-- { // oldest first: later trees then add little
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := w.commitTree(list[i], last); err != nil {
			return err
		}
		last = list[i].tree
	}
	return nil
}

// unshallow finds the commits in o.Shallow whose parents the other side now gets. The other
// side has their trees, so shared objects are not sent again.
func (w *reach) unshallow(ctx context.Context) error {
	if !w.deepen {
		return nil
	}
	for _, id := range w.o.Shallow {
		m := w.marks[id]
		if m == nil || !m.wanted || m.cut {
			continue
		}
		w.out.Unshallow = append(w.out.Unshallow, id)
		err := w.r.Walk(ctx, m.tree, func(_ string, e Entry) error {
			if e.IsDir() && w.seen[e.ID] {
				return SkipDir
			}
			w.seen[e.ID] = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// commitTree lists the objects that the tree of m adds to the tree of its first parent. It
// compares with the tree listed last if the other side will not have that parent, or gets it
// later. Of two trees, only the later may be compared with the other, or both omit an object.
func (w *reach) commitTree(m *mark, last OID) error {
	base := last
	if len(m.parents) > 0 {
		if p := w.marks[m.parents[0]]; p != nil && (p.has || w.valid[p.tree] && !m.cut) {
			base = p.tree
		}
	}
	return w.tree(m.tree, base, 0)
}

// tree lists the objects of a tree that base does not have at the same path.
func (w *reach) tree(id, base OID, depth int) error {
	if w.o.NoTrees || id == base || w.seen[id] {
		return nil
	}
	if depth == maxTreeDepth {
		return fault.New(fault.Limit, "tree deeper than %d directories", maxTreeDepth)
	}
	if done, err := w.replaced(id, base, depth); done || err != nil {
		return err
	}
	entries, err := w.r.Tree(id)
	if err != nil {
		return err
	}
	w.valid[id] = true
	old, err := w.r.treeOrNone(base)
	if err != nil {
		if !isMissing(err) {
			return err
		}
		old = nil
	}
	w.list(id)
	for _, e := range entries {
		for len(old) > 0 && less(old[0], e) {
			old = old[1:]
		}
		var was OID
		if len(old) > 0 && old[0].Name == e.Name && old[0].IsDir() == e.IsDir() {
			was = old[0].ID
		}
		if err := w.entry(e, was, depth); err != nil {
			return err
		}
	}
	return nil
}

// replaced does the work of tree when the tree has the names and modes of base, which was parsed.
// Otherwise it returns false and does nothing.
func (w *reach) replaced(id, base OID, depth int) (done bool, err error) {
	if !w.valid[base] {
		return false, nil
	}
	raw, err := w.r.rawTree(id)
	if err != nil {
		return false, err
	}
	old, err := w.r.rawTree(base)
	if err != nil {
		return false, err
	}
	found, ok := replacedIn(w.r.format, raw, old)
	if !ok {
		return false, nil
	}
	w.list(id)
	w.valid[id] = true
	for _, c := range found {
		e, _, err := nextEntry(w.r.format, c.entry, string(c.entry))
		if err == nil {
			err = w.entry(e, c.was, depth)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func (w *reach) entry(e Entry, was OID, depth int) error {
	switch {
	case e.ID == was || w.seen[e.ID] || e.Mode == ModeGitlink:
		return nil
	case e.IsDir():
		return w.tree(e.ID, was, depth+1)
	case w.o.NoBlobs:
		return nil
	}
	if w.o.BlobLimit > 0 {
		_, size, err := w.r.Stat(e.ID)
		if err != nil || size >= w.o.BlobLimit {
			return err
		}
	}
	w.list(e.ID)
	return nil
}

// single lists a wanted tree or blob.
func (w *reach) single(ctx context.Context, id OID) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	t, _, err := w.r.Stat(id)
	if err != nil {
		return err
	}
	if t == TypeTree {
		return w.tree(id, OID{}, 0)
	}
	w.list(id)
	return nil
}

// markQueue is a heap, newest commit first. At the same second, commits of the other side come
// before wanted ones.
type markQueue []*mark

func (q markQueue) Len() int { return len(q) }
func (q markQueue) Less(i, j int) bool {
	if q[i].when != q[j].when {
		return q[i].when > q[j].when
	}
	return q[i].has && !q[j].has
}
func (q markQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *markQueue) Push(x any)   { *q = append(*q, x.(*mark)) }
func (q *markQueue) Pop() any {
	old := *q
	m := old[len(old)-1]
	*q = old[:len(old)-1]
	return m
}

func (r *Reader) treeOrNone(id OID) ([]Entry, error) {
	if id.IsZero() {
		return nil, nil
	}
	return r.Tree(id)
}
