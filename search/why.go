package search

// Why is what a hit's score is made of. Score is
//
//	(sum of Words' Amount × Share + Whole) × Behind × (1+Fit) × (1+Pairs) × (1+Aim) / Most
//
// between 0.0001 and 1.
type Why struct {
	Words  []WordWhy
	Share  float64 // of the query's words, weighed, that the item has
	Whole  float64 // for a name, a title or an id that was typed in full
	Behind float64 // below 1 for what is there to run others
	Again  Again
	Most   float64 // what an item could have that has all words in all places
}

// WordWhy is what one word of the query adds.
type WordWhy struct {
	Word   string
	Form   string  // by which it was found
	Kind   string  // as in Form
	Amount float64 // weight of the word × how much of the form the item has
}

// explain says of each hit what its score is made of.
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
			err := r.postings(f.term, func(d int, n uint32) {
				if w := at[d]; w != nil {
					w.best(noted, WordWhy{g.word, f.term[1:], f.kind, g.weight * f.of(n)})
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// best keeps the form of a word that counts most; the word's form is noted at i.
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
