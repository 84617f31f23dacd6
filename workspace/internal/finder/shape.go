package finder

import (
	"slices"
	"sync"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// shape is the searched part of the spaces, in the order of an index. It does not change, and
// is the same for all searches with the same looks, weights and wants.
type shape struct {
	looks   []*space.Look
	weights string   // their key
	wanted  [][]bool // of each look: the rows that are searched
	shelves []*shelf
}

// shelf is one layer: the library, the user space, the project, or its locked items.
type shelf struct {
	look int
	name string // for people
	key  string
	rows []int32 // of the look, sorted by search.CompareEntries
}

// shapes remembers the last shape of a search for everything.
type shapes struct {
	mu   sync.Mutex
	last *shape
}

// of returns the shape of looks. want selects the searched items; nil is all of them.
func (h *shapes) of(s *session.Session, w *weighing, looks []*space.Look, want func(objects.Ref) bool) *shape {
	if want != nil {
		return newShape(s, w, looks, want)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || h.last.weights != w.key || !slices.Equal(h.last.looks, looks) {
		h.last = newShape(s, w, looks, nil)
	}
	return h.last
}

func (h *shapes) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = nil
}

func newShape(s *session.Session, w *weighing, looks []*space.Look, want func(objects.Ref) bool) *shape {
	sh := &shape{looks: looks, weights: w.key, wanted: wanted(looks, want)}
	for n, k := range looks {
		own, locked := &shelf{look: n}, &shelf{look: n}
		for i := range k.Len() {
			switch e := k.EntryOf(i); {
			case !e.Item:
			case e.Locked:
				locked.rows = append(locked.rows, int32(i))
			default:
				own.rows = append(own.rows, int32(i))
			}
		}
		own.call(s, sh, "")
		locked.call(s, sh, "locked")
		sh.shelves = append(sh.shelves, own, locked)
	}
	return sh
}

// call gives a shelf its names, and sorts it.
func (b *shelf) call(s *session.Session, sh *shape, part string) {
	if len(b.rows) == 0 {
		return
	}
	k := sh.looks[b.look]
	sp := k.Row(int(b.rows[0])).Space
	b.name, b.key = "the "+sp.String()+" space", sp.String()+"\n"+part+"\n"+sh.weights
	if part != "" {
		b.name = "the " + part + " items"
	}
	if l, err := s.Stack.Layer(sp); err == nil {
		b.key += "\n" + l.Dir
	}
	order := func(i, j int32) int {
		return search.CompareEntries(k.EntryOf(int(i)).Path, k.EntryOf(int(j)).Path)
	}
	if !slices.IsSortedFunc(b.rows, order) { // mostly they are sorted
		slices.SortFunc(b.rows, order)
	}
}

// spot is the place of a part's document.
func (b *shelf) spot(p search.Part, doc int) spot { return spot{b.look, int(b.rows[p.Entry[doc]])} }

// wanted reports for each row of each look whether it is searched. It has to be an item,
// wanted, the first of its ref, and no space above may have the ref.
func wanted(looks []*space.Look, want func(objects.Ref) bool) [][]bool {
	all := make([][]bool, len(looks))
	for n, k := range looks {
		all[n] = make([]bool, k.Len())
		var last objects.Ref
		for i := range all[n] {
			ref := k.Ref(i)
			if ref == last || ref.Kind == "" || want != nil && !want(ref) {
				continue // a second file with that ref, or a name of no item
			}
			last = ref
			all[n][i] = !slices.ContainsFunc(looks[:n], func(above *space.Look) bool { return above.Holds(ref) })
		}
	}
	return all
}
