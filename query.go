package rye

import (
	"context"
	"strings"

	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/internal/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/search"
)

// Search finds items by what they say about themselves, in every space or in one,
// each ref once. Items that may not be used are found too, with their state.
func (r *Rye) Search(ctx context.Context, c Caller, q SearchRequest) (*SearchResult, error) {
	kind, prefix, err := parseScope(q)
	if err != nil {
		return nil, err
	}
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	query, err := search.Parse(q.Query)
	if err != nil {
		return nil, err
	}
	kinds, err := s.searchable(c, kind)
	if err != nil {
		return nil, err
	}
	all, err := s.catalogue(ctx, q.Space)
	if err != nil {
		return nil, err
	}
	var (
		docs []search.Doc
		from []ItemInfo
	)
	for _, it := range all {
		may, ok := kinds[it.Kind]
		if ok && inScope(it.ID, prefix) && (may == nil || may(objects.ID(it.ID))) {
			docs = append(docs, doc(it))
			from = append(from, it)
		}
	}
	return page(q, search.Rank(query, docs), from), nil
}

func doc(it ItemInfo) search.Doc {
	rank := map[string]int{"project": 0, "user": 1, "system": 2}[it.Space]
	return search.Doc{ID: it.Ref, Name: it.Name, Title: it.Title, Description: it.Description,
		Category: it.Category, Tags: it.Tags, Rank: rank}
}

// searchable returns the kinds that the caller may search, out of those asked for,
// each with what says which of its items; nil for all of them.
func (s *session) searchable(c Caller, asked string) (map[string]func(objects.ID) bool, error) {
	rules, err := s.rules()
	if err != nil {
		return nil, err
	}
	kinds := map[string]func(objects.ID) bool{}
	var refused error
	for _, k := range objects.Kinds {
		if asked != "" && asked != string(k) {
			continue
		}
		q, err := request(c, "search", objects.Ref{Kind: k})
		if err != nil {
			return nil, err
		}
		may, d := rules.Searching(q)
		if d.Verdict != policy.Allow {
			refused = d.Err(q)
			continue
		}
		kinds[string(k)] = may
	}
	if len(kinds) == 0 && refused != nil {
		return nil, refused
	}
	return kinds, nil
}

// parseScope reads the capability form: tool, tool.acme.*, rye.search.tool.acme.*.
func parseScope(q SearchRequest) (kind, prefix string, err error) {
	kind = q.Kind
	if q.Scope != "" {
		scope := strings.TrimPrefix(q.Scope, "rye.search.")
		first, rest, _ := strings.Cut(scope, ".")
		if kind != "" && kind != first {
			return "", "", fault.New(fault.Usage, "scope %q and kind %q disagree", q.Scope, kind)
		}
		kind, prefix = first, strings.TrimSuffix(strings.TrimSuffix(rest, "*"), ".")
	}
	if kind == "" || kind == "*" {
		return "", strings.ReplaceAll(prefix, ".", "/"), nil
	}
	if _, err := objects.ParseKind(kind); err != nil {
		return "", "", err
	}
	return kind, strings.ReplaceAll(prefix, ".", "/"), nil
}

// inScope compares whole segments: the scope acme.core does not hold acme/core2.
func inScope(id, prefix string) bool {
	return prefix == "" || id == prefix || strings.HasPrefix(id, prefix+"/")
}

func page(q SearchRequest, found []search.Match, from []ItemInfo) *SearchResult {
	if q.Limit <= 0 {
		q.Limit = 10
	}
	res := &SearchResult{Query: q.Query, Total: len(found), Limit: q.Limit, Offset: q.Offset, Results: []Hit{}}
	for _, m := range found[min(max(q.Offset, 0), len(found)):] {
		if len(res.Results) == q.Limit {
			break
		}
		res.Results = append(res.Results, Hit{ItemInfo: from[m.Index], Score: m.Score, Match: m.Fields})
	}
	return res
}
