// Package finder searches the spaces, and keeps between searches everything that did not
// change.
//
// # Reasons
//
// A search lists files as `rye status` does and compares digests, so no answer is stale.
// Watchers miss changes while no process watches, on network file systems, and through
// memory maps.
//
// A server listens and a command asks. inotify tells of a change before the call that
// makes it returns, so an empty queue is as good as 10,000 questions about files. It
// misses some changes, so only local file systems are listened to, and after two seconds
// all files are asked about nevertheless. Nothing is decided by a look: items that are
// loaded or run are read and verified each time.
//
// Transcripts are one layer of turns: a segment for each thread would be a thousand files
// to open. A turn is the document, so that a hit names its place, and because a running
// thread grows at its end only. The journals are the source and not the branches, which
// lag by up to 32 turns. A thread does not find its own open turn, or each search would
// find its own question.
package finder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Finder searches. It holds the index, and data that searches share. It is safe for concurrent
// use.
type Finder struct {
	index   search.Index // nil where none was handed in: then it searches no words
	turns   OpenTurns    // nil where no threads are known
	words   known
	weights weights
	system  shipped
	watched watched
	shapes  shapes
	rest    rest
}

// New returns a Finder over an index and over the transcripts of threads; both may be nil.
func New(index search.Index, turns OpenTurns) *Finder { return &Finder{index: index, turns: turns} }

// Search finds items by their whole text, in every space or in one, each ref once, among the
// items that the caller may search. It also finds items that may not be used, with their
// state. Package search parses the query and ranks; Search parses the scope.
func (f *Finder) Search(ctx context.Context, s *session.Session, c rye.Caller, q rye.SearchRequest) (*rye.SearchResult, error) {
	defer f.rest.begin(f.Rest)()
	a, err := f.understand(ctx, s, c, q)
	if err != nil {
		return nil, err // before the spaces are read
	}
	if !a.query.Every() && f.index == nil {
		return nil, wordless(q)
	}
	looks, err := f.looks(ctx, s, q.Space)
	if err != nil {
		return nil, err
	}
	at := newGround(s, a.weights, f.shapes.of(s, a.weights, looks, a.want), f.stem())
	res, err := f.find(ctx, at, q, a.query)
	if err == nil && q.Params {
		err = takes(ctx, s, res.Results[:min(len(res.Results), rye.MaxSearchParams)])
	}
	return res, err
}

// asked is the meaning of a request, for any place to search.
type asked struct {
	want    func(objects.Ref) bool // nil: every item
	weights *weighing
	query   *search.Query
}

func (f *Finder) understand(ctx context.Context, s *session.Session, c rye.Caller, q rye.SearchRequest) (a asked, err error) {
	in, err := parseScope(q)
	if err != nil {
		return a, err
	}
	kinds, err := searchable(s, c, in.kind)
	if err != nil {
		return a, err
	}
	a.want = in.wants(kinds)
	if a.weights, err = f.weights.of(ctx, s); err != nil {
		return a, err
	}
	a.query = search.Read(plain(q.Query), a.weights.fields)
	return a, nil
}

// wordless refuses a query with words where there is no index.
func wordless(q rye.SearchRequest) error {
	return fault.New(fault.Failed, "search %q: %w", q.Query, rye.WordlessError{}).Advise("rye search, which runs them in rye-engine")
}

// wants returns a filter for the searched items; nil for all of them.
func (in scope) wants(kinds map[objects.Kind]func(objects.ID) bool) func(objects.Ref) bool {
	all := in == scope{} && len(kinds) == len(objects.Kinds)
	for _, may := range kinds {
		all = all && may == nil
	}
	if all {
		return nil
	}
	return func(ref objects.Ref) bool {
		may, ok := kinds[ref.Kind]
		return ok && in.holds(ref.ID) && (may == nil || may(ref.ID))
	}
}

// stem is the index's function; nil without an index.
func (f *Finder) stem() func(string) string {
	if f.index == nil {
		return nil
	}
	return f.index.Stem
}

// find ranks, and repeats this when an index proves to be damaged.
func (f *Finder) find(ctx context.Context, at *ground, q rye.SearchRequest, query *search.Query) (*rye.SearchResult, error) {
	if query.Every() {
		res, cut := at.all()
		return page(q, res, cut), nil
	}
	for try := 0; ; try++ {
		res, err := f.rank(ctx, at, q, query)
		var damaged *search.DamagedError
		if try > 2 || !errors.As(err, &damaged) {
			return res, err
		}
	}
}

// takes adds the parameters to each hit that may be used. An untrusted item could claim
// anything about itself.
func takes(ctx context.Context, s *session.Session, hits []rye.Hit) error {
	for i := range hits {
		ref, err := objects.ParseRef(hits[i].Ref)
		in, serr := objects.ParseSpace(hits[i].Space)
		if err != nil || serr != nil || hits[i].State != objects.Signed {
			continue
		}
		f, ok, err := s.Stack.In(ctx, in, ref)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ok && err == nil && f.Err == nil && f.Item != nil && f.Item.Sum.String() == hits[i].SHA256 { // else it changed just now
			hits[i].Params = look.Parameters(f.Item)
		}
	}
	return nil
}

// plain returns "" for a query of wildcards that matches everything anyway.
func plain(query string) string {
	if strings.Trim(query, " *") == "" {
		return ""
	}
	return query
}

// rank answers a query with words.
func (f *Finder) rank(ctx context.Context, at *ground, q rye.SearchRequest, query *search.Query) (*rye.SearchResult, error) {
	words, notes := f.words.words(ctx, at.s, f.index.Stem)
	o := search.Options{Stem: f.index.Stem, Words: words, Explain: q.Explain, Most: max(q.Offset, 0) + limitOf(q)}
	var layers []search.Layer
	var spots []func(doc int) spot
	for _, b := range at.shelves {
		opened, err := f.index.Open(ctx, at.listing(b))
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		notes = append(notes, opened.Notes...)
		for _, p := range opened.Parts {
			layers = append(layers, at.layer(b, p))
			spots = append(spots, func(doc int) spot { return b.spot(p, doc) })
		}
	}
	r, err := query.Find(ctx, layers, o)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, h := range r.Hits {
		found = append(found, finding{spots[h.Layer](h.Doc), h})
	}
	return at.report(q, r, found, notes, f.index.Stem), nil
}

// limitOf is the number of hits on a page.
func limitOf(q rye.SearchRequest) int {
	if q.Limit <= 0 {
		return 10
	}
	return q.Limit
}

// searchable returns the kinds that the caller may search, among the requested ones, each with
// a filter for its items; nil for all of them.
func searchable(s *session.Session, c rye.Caller, asked objects.Kind) (map[objects.Kind]func(objects.ID) bool, error) {
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	kinds := map[objects.Kind]func(objects.ID) bool{}
	var refused error
	for _, k := range objects.Kinds {
		if asked != "" && asked != k {
			continue
		}
		q := session.RequestFor(c, "search", objects.Ref{Kind: k})
		may, d := rules.Searching(q)
		if d.Verdict != policy.Allow {
			refused = d.Err(q)
			continue
		}
		kinds[k] = may
	}
	if len(kinds) == 0 {
		return nil, refused
	}
	return kinds, nil
}

// scope is the part of the items to search.
type scope struct {
	kind   objects.Kind // "" is every kind
	prefix string       // whole segments of an id; "" is every id
}

// parseScope reads the kind and the scope of a request. The scope has the form of a
// capability: tool, tool.acme.*, rye.search.tool.acme.*.
func parseScope(q rye.SearchRequest) (scope, error) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(q.Scope, "rye.search."), ".")
	if q.Scope == "" {
		kind = q.Kind
	} else if q.Kind != "" && q.Kind != kind {
		return scope{}, fault.New(fault.Usage, "scope %q and kind %q disagree", q.Scope, q.Kind)
	}
	in := scope{prefix: strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(rest, "*"), "."), ".", "/")}
	if kind == "" || kind == "*" {
		return in, nil
	}
	var err error
	if in.kind, err = objects.ParseKind(kind); err != nil {
		err = fault.New(fault.Usage, "kind %q: want directive, tool, knowledge, config or thread", words.Brief(kind))
	}
	return in, err
}

// holds compares whole segments: the scope acme.core does not hold acme/core2.
func (s scope) holds(id objects.ID) bool {
	return s.prefix == "" || string(id) == s.prefix || strings.HasPrefix(string(id), s.prefix+"/")
}

// weighing is the weight of each field of a kind, and the fields that a query may name.
type weighing struct {
	of     map[objects.Kind]search.Weights
	fields []string
	key    string // digests the sources of terms other than texts
}

// usualFields may be named in a query, for every item.
var usualFields = []string{"name", "title", "description", "category", "tags", "examples", "id", search.Body}

// weights remembers the last weighing.
type weights struct {
	mu   sync.Mutex
	from objects.Digest // the extractors
	is   *weighing
}

func (h *weights) of(ctx context.Context, s *session.Session) (*weighing, error) {
	set, err := s.Stack.Extractors(ctx, objects.Project)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if from := set.Digest(); h.is == nil || h.from != from {
		w, err := weightsOf(s, set)
		if err != nil {
			return nil, err
		}
		h.from, h.is = from, w
	}
	return h.is, nil
}

// weightsOf reads the weights from the project's extractors, else from the library's.
func weightsOf(s *session.Session, set *extract.Set) (_ *weighing, err error) {
	w := &weighing{of: map[objects.Kind]search.Weights{}, fields: slices.Clone(usualFields)}
	for _, k := range objects.Kinds {
		r := set.For(k)
		if r == nil || r.Weights == nil {
			if r, err = s.Stack.Shipped(k); err != nil {
				return nil, err
			}
		}
		body := false
		for _, x := range r.Weights {
			if x.Field == "content" {
				x.Field = search.Body // its name in RYE OS
			}
			body = body || x.Field == search.Body
			w.of[k] = append(w.of[k], search.Weight{Field: x.Field, Weight: x.Weight})
			if !slices.Contains(w.fields, x.Field) {
				w.fields = append(w.fields, x.Field)
			}
		}
		if !body { // the body of an item is always searched
			w.of[k] = append(w.of[k], search.Weight{Field: search.Body, Weight: search.BodyWeight})
		}
	}
	w.key = fmt.Sprintf("%s %s %v", s.Stack.Program, set.Digest(), w.of)
	return w, nil
}

// spot is the place of a found item: its look, and its row there.
type spot struct{ look, row int }

// finding is one found item.
type finding struct {
	spot
	search.Hit
}

// all returns the searched items, the highest space first.
func (g *ground) all() (*rye.SearchResult, func(from, to int)) {
	var spots []spot
	for n, k := range g.looks {
		for i := range k.Len() {
			if g.wanted[n][i] {
				spots = append(spots, spot{n, i})
			}
		}
	}
	res := &rye.SearchResult{Total: len(spots)}
	return res, func(from, to int) {
		for _, at := range spots[min(from, len(spots)):min(to, len(spots))] {
			res.Results = append(res.Results, rye.Hit{ItemInfo: g.describe(at), Score: 1})
		}
	}
}

// page returns the requested part of all results.
func page(q rye.SearchRequest, res *rye.SearchResult, cut func(from, to int)) *rye.SearchResult {
	res.Query, res.Limit, res.Offset, res.Results = q.Query, limitOf(q), q.Offset, []rye.Hit{}
	from := max(q.Offset, 0)
	cut(from, from+res.Limit)
	return res
}

// report describes the found items, and the reasons.
func (g *ground) report(q rye.SearchRequest, r *search.Ranking, found []finding, notes []string, stem func(string) string) *rye.SearchResult {
	res := &rye.SearchResult{Total: r.Total, AtLeast: r.AtLeast, Nearest: r.Nearest, Loose: r.Loose, Notes: notes}
	if q.Explain {
		res.Words = understood(r)
	}
	if r.Total == 0 {
		res.Hint = fault.Advice("rye list")
	}
	return page(q, res, func(from, to int) {
		for _, f := range found[min(from, len(found)):min(to, len(found))] {
			h := rye.Hit{ItemInfo: g.describe(f.spot), Score: f.Score, Guess: f.Guess, Why: whyOf(f.Why)}
			g.show(&h, f.spot, r, stem)
			res.Results = append(res.Results, h)
		}
	})
}

// linesOfHit is the number of lines shown for one hit.
const linesOfHit = 3

// show adds to a hit the lines with the words.
func (g *ground) show(h *rye.Hit, at spot, r *search.Ranking, stem func(string) string) {
	t := g.lines(at)
	h.Match, h.Partly = r.FieldsOf(t.doc(), stem), t.cut
	lines := r.LinesOf(t.body, stem, linesOfHit)
	if len(lines) > 0 {
		h.Match = append(h.Match, search.Body)
	}
	for _, l := range lines {
		if !strings.Contains(l.Text, "rye:signed:") {
			h.Lines = append(h.Lines, rye.Line{Number: l.Number, Text: l.Text})
		}
	}
}

// whyOf is the report of a score's parts.
func whyOf(w *search.Why) *rye.HitWhy {
	if w == nil {
		return nil
	}
	why := &rye.HitWhy{Words: []rye.WordWhy{}, Share: w.Share, Whole: w.Whole, Behind: w.Behind, Fit: w.Again.Fit, Pairs: w.Again.Pairs, Aim: w.Again.Aim, Most: w.Most}
	for _, x := range w.Words {
		why.Words = append(why.Words, rye.WordWhy(x))
	}
	return why
}

// understood explains how each word was understood.
func understood(r *search.Ranking) (words []rye.SearchWord) {
	for _, g := range r.Groups {
		w := rye.SearchWord{Word: g.Word, Items: g.Docs, Rarity: g.IDF}
		for _, f := range g.Forms {
			w.Forms = append(w.Forms, rye.SearchForm{Form: f.Term, Kind: f.Kind, Weight: f.Weight})
		}
		words = append(words, w)
	}
	return words
}

// describe describes a found item, with the spaces below that hold its ref too.
func (g *ground) describe(at spot) rye.ItemInfo {
	r := g.looks[at.look].Row(at.row)
	it := look.Describe(r)
	for _, below := range g.looks[at.look+1:] {
		if below.Holds(r.Ref) {
			it.Shadows = append(it.Shadows, below.Row(0).Space.String())
		}
	}
	return it
}
