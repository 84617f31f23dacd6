package search

// Doc is the searchable part of one item.
type Doc struct {
	ID     string // kind:id
	Fields []Text // name, title, description …, and fields that an extractor adds
	Body   string // the text itself
	Runs   bool   // it serves other items: a runtime, a primitive, an extractor, configuration
}

// Text is a field.
type Text struct{ Name, Value string }

// field returns the text of a field; "" if there is none.
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

// Body is the name of the field with the item's own text.
const Body = "body"

// Weights are the weights of the fields, heaviest first. They come from extractor items
// (docs/format/extractor.md). A field without a weight is not searched.
type Weights []Weight

// Weight is a field and its weight, above 0.
type Weight struct {
	Field  string
	Weight float64
}

// Source is one layer of documents, numbered from 0, with their terms. It does not change.
type Source interface {
	Len() int

	// Postings visits the documents with a term in ascending order, with the term's frequency,
	// until visit returns false.
	Postings(term string, visit func(doc int, n uint32) bool) error

	// Dictionary visits the terms that begin with prefix, sorted, until visit returns false.
	Dictionary(prefix string, visit func(term string) bool) error
}

// Layer is a source with access to its documents. Visible and Order are called often, Doc only for
// documents whose text must be read.
type Layer struct {
	Source  Source
	Rank    int                         // lower comes first among equals
	Visible func(doc int) bool          // reports visible documents; others have no effect; nil: all
	Order   func(doc int) int           // breaks ties: its place among all documents in layers of this rank
	Head    func(doc int) (*Doc, error) // its fields, if available without the text; nil: Doc
	Doc     func(doc int) (*Doc, error) // its fields and text
}

// Hit is a document that matches a query.
type Hit struct {
	Layer, Doc int
	Score      float64 // above 0 and at most 1
	Guess      bool    // found only by words similar to the query's
	Why        *Why    // set if Options.Explain is
}

// Ranking is the result of a query.
type Ranking struct {
	Hits    []Hit    // best first, up to Options.Most
	Total   int      // number of matching documents
	AtLeast bool     // there may be more: a bound was reached
	Nearest []string // words that replaced unknown ones
	Groups  []Group  // how each word was matched
	Loose   string   // why the words of the query were searched, and not the query as it is written

	said *saying // made on first display
}

// Group is a word of the query with all its forms.
type Group struct {
	Word  string
	Field string // field given in the query; "" for any
	Forms []Form
	Docs  int     // documents with one of them
	IDF   float64 // their rarity
}

// Form is one term that matches a word of the query.
type Form struct {
	Term   string
	Weight float64 // 1 for the word itself
	Kind   string  // exact, stem, joined, synonym, prefix, near
}
