package search

import "context"

// ground holds the documents to search: all layers, numbered consecutively.
type ground struct {
	ctx     context.Context
	o       Options
	layers  []Layer
	base    []int // number of the first document of each layer
	size    int
	seen    []bool // visible
	live    int    // number of visible documents
	atLeast bool   // a bound was reached
}

// newGround numbers the documents, and determines the visible ones.
func newGround(ctx context.Context, layers []Layer, o Options) *ground {
	g := &ground{ctx: ctx, o: o, layers: layers}
	for _, l := range layers {
		g.base = append(g.base, g.size)
		g.size += l.Source.Len()
	}
	g.seen = make([]bool, g.size)
	for i, l := range layers {
		for d := range l.Source.Len() {
			if l.Visible == nil || l.Visible(d) {
				g.seen[g.base[i]+d] = true
				g.live++
			}
		}
	}
	return g
}

type place struct{ layer, doc int }

func (g *ground) at(d int) place {
	i := len(g.base) - 1
	for g.base[i] > d {
		i--
	}
	return place{i, d - g.base[i]}
}

// postings visits the visible documents with a term.
func (g *ground) postings(term string, visit func(d int, n uint32)) error {
	for i, l := range g.layers {
		err := l.Source.Postings(term, func(doc int, n uint32) bool {
			if d := g.base[i] + doc; g.seen[d] {
				visit(d, n)
			}
			return true
		})
		if err != nil {
			return err
		}
		if g.ctx.Err() != nil {
			return context.Cause(g.ctx)
		}
	}
	return nil
}

func (g *ground) everyone() docSet {
	b := newDocSet(g.size)
	for d, seen := range g.seen {
		if seen {
			b.add(d)
		}
	}
	return b
}

// head returns an item's fields, without its text.
func (g *ground) head(h *Hit) (*Doc, error) {
	l := g.layers[h.Layer]
	if l.Head != nil {
		return l.Head(h.Doc)
	}
	return l.Doc(h.Doc)
}

// known reports whether any visible document has one of the forms.
func (g *ground) known(forms []form) (found bool, err error) {
	for _, f := range forms {
		if f.also != "" {
			if err := g.matches(f, func(int, uint32) { found = true }); err != nil || found {
				return found, err
			}
			continue
		}
		for i, l := range g.layers {
			err := l.Source.Postings(f.term, func(doc int, _ uint32) bool {
				found = g.seen[g.base[i]+doc]
				return !found
			})
			if err != nil || found {
				return found, err
			}
		}
	}
	return false, nil
}

// dictionary visits the words of all layers that begin with a prefix, at most maxWalk of them.
func (g *ground) dictionary(prefix string, visit func(term string)) error {
	left := maxWalk
	for _, kind := range []string{exactTerm, stemTerm} {
		for _, l := range g.layers {
			err := l.Source.Dictionary(kind+prefix, func(term string) bool {
				visit(term)
				left--
				return left > 0
			})
			if err != nil {
				return err
			}
		}
	}
	if left <= 0 {
		g.atLeast = true
	}
	return nil
}
