package search

import "strings"

// Place is where a document has a word of a query.
type Place struct {
	Field      string
	Word       string // of the query
	Start, End int    // bytes of the field
	Line       int    // of the field, from 1
}

// Places returns up to most places where a document has words of the query, field by field. It is
// for display: a place is a word in one of its matched forms.
func (r *Ranking) Places(d *Doc, stem func(string) string, most int) (places []Place) {
	s := r.saying(stem)
	in := func(name, text string) {
		line, counted := 1, 0
		s.each(text, func(group, start, end int) bool {
			if len(places) >= most {
				return false
			}
			line += strings.Count(text[counted:start], "\n")
			counted = start
			places = append(places, Place{name, r.Groups[group].Word, start, end, line})
			return true
		})
	}
	for _, f := range d.Fields {
		in(f.Name, f.Value)
	}
	in(Body, d.Body)
	return places
}
