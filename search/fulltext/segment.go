package fulltext

import (
	index "github.com/blevesearch/bleve_index_api"

	"github.com/rye-os/rye/search"
)

// Documents are given to bleve as they are to lie in the index: one field, in which each term
// stands with how much of it there is. Nothing is stored, and nothing analysed again.

// termsField is the field. The id that bleve wants of each document is empty: rows say it.
const termsField = "t"

// document is one of an index that is being built.
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

// AnalyzedLength is what bleve keeps beside each term for its own ranking; we have ours, and
// one byte is the least.
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
