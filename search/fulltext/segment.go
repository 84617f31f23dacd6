package fulltext

import (
	index "github.com/blevesearch/bleve_index_api"

	"github.com/rye-os/rye/search"
)

// bleve receives documents as the index stores them: one field, with each term and its frequency.
// Nothing is stored, and nothing is analysed again.

// termsField is the field. bleve wants an id for each document; it is empty, because rows have it.
const termsField = "t"

// document is a document of an index under construction.
type document struct{ terms []search.Term }

func (d *document) ID() string                                 { return "" }
func (d *document) Size() int                                  { return 0 }
func (d *document) HasComposite() bool                         { return false }
func (d *document) VisitComposite(index.CompositeFieldVisitor) {}
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }
func (d *document) AddIDField()                                {}

func (d *document) VisitFields(visit index.FieldVisitor) {
	visit(&field{name: "_id", options: index.IndexField | index.StoreField})
	visit(&field{name: termsField, options: index.IndexField, terms: d.terms})
}

type field struct {
	name    string
	options index.FieldIndexingOptions
	terms   []search.Term
}

func (f *field) Name() string                        { return f.name }
func (f *field) Value() []byte                       { return nil }
func (f *field) ArrayPositions() []uint64            { return nil }
func (f *field) EncodedFieldType() byte              { return 't' }
func (f *field) Analyze()                            {}
func (f *field) Options() index.FieldIndexingOptions { return f.options }
func (f *field) NumPlainTextBytes() uint64           { return 0 }

// AnalyzedLength is stored with each term for bleve's own ranking, which rye does not use. One byte
// is the minimum.
func (f *field) AnalyzedLength() int { return 1 }

func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies {
	all := make(index.TokenFrequencies, len(f.terms))
	store := make([]index.TokenFreq, len(f.terms))
	for i, t := range f.terms {
		store[i].SetFrequency(int(t.N))
		all[t.Text] = &store[i]
	}
	return all
}
