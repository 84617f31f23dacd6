package search

import (
	"slices"
	"sort"
	"strings"
)

// Mem is a Source in memory: for changes since an index was built, or if there is no place for an
// index. It is safe for concurrent use after Done.
type Mem struct {
	docs     int
	postings map[string][]posting
	sorted   []string // the dictionary, made by Done
}

type posting struct {
	doc int
	n   uint32
}

// Add adds a document and returns its number.
func (m *Mem) Add(terms []Term) int {
	if m.postings == nil {
		m.postings = map[string][]posting{}
	}
	doc := m.docs
	for _, t := range terms {
		m.postings[t.Text] = append(m.postings[t.Text], posting{doc, t.N})
	}
	m.docs++
	return doc
}

// Done ends adding. From then on m is a Source.
func (m *Mem) Done() *Mem {
	m.sorted = make([]string, 0, len(m.postings))
	for t := range m.postings {
		m.sorted = append(m.sorted, t)
	}
	slices.Sort(m.sorted)
	return m
}

func (m *Mem) Len() int { return m.docs }

func (m *Mem) Postings(term string, visit func(doc int, n uint32) bool) error {
	for _, p := range m.postings[term] {
		if !visit(p.doc, p.n) {
			break
		}
	}
	return nil
}

func (m *Mem) Dictionary(prefix string, visit func(term string) bool) error {
	for i := sort.SearchStrings(m.sorted, prefix); i < len(m.sorted) && strings.HasPrefix(m.sorted[i], prefix); i++ {
		if !visit(m.sorted[i]) {
			break
		}
	}
	return nil
}
