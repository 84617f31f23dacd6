package search

import (
	"cmp"
	"context"
	"slices"
)

// Options say how to rank.
type Options struct {
	Stem    func(word string) string // as of the Analyzer
	Words   *Vocabulary              // what is known of words; nil is nothing
	Most    int                      // hits to return; the others are counted. 0 is all
	Explain bool                     // say of each hit what its score is made of
}

// ranking is a search on its way.
type ranking struct {
	*ground
	groups  []group
	best    []float32 // of the group on its way, by document
	touched []int32
	score   []float32
	matched []float32    // weight of the words that a document has
	sets    []docSet     // of leaves, where a query is more than words
	least   float64      // score that is needed to be kept
	guesses bool         // a word occurs nowhere, and others were taken for it
	sure    docSet       // documents that have a word as it was asked for
	whys    map[int]*Why // by document, where that is asked for
	out     Ranking
}

// group is a word of the query on its way.
type group struct {
	leaf   *leaf
	word   string
	forms  []form
	docs   int     // that one of them is in, and that count
	weight float64 // idf, less for what says little
	common bool
	weak   bool
	near   bool // occurs nowhere: others were taken for it
	never  bool
}

type form struct {
	term, kind string
	weight     float64
}

// Rank returns what a query means, best first. Where no word of it is known, the nearest are
// taken instead, and what they find is a guess. An error is of a source, of ctx, or of a query
// that means more than can be looked at.
func (q *Query) Rank(ctx context.Context, layers []Layer, o Options) (*Ranking, error) {
	r := &ranking{ground: newGround(ctx, layers, o), whys: map[int]*Why{}}
	n := r.size
	r.sure, r.best, r.score, r.matched = newDocSet(n), make([]float32, n), make([]float32, n), make([]float32, n)
	if q.root == nil {
		r.everything()
		return &r.out, nil
	}
	if err := r.weigh(q); err != nil {
		return nil, err
	}
	m := meaning{ground: r.ground, sets: r.sets, checks: maxChecked}
	keep, err := m.eval(q.root)
	if err != nil {
		return nil, err
	}
	if err := r.sum(q, keep); err != nil {
		return nil, err
	}
	return &r.out, r.finish(q)
}

// finish puts the best first.
func (r *ranking) finish(q *Query) error {
	r.sort(r.kept())
	if r.o.Explain {
		if err := r.explain(); err != nil {
			return err
		}
	}
	if err := r.lookAgain(q); err != nil {
		return err
	}
	r.sort(r.o.Most)
	r.out.AtLeast = r.atLeast
	return r.nameNearest()
}

// everything is the answer to a query without words.
func (r *ranking) everything() {
	for d, seen := range r.seen {
		if seen {
			r.keep(d, 1)
		}
	}
	r.sort(r.o.Most)
}

// keep counts a document, and keeps it while it may be one of the best.
func (r *ranking) keep(d int, score float64) {
	r.out.Total++
	if score < r.least {
		return
	}
	at := r.at(d)
	r.out.Hits = append(r.out.Hits, Hit{Layer: at.layer, Doc: at.doc, Score: score, Guess: r.guessed(d)})
	if most := r.kept(); most > 0 && len(r.out.Hits) >= 4*most+64 {
		r.sort(most)
		r.least = r.out.Hits[most-1].Score
	}
}

// kept is how many hits are kept while there may be better ones.
func (r *ranking) kept() int {
	if r.o.Most <= 0 {
		return 0
	}
	return max(r.o.Most, looked)
}

// guessed reports whether a document has only words that are near those of the query.
func (r *ranking) guessed(d int) bool { return r.guesses && !r.sure.has(d) }

// sort puts the best first, and forgets those beyond most, if that is above 0.
func (r *ranking) sort(most int) {
	slices.SortFunc(r.out.Hits, func(a, b Hit) int {
		if a.Score != b.Score {
			return cmp.Compare(b.Score, a.Score)
		}
		x, y := &r.layers[a.Layer], &r.layers[b.Layer]
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Order(a.Doc), y.Order(b.Doc)))
	})
	if most > 0 {
		r.out.Hits = r.out.Hits[:min(len(r.out.Hits), most)]
	}
}
