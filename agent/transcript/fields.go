package transcript

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/search"
)

// The directive, the status and the id of a thread are not words of its turns: the status changes
// while the turns stay the same, and the directive's name would find every turn. So an index has
// none of them, and they are added to the source of a query that names a field.

// fielded is a source with these fields added.
type fielded struct {
	search.Source
	docs  map[string][]int // documents that have a term because of their thread, ascending
	terms []string         // sorted
}

// withFields adds the words of the fields to a part.
func (s *Shelf) withFields(p search.Part, v View) search.Source {
	an := search.Analyzer{Stem: s.o.Stem, Weights: search.Weights{{Field: "directive", Weight: 1}, {Field: "status", Weight: 1}, {Field: "thread", Weight: 1}}}
	of := map[*Thread][]search.Term{}
	f := &fielded{Source: p.Source, docs: map[string][]int{}}
	for doc, entry := range p.Entry {
		if entry < 0 {
			continue
		}
		t := s.spots[entry].thread
		terms, ok := of[t]
		if !ok {
			if v.Sees(t, false) { // Status is asked only for threads that the view shows
				terms = an.Terms(head(t, v))
			}
			of[t] = terms
		}
		for _, term := range terms {
			f.docs[term.Text] = append(f.docs[term.Text], doc)
		}
	}
	for term := range f.docs {
		f.terms = append(f.terms, term)
	}
	slices.Sort(f.terms)
	return f
}

// Postings visits the documents of the source and of the fields, ascending, each once.
func (f *fielded) Postings(term string, visit func(doc int, n uint32) bool) error {
	more, ours := true, f.docs[term]
	err := f.Source.Postings(term, func(doc int, n uint32) bool {
		for more && len(ours) > 0 && ours[0] < doc {
			more, ours = visit(ours[0], search.Unit), ours[1:]
		}
		if len(ours) > 0 && ours[0] == doc {
			ours = ours[1:]
		}
		more = more && visit(doc, n)
		return more
	})
	for ; err == nil && more && len(ours) > 0; ours = ours[1:] {
		more = visit(ours[0], search.Unit)
	}
	return err
}

// Dictionary visits the terms of the source and of the fields, sorted, each once.
func (f *fielded) Dictionary(prefix string, visit func(term string) bool) error {
	at, _ := slices.BinarySearch(f.terms, prefix)
	ours, more := f.terms[at:], true
	next := func(before string) bool {
		return len(ours) > 0 && strings.HasPrefix(ours[0], prefix) && (before == "" || ours[0] < before)
	}
	err := f.Source.Dictionary(prefix, func(term string) bool {
		for more && next(term) {
			more, ours = visit(ours[0]), ours[1:]
		}
		if len(ours) > 0 && ours[0] == term {
			ours = ours[1:]
		}
		more = more && visit(term)
		return more
	})
	for ; err == nil && more && next(""); ours = ours[1:] {
		more = visit(ours[0])
	}
	return err
}
