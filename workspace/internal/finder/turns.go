package finder

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Turns are the transcripts of threads that one caller may see. The keeper of the threads hands
// them in; this package reads queries and orders results as it does for items.
type Turns struct {
	Listing *search.Listing
	Layer   func(search.Part) search.Layer
	Show    func(entry int, r *search.Ranking) (hit rye.TurnHit, ok bool) // not ok for a turn that changed meanwhile
	Notes   []string
	Hint    func([]rye.TurnHit) fault.Hint // the next step for the found turns
}

// TurnsRequest asks for transcripts.
type TurnsRequest struct {
	Fields    bool                  // the query names one of turnFields, so a turn has to have them
	Directive func(objects.ID) bool // the directives whose threads are wanted
	Stem      func(word string) string
	Say       func(text string)
}

// turnFields may stand before a colon in a query.
var turnFields = []string{"directive", "status", "thread", search.Body}

// OfThreads reports whether a request is for transcripts.
func OfThreads(q rye.SearchRequest) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(q.Scope, "rye.search."), ".")
	return q.Kind == rye.KindThread || kind == rye.KindThread
}

// OpenTurns opens the transcripts that a caller may see.
type OpenTurns func(context.Context, rye.Caller, TurnsRequest) (*Turns, error)

// Threads searches the transcripts that OpenTurns gives for the caller, who must be allowed to
// search them. It finds turns of threads whose directives are in the scope and in the
// caller's capabilities.
func (f *Finder) Threads(ctx context.Context, s *session.Session, c rye.Caller, q rye.SearchRequest) (*rye.SearchResult, error) {
	defer f.rest.begin(f.Rest)()
	may, err := searchableTurns(s, c, q)
	if err != nil {
		return nil, err
	}
	query := search.Read(plain(q.Query), turnFields)
	if f.index == nil || f.turns == nil {
		return nil, fault.New(fault.Failed, "search transcripts: %w", rye.WordlessError{}).Advise("rye search --kind thread, which runs it in rye-engine")
	}
	lower := strings.ToLower(q.Query)
	turns, err := f.turns(ctx, c, TurnsRequest{Directive: may, Stem: f.index.Stem, Say: s.Say,
		Fields: slices.ContainsFunc(turnFields, func(name string) bool { return strings.Contains(lower, name+":") })})
	if err != nil {
		return nil, err
	}
	if query.Every() {
		return turns.every(q), nil
	}
	for try := 0; ; try++ {
		res, err := f.rankTurns(ctx, s, turns, q, query)
		var damaged *search.DamagedError
		if try > 2 || !errors.As(err, &damaged) {
			return res, err
		}
	}
}

// searchableTurns returns a filter for the directives whose threads are searched.
func searchableTurns(s *session.Session, c rye.Caller, q rye.SearchRequest) (func(objects.ID) bool, error) {
	if q.Space != "" && q.Space != "all" {
		return nil, fault.New(fault.Usage, "search --space %s: threads are in no space", q.Space).Advise("leave it out")
	}
	in, err := scopeOfTurns(q)
	if err != nil {
		return nil, err
	}
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	asked := session.RequestFor(c, "search", objects.Ref{Kind: rye.KindThread})
	may, d := rules.Searching(asked)
	if err := d.Err(asked); err != nil {
		return nil, err
	}
	return func(id objects.ID) bool { return in.holds(id) && (may == nil || may(id)) }, nil
}

// scopeOfTurns is parseScope for threads: thread.acme.* means the directives below acme.
func scopeOfTurns(q rye.SearchRequest) (scope, error) {
	rest, _ := strings.CutPrefix(strings.TrimPrefix(q.Scope, "rye.search."), rye.KindThread)
	if q.Kind != "" && q.Kind != rye.KindThread || q.Scope != "" && rest == q.Scope {
		return scope{}, fault.New(fault.Usage, "scope %q and kind %q disagree", q.Scope, q.Kind)
	}
	in, err := parseScope(rye.SearchRequest{Scope: "directive" + rest})
	in.kind = rye.KindThread
	return in, err
}

// rankTurns answers a query from an index of the turns, and from turns that it lacks so far.
func (f *Finder) rankTurns(ctx context.Context, s *session.Session, turns *Turns, q rye.SearchRequest, query *search.Query) (*rye.SearchResult, error) {
	words, notes := f.words.words(ctx, s, f.index.Stem)
	o := search.Options{Stem: f.index.Stem, Words: words, Explain: q.Explain, Most: max(q.Offset, 0) + limitOf(q)}
	opened, err := f.index.Open(ctx, turns.Listing)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var layers []search.Layer
	for _, p := range opened.Parts {
		layers = append(layers, turns.Layer(p))
	}
	rank := query.Find
	if query.Fielded() {
		rank = query.Rank // status:killed asks for such threads and no others
	}
	r, err := rank(ctx, layers, o)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, h := range r.Hits {
		found = append(found, int(opened.Parts[h.Layer].Entry[h.Doc]))
	}
	res := turns.page(q, r, found)
	res.AtLeast, res.Nearest, res.Loose, res.Notes = r.AtLeast, r.Nearest, r.Loose, slices.Concat(notes, res.Notes, opened.Notes)
	if q.Explain {
		res.Words = understood(r)
	}
	return res, nil
}

// every answers a query without words: all turns, the newest first. It needs no index.
func (t *Turns) every(q rye.SearchRequest) *rye.SearchResult {
	var all []int
	part := search.Part{Entry: make([]int32, t.Listing.Len)}
	for i := range part.Entry {
		part.Entry[i] = int32(i)
	}
	l := t.Layer(part)
	for i := t.Listing.Len - 1; i >= 0; i-- {
		if l.Visible(i) {
			all = append(all, i)
		}
	}
	r := &search.Ranking{Total: len(all)}
	r.Hits = slices.Repeat([]search.Hit{{Score: 1}}, len(all))
	return t.page(q, r, all)
}

// page shows the requested part of the found turns; found are the entries of the hits.
func (t *Turns) page(q rye.SearchRequest, r *search.Ranking, found []int) *rye.SearchResult {
	res := &rye.SearchResult{Query: q.Query, Limit: limitOf(q), Offset: q.Offset, Results: []rye.Hit{}, Total: r.Total, Notes: slices.Clone(t.Notes)}
	from := min(max(q.Offset, 0), len(found))
	for i, entry := range found[from:min(from+res.Limit, len(found))] {
		hit, ok := t.Show(entry, r)
		if !ok {
			res.Notes = append(res.Notes, "a turn is left out: its journal changed while it was read")
			continue
		}
		h := r.Hits[from+i]
		hit.Score, hit.Guess, hit.Why = h.Score, h.Guess, whyOf(h.Why)
		res.Turns = append(res.Turns, hit)
	}
	res.Hint = t.Hint(res.Turns)
	return res
}
