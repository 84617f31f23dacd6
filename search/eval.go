package search

import (
	"context"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// maxChecked bounds the bytes of texts that one search reads to check phrases and fields.
const maxChecked = 64 << 20

// meaning determines the documents that match a query with more than plain words.
type meaning struct {
	*ground
	sets   []docSet // by leaf: documents with one of its terms
	checks int      // bytes of texts that may still be read
}

// eval returns the documents that match a part of a query. It returns nil for plain words: there,
// any document with one of them matches.
func (m *meaning) eval(n node) (docSet, error) {
	if plain(n) {
		return nil, nil
	}
	return m.set(n)
}

func (m *meaning) set(n node) (docSet, error) {
	switch n := n.(type) {
	case nil:
		return m.everyone(), nil
	case *leaf:
		return m.leafSet(n)
	case allOf:
		return m.each(n, docSet.and)
	case anyOf:
		return m.each(n, docSet.or)
	case run:
		return m.each(n, docSet.and)
	case noneOf:
		b, err := m.set(n.of)
		if err != nil {
			return nil, err
		}
		out := m.everyone()
		out.without(b)
		return out, nil
	case mixed:
		return m.mixed(n)
	}
	return nil, fault.New(fault.Failed, "a query with %T", n)
}

// each joins the sets of several parts.
func (m *meaning) each(list []node, join func(docSet, docSet)) (out docSet, err error) {
	for i, n := range list {
		b, err := m.set(n)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out = slices.Clone(b)
		} else {
			join(out, b)
		}
	}
	return out, nil
}

func (m *meaning) mixed(n mixed) (out docSet, err error) {
	switch {
	case len(n.must) > 0:
		out, err = m.each(n.must, docSet.and)
	case len(n.words) > 0:
		out, err = m.each(n.words, docSet.or)
	default:
		out = m.everyone()
	}
	for _, x := range n.never {
		if err != nil {
			return nil, err
		}
		var b docSet
		if b, err = m.set(x); err == nil {
			out.without(b)
		}
	}
	return out, err
}

// leafSet returns the documents with a word. For a phrase or a field it also checks their texts.
func (m *meaning) leafSet(l *leaf) (docSet, error) {
	b := slices.Clone(m.sets[l.at])
	if !l.phrase && l.field == "" {
		return b, nil
	}
	if err := m.others(l, b); err != nil {
		return nil, err
	}
	c := l.newChecker(m.o.Stem)
	for d := range m.size {
		if !b.has(d) {
			continue
		}
		doc, err := m.text(l, d)
		if err != nil {
			return nil, err
		}
		if !c.in(doc) {
			b[d/64] &^= 1 << (d % 64)
		}
	}
	return b, nil
}

// text returns the parts of a document that a leaf needs.
func (m *meaning) text(l *leaf, d int) (*Doc, error) {
	at := m.at(d)
	if l.field != "" && l.field != Body {
		return m.head(&Hit{Layer: at.layer, Doc: at.doc})
	}
	doc, err := m.layers[at.layer].Doc(at.doc)
	if err != nil {
		return nil, err
	}
	if m.checks -= len(doc.Body) + 200; m.checks < 0 {
		return nil, fault.New(fault.Limit, "query: more than %d bytes of text would have to be looked at for %q", maxChecked, words.Brief(l.text)).Advise("say more, or less: a scope or a kind")
	}
	if err := m.ctx.Err(); err != nil {
		return nil, context.Cause(m.ctx)
	}
	return doc, nil
}

// others removes the documents that have only the first word of a phrase, so that their texts need
// not be read.
func (m *meaning) others(l *leaf, b docSet) error {
	if !l.phrase || l.wild {
		return nil
	}
	for _, p := range l.parts[1:] {
		var g group
		(&speller{m.ground}).word(&g, p, 1, "exact")
		has := newDocSet(m.size)
		for _, f := range g.forms {
			if err := m.postings(f.term, func(d int, _ uint32) { has.add(d) }); err != nil {
				return err
			}
		}
		b.and(has)
	}
	return nil
}
