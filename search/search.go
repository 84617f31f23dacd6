// Package search finds items: it parses a query, says which words of an item are searched, and
// ranks what was found. It reads nothing; callers hand it sources of terms (an index, or Mem) and
// the texts of the few items that have to be looked at.
//
//	Parse     a query, in RYE OS's language
//	Analyzer  the terms of an item, by which it is found
//	Source    the terms of many: an index, or Mem
//	Rank      which items a query means, best first, and why
//
// docs/format/search.md says what is found and in which order.
package search

// Doc is what of one item is searched.
type Doc struct {
	ID     string // kind:id
	Fields []Text // name, title, description …, and what an extractor asks for
	Body   string // the text itself
	Runs   bool   // it is there for other items: a runtime, a primitive, an extractor, configuration
}

// Text is a field.
type Text struct{ Name, Value string }

// field returns the text of a field; "" when there is none.
func (d *Doc) field(name string) string {
	if name == Body {
		return d.Body
	}
	for _, f := range d.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Body is the name of the field that is the item's own text.
const Body = "body"

// Weights say how much a hit in each field counts, heaviest first. They come from extractor
// items (docs/format/extractor.md). A field without a weight is not searched.
type Weights []Weight

// Weight is a field and how much it counts: above 0.
type Weight struct {
	Field  string
	Weight float64
}

// Source is one layer of documents, numbered from 0, and the terms in them. It does not change.
type Source interface {
	Len() int

	// Postings visits the documents that have a term, ascending, with how much of it they
	// have, until visit returns false.
	Postings(term string, visit func(doc int, n uint32) bool) error

	// Dictionary visits the terms that begin with prefix, sorted, until visit returns false.
	Dictionary(prefix string, visit func(term string) bool) error
}

// Layer is a source with what a search needs to know of its documents. Visible and Order are asked
// often, Doc only of documents whose text has to be looked at.
type Layer struct {
	Source  Source
	Rank    int                         // lower comes first among equals
	Visible func(doc int) bool          // what is not counts nowhere; nil is all
	Order   func(doc int) int           // breaks ties: its place among all documents of layers of this rank
	Head    func(doc int) (*Doc, error) // its fields, where those are had without the text; nil is Doc
	Doc     func(doc int) (*Doc, error) // its text
}

// Hit is a document that a query means.
type Hit struct {
	Layer, Doc int
	Score      float64 // above 0 and at most 1
	Guess      bool    // found only by words that are near those of the query
	Why        *Why    // where Options ask for it
}

// Ranking is what a query means.
type Ranking struct {
	Hits    []Hit    // best first: as many as were asked for
	Total   int      // documents that are meant
	AtLeast bool     // there may be more: a bound was met
	Nearest []string // words that were taken for those that occur nowhere
	Groups  []Group  // how each word was understood

	said *saying // made when it is shown
}

// Group is a word of the query with all that counts as it.
type Group struct {
	Word  string
	Field string // in which it was asked for; "" for any
	Forms []Form
	Docs  int     // that have one of them
	IDF   float64 // how rare that is
}

// Form is one term that counts as a word of the query.
type Form struct {
	Term   string
	Weight float64 // 1 for the word itself
	Kind   string  // exact, stem, joined, synonym, prefix, near
}
