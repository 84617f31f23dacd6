package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// BodyWeight is the weight of the text itself, if no extractor sets one. Measured with the golden
// sets: 0.3 to 0.5 makes no difference; more puts items that mention a thing before items about it.
const BodyWeight = 0.4

// Weights of the ways to find a word; the word itself has 1.
const (
	byStem       = 0.8
	byJoined     = 0.8  // web fetch for webfetch
	bySynonym    = 0.55 // listed in config:rye/search
	byExpression = 0.7  // of two or three words: time off
	byPrefix     = 0.45 // a word typed in part
	byNear       = 0.4
)

// Weights of words; an ordinary word has 1.
const (
	common  = 0.12 // the, how
	weak    = 0.6  // find, new
	literal = 1.5  // with a digit: meant literally
	apart   = 0.3  // the parts of a compound that occurs as a whole
	behind  = 0.3  // factor for items that serve other items
)

// rarity is the weight of a word's rarity. It is lower than in BM25, because among few items rarity
// is a matter of chance.
const rarity = 0.4

// saturation bounds the effect of a word's frequency (k1 of BM25).
const saturation = 2.0

// enough scales the share of a word that a document has: only in the body, it counts about half.
const enough = 0.8

// shade is the share of a rare word that a document must have. Common words alone stay below it.
const shade = 0.05

// weigh finds the forms of each word, and adds its weight to the documents that have it.
func (r *ranking) weigh(q *Query) error {
	spell := speller{r.ground}
	for i, l := range q.leaves {
		g, err := spell.understand(q, i)
		if err != nil {
			return err
		}
		g.leaf, g.never = l, l.never
		r.guesses = r.guesses || g.near
		r.groups = append(r.groups, g)
	}
	onlyCommon := !slices.ContainsFunc(r.groups, func(g group) bool { return !g.common && !g.never })
	for i := range r.groups {
		g := &r.groups[i]
		if onlyCommon {
			g.common = false
		}
		if err := r.add(g, len(q.leaves) > 0 && !plain(q.root)); err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether a query is plain words, so that no sets are needed.
func plain(n node) bool {
	switch n := n.(type) {
	case *leaf:
		return !n.phrase && n.field == ""
	case mixed:
		return len(n.must) == 0 && len(n.never) == 0
	}
	return false
}

// add adds one group. A document gets the score of its best form, not the sum.
func (r *ranking) add(g *group, set bool) error {
	shown := Group{Word: g.word, Field: g.leaf.field}
	for _, f := range g.forms {
		seen := false
		err := r.matches(f, func(d int, n uint32) {
			seen = true
			v := float32(f.of(n))
			if r.best[d] == 0 {
				r.touched = append(r.touched, int32(d))
			}
			r.best[d] = max(r.best[d], v)
		})
		if err != nil {
			return err
		}
		if seen { // otherwise it would reveal a word that only hidden documents have
			shown.Forms = append(shown.Forms, Form{f.shown(), f.weight, f.kind})
		}
	}
	df := len(r.touched)
	g.docs = df
	idf := math.Log(1 + (float64(r.live-df)+0.5)/(float64(df)+0.5))
	if g.weight = math.Pow(idf, rarity); g.common {
		g.weight *= common
	} else if g.weak {
		g.weight *= weak
	} else if strings.ContainsAny(g.word, "0123456789") {
		g.weight *= literal
	}
	var b docSet
	if set {
		b = newDocSet(r.size)
	}
	for _, d := range r.touched {
		if set {
			b.add(int(d))
		}
		if !g.never {
			if !g.near && !g.common {
				r.sure.add(int(d))
			}
			r.score[d] += r.best[d] * float32(g.weight)
			r.matched[d] += float32(g.weight) * min(r.best[d]*enough, 1)
		}
		r.best[d] = 0
	}
	r.touched = r.touched[:0]
	r.sets = append(r.sets, b)
	shown.Docs, shown.IDF = df, idf
	r.out.Groups = append(r.out.Groups, shown)
	return nil
}

// of returns how much of a form a document has.
func (f form) of(n uint32) float64 {
	tf := float64(n) / Unit
	return f.weight * tf * (saturation + 1) / (tf + saturation)
}

// sum makes hits of the matching documents.
func (r *ranking) sum(q *Query, keep docSet) error {
	total, rare := float32(0), float32(0)
	for _, g := range r.groups {
		if !g.never {
			total += float32(g.weight)
			if !g.common {
				rare = cmp.Or(rare, float32(g.weight))
				rare = min(rare, float32(g.weight))
			}
		}
	}
	bonus, err := r.wholes(q, total)
	if err != nil {
		return err
	}
	runs, err := r.behind(q)
	if err != nil {
		return err
	}
	most := float64(total) * (saturation + 1) * 2
	for d := range r.size {
		if r.seen[d] && (keep != nil && keep.has(d) || keep == nil && r.enough(d, rare, bonus)) {
			r.keep(d, r.worth(d, Why{Whole: float64(bonus[d]), Behind: 1, Share: 1, Most: most}, total, runs))
		}
	}
	return nil
}

// enough reports whether a document has a word with meaning, or a whole name.
func (r *ranking) enough(d int, rare float32, bonus map[int]float32) bool {
	return r.matched[d] > 0 && (r.matched[d] >= rare*shade || bonus[d] > 0)
}

// worth returns the score of a document before the second look.
func (r *ranking) worth(d int, w Why, total float32, runs docSet) float64 {
	if total > 0 {
		w.Share = float64(r.matched[d] / total)
	}
	if runs != nil && runs.has(d) && w.Whole < float64(total*(saturation+1)) {
		w.Behind = behind
	}
	if r.o.Explain {
		kept := w
		r.whys[d] = &kept
	}
	if w.Most == 0 {
		return rounded(0)
	}
	return rounded((float64(r.score[d])*w.Share + w.Whole) * w.Behind / w.Most)
}

// wholes returns the bonus, above any word's, for a name, title or id typed in full.
func (r *ranking) wholes(q *Query, total float32) (map[int]float32, error) {
	bonus := map[int]float32{}
	names := []string{squeeze(q.Text)}
	var rest []byte
	for _, g := range r.groups {
		if !g.common && !g.never {
			rest = append(rest, g.word...)
		}
	}
	if s := squeeze(string(rest)); s != "" && s != names[0] {
		names = append(names, s)
	}
	for i, name := range names {
		worth := total * (saturation + 1) / float32(1+i)
		err := r.postings(wholeTerm+name, func(d int, _ uint32) { bonus[d] = max(bonus[d], worth) })
		if err != nil {
			return nil, err
		}
	}
	return bonus, nil
}

// behind returns the items that serve other items, unless the query asks for such items.
func (r *ranking) behind(q *Query) (docSet, error) {
	for _, g := range r.groups {
		for _, p := range g.leaf.parts {
			switch strings.TrimSuffix(p, "s") {
			case "runtime", "primitive", "extractor", "provider", "loop", "executor", "interpreter", "config", "configuration", "setting":
				return nil, nil
			}
		}
	}
	b := newDocSet(r.size)
	return b, r.postings(runsTerm, func(d int, _ uint32) { b.add(d) })
}
