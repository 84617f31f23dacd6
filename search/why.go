package search

// Why explains a hit's score. The score is
//
//	(sum of Words' Amount × Share + Whole) × Behind × (1+Fit) × (1+Pairs) × (1+Aim) / Most
//
// between 0.0001 and 1.
type Why struct {
	Words  []WordWhy
	Share  float64 // share of the query's words, by weight, that the item has
	Whole  float64 // bonus for a name, title or id typed in full
	Behind float64 // below 1 for items that serve other items
	Again  Again
	Most   float64 // upper bound: all words in all places
}

// WordWhy is the contribution of one word of the query.
type WordWhy struct {
	Word   string
	Form   string  // the form that matched
	Kind   string  // as in Form.Kind
	Amount float64 // weight of the word × frequency of the form
}

// explain sets Why of each hit.
func (r *ranking) explain() error {
	at := map[int]*Why{}
	for i := range r.out.Hits {
		h := &r.out.Hits[i]
		d := r.base[h.Layer] + h.Doc
		h.Why = r.whys[d]
		if h.Why == nil {
			h.Why = &Why{Share: 1, Behind: 1}
		}
		at[d] = h.Why
	}
	for i := range r.groups {
		g := &r.groups[i]
		if g.never {
			continue
		}
		noted := map[*Why]int{}
		for _, f := range g.forms {
			err := r.matches(f, func(d int, n uint32) {
				if w := at[d]; w != nil {
					w.best(noted, WordWhy{g.word, f.shown(), f.kind, g.weight * f.of(n)})
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// best keeps the form of a word with the highest amount. i holds the index of the word's form.
func (w *Why) best(i map[*Why]int, x WordWhy) {
	n, ok := i[w]
	switch {
	case !ok:
		i[w] = len(w.Words)
		w.Words = append(w.Words, x)
	case x.Amount > w.Words[n].Amount:
		w.Words[n] = x
	}
}
