package look

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Search finds items by what they say about themselves, in every space or in one, each ref
// once, among those that the caller may search. Items that may not be used are found too,
// with their state. Package search reads the query; the scope is read here.
func Search(ctx context.Context, s *session.Session, c rye.Caller, q rye.SearchRequest) (res *rye.SearchResult, err error) {
	in, err := parseScope(q)
	if err != nil {
		return nil, err
	}
	if _, err := search.Parse(q.Query); err != nil {
		return nil, err // before anything is read
	}
	kinds, err := searchable(s, c, in.kind)
	if err != nil {
		return nil, err
	}
	if _, err := extractors(ctx, s); err != nil {
		return nil, err
	}
	looks, err := looks(ctx, s, q.Space)
	if err != nil {
		return nil, err
	}
	weights, fields, err := weights(ctx, s) // has the library's from the look at it
	if err != nil {
		return nil, err
	}
	query, err := search.Parse(q.Query, fields...)
	if err != nil {
		return nil, err
	}
	docs, from := documents(looks, weights, func(ref objects.Ref) bool {
		may, ok := kinds[ref.Kind]
		return ok && in.holds(ref.ID) && (may == nil || may(ref.ID))
	})
	res = page(q, search.Rank(query, docs), func(i int) rye.ItemInfo { return describeIn(looks, from[i]) })
	if res.Total == 0 {
		res.Hint = meant(q.Query, docs)
	}
	if q.Params {
		err = takes(ctx, s, res.Results[:min(len(res.Results), rye.MaxSearchParams)])
	}
	return res, err
}

// takes says what each hit takes, of those that may be used: what nobody vouches for may say
// what it likes of itself.
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
			hits[i].Params = Parameters(f.Item)
		}
	}
	return nil
}

// spot is where an item was found: which look, and which row of it.
type spot struct{ look, row int }

// documents makes one document for each ref that is wanted, of the highest space
// that holds it.
func documents(looks []*space.Look, weights map[objects.Kind]search.Weights, want func(objects.Ref) bool) (docs []search.Doc, from []spot) {
	for n, k := range looks {
		var last objects.Ref
		for i := range k.Len() {
			r := k.Row(i)
			if r.Ref == last || r.Ref.Kind == "" || !want(r.Ref) {
				continue // a second file of that ref, a name that is no item
			}
			last = r.Ref
			if slices.ContainsFunc(looks[:n], func(above *space.Look) bool { return above.Holds(r.Ref) }) {
				continue
			}
			d := search.Doc{ID: r.Ref.String(), Name: r.Name, Title: r.Title, Description: r.Description,
				Category: r.Category, Tags: r.Tags, Rank: int(objects.Project - r.Space), Weights: weights[r.Ref.Kind]}
			for _, t := range r.More {
				d.More = append(d.More, search.Text(t))
			}
			docs = append(docs, d)
			from = append(from, spot{n, i})
		}
	}
	return docs, from
}

// describeIn describes the row at a spot, with the spaces below that hold its ref too.
func describeIn(looks []*space.Look, at spot) rye.ItemInfo {
	r := looks[at.look].Row(at.row)
	it := describe(r)
	for _, below := range looks[at.look+1:] {
		if below.Holds(r.Ref) {
			it.Shadows = append(it.Shadows, below.Row(0).Space.String())
		}
	}
	return it
}

// searchable returns the kinds that the caller may search, out of those asked for, each with
// a function that says which of its items; nil for all of them.
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

// scope is the part of the items that a search is about.
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
	in.kind, err = objects.ParseKind(kind)
	return in, err
}

// holds compares whole segments: the scope acme.core does not hold acme/core2.
func (s scope) holds(id objects.ID) bool {
	return s.prefix == "" || string(id) == s.prefix || strings.HasPrefix(string(id), s.prefix+"/")
}

// extractors returns the rules by which items are listed here: the project's, else
// the user's; nil when those of the standard library hold for every kind.
func extractors(ctx context.Context, s *session.Session) (*extract.Set, error) {
	return s.Stack.Extractors(ctx, objects.Project)
}

// weights returns how much each field of a kind counts in a search, and the fields
// that may be asked for by name besides the usual.
func weights(ctx context.Context, s *session.Session) (map[objects.Kind]search.Weights, []string, error) {
	set, err := extractors(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	all, more := map[objects.Kind]search.Weights{}, []string(nil)
	for _, k := range objects.Kinds {
		r := set.For(k)
		if r == nil || r.Weights == nil {
			if r, err = s.Stack.Shipped(k); err != nil {
				return nil, nil, err
			}
		}
		for _, w := range r.Weights {
			if w.Field == "content" || w.Field == "body" {
				continue // of the text itself, which the catalogue does not have
			}
			all[k] = append(all[k], search.Weight{Field: w.Field, Weight: w.Weight})
			more = append(more, w.Field)
		}
	}
	return all, more, nil
}

// page returns the part of what was found that was asked for.
func page(q rye.SearchRequest, found []search.Match, item func(int) rye.ItemInfo) *rye.SearchResult {
	if q.Limit <= 0 {
		q.Limit = 10
	}
	res := &rye.SearchResult{Query: q.Query, Total: len(found), Limit: q.Limit, Offset: q.Offset, Results: []rye.Hit{}}
	for _, m := range found[min(max(q.Offset, 0), len(found)):] {
		if len(res.Results) == q.Limit {
			break
		}
		res.Results = append(res.Results, rye.Hit{ItemInfo: item(m.Index), Score: m.Score, Match: m.Fields})
	}
	return res
}
