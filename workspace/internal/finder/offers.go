package finder

import (
	"context"
	"errors"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Offers are the registries' offers that one caller may see. The reader of catalogues hands
// them in; this package reads queries and orders results as it does for items.
type Offers struct {
	Stalls []Stall
	Notes  []string   // how old and how complete the catalogues are
	Hint   fault.Hint // the next step where nothing is found, or there are no catalogues
}

// Stall holds the offers of one registry, sorted by search.CompareEntries.
type Stall struct {
	Name, Key string // for people, and to distinguish it from others
	Len       int
	At        func(i int) (path []byte, sum [32]byte)
	Ref       func(i int) objects.Ref
	Doc       func(i int) *search.Doc
	Shown     func(i int) bool // whether it is shown
	Show      func(i int) rye.Hit
}

// OfRegistries reports whether a request is for registries' offers.
func OfRegistries(q rye.SearchRequest) bool { return q.Space == rye.SpaceRegistry }

// Registries searches registries' offers, among the items that the caller may search. It does
// not use the network.
func (f *Finder) Registries(ctx context.Context, s *session.Session, c rye.Caller, q rye.SearchRequest, open func(context.Context) (*Offers, error)) (*rye.SearchResult, error) {
	defer f.rest.begin(f.Rest)()
	a, err := f.understand(ctx, s, c, q)
	if err != nil {
		return nil, err
	}
	offers, err := open(ctx)
	if err != nil {
		return nil, err
	}
	m := &market{Offers: offers, s: s, weights: a.weights, q: q, want: a.want}
	if len(offers.Stalls) == 0 || a.query.Every() {
		return m.every(), nil
	}
	if f.index == nil {
		return nil, wordless(q)
	}
	for try := 0; ; try++ {
		res, err := f.rankOffers(ctx, m, a.query)
		var damaged *search.DamagedError
		if try > 2 || !errors.As(err, &damaged) {
			return res, err
		}
	}
}

// market is the subject of one search for offers.
type market struct {
	*Offers
	s       *session.Session
	weights *weighing
	q       rye.SearchRequest
	want    func(objects.Ref) bool // nil for all
}

// visible reports whether an offer is searched.
func (m *market) visible(b *Stall, i int) bool {
	return b.Shown(i) && (m.want == nil || m.want(b.Ref(i)))
}

// position is the place of an offer: its stall, and its index there.
type position struct{ stall, at int }

// every answers a query without words. It needs no index.
func (m *market) every() *rye.SearchResult {
	var all []position
	for n := range m.Stalls {
		for i := range m.Stalls[n].Len {
			if m.visible(&m.Stalls[n], i) {
				all = append(all, position{n, i})
			}
		}
	}
	res := &rye.SearchResult{Total: len(all), Notes: m.Notes}
	if len(all) == 0 {
		res.Hint = m.Hint
	}
	return page(m.q, res, func(from, to int) {
		for _, p := range all[min(from, len(all)):min(to, len(all))] {
			h := m.Stalls[p.stall].Show(p.at)
			h.Score = 1
			res.Results = append(res.Results, h)
		}
	})
}

// listing is a stall as an index sees it.
func (m *market) listing(b *Stall, an map[objects.Kind]*search.Analyzer) *search.Listing {
	return &search.Listing{Name: b.Name, Key: "offers\n" + b.Key + "\n" + m.weights.key, Len: b.Len, Say: m.s.Say, At: b.At,
		Terms: func(i int) ([]search.Term, bool, error) { return an[b.Ref(i).Kind].Terms(b.Doc(i)), true, nil }}
}

// layer is a part of a stall as the ranking sees it.
func (m *market) layer(n int, p search.Part) search.Layer {
	b := &m.Stalls[n]
	entry := func(doc int) int { return int(p.Entry[doc]) }
	return search.Layer{Source: p.Source, Rank: n,
		Visible: func(doc int) bool { return p.Entry[doc] >= 0 && m.visible(b, entry(doc)) },
		Order:   entry,
		Doc:     func(doc int) (*search.Doc, error) { return b.Doc(entry(doc)), nil },
	}
}

// rankOffers answers a query with words.
func (f *Finder) rankOffers(ctx context.Context, m *market, query *search.Query) (*rye.SearchResult, error) {
	words, notes := f.words.words(ctx, m.s, f.index.Stem)
	an := map[objects.Kind]*search.Analyzer{}
	for k, of := range m.weights.of {
		an[k] = &search.Analyzer{Stem: f.index.Stem, Weights: of}
	}
	var layers []search.Layer
	var places []func(doc int) position
	for n := range m.Stalls {
		opened, err := f.index.Open(ctx, m.listing(&m.Stalls[n], an))
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		notes = append(notes, opened.Notes...)
		for _, p := range opened.Parts {
			layers = append(layers, m.layer(n, p))
			places = append(places, func(doc int) position { return position{n, int(p.Entry[doc])} })
		}
	}
	r, err := query.Find(ctx, layers, search.Options{Stem: f.index.Stem, Words: words, Explain: m.q.Explain, Most: max(m.q.Offset, 0) + limitOf(m.q)})
	if err != nil {
		return nil, err
	}
	res := &rye.SearchResult{Total: r.Total, AtLeast: r.AtLeast, Nearest: r.Nearest, Loose: r.Loose, Notes: append(notes, m.Notes...)}
	if m.q.Explain {
		res.Words = understood(r)
	}
	if r.Total == 0 {
		res.Hint = m.Hint
	}
	return page(m.q, res, func(from, to int) {
		for _, found := range r.Hits[min(from, len(r.Hits)):min(to, len(r.Hits))] {
			p := places[found.Layer](found.Doc)
			h := m.Stalls[p.stall].Show(p.at)
			h.Score, h.Guess, h.Why = found.Score, found.Guess, whyOf(found.Why)
			h.Match = r.FieldsOf(m.Stalls[p.stall].Doc(p.at), f.index.Stem)
			res.Results = append(res.Results, h)
		}
	}), nil
}
