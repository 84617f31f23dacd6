package search

import (
	"cmp"
	"context"
	"slices"
)

// Options control the ranking.
type Options struct {
	Stem    func(word string) string // as for the Analyzer
	Words   *Vocabulary              // knowledge about words; nil for none
	Most    int                      // hits to return, others are only counted; 0 for all
	Explain bool                     // explain each hit's score
}

// ranking is a search under way.
type ranking struct {
	*ground
	groups  []group
	best    []float32 // by document, for the current group
	touched []int32
	score   []float32
	matched []float32    // weight of the matched words, by document
	sets    []docSet     // by leaf, if a query is more than words
	least   float64      // minimum score to be kept
	guesses bool         // a word is unknown, and others replace it
	sure    docSet       // documents with a word as in the query
	whys    map[int]*Why // by document, if requested
	out     Ranking
}

// group is a word of the query during a search.
type group struct {
	leaf   *leaf
	word   string
	forms  []form
	docs   int     // visible documents with one of the forms
	weight float64 // idf, reduced for words with little meaning
	common bool
	weak   bool
	near   bool // unknown: others replace it
	never  bool
}

type form struct {
	term, kind string
	weight     float64
	also       string // another term that a document must have, too; "" for none
}

// Rank returns the matches of a query, best first. If a word is unknown, similar words replace it,
// and hits by these alone are guesses. Errors come from a source, from ctx, or from a query with
// too much text to check.
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

// finish sorts the hits.
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

// everything answers a query without words.
func (r *ranking) everything() {
	for d, seen := range r.seen {
		if seen {
			r.keep(d, 1)
		}
	}
	r.sort(r.o.Most)
}

// keep counts a document, and keeps it while it may be among the best.
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

// kept returns how many hits to keep while better ones may follow; 0 for all.
func (r *ranking) kept() int {
	if r.o.Most <= 0 {
		return 0
	}
	return max(r.o.Most, looked)
}

// guessed reports whether a document has only words similar to the query's.
func (r *ranking) guessed(d int) bool { return r.guesses && !r.sure.has(d) }

// sort sorts the hits, best first, and drops those beyond most, if it is above 0.
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
