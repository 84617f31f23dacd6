package view

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// found is what a search answers with.
type found struct {
	Results []hit `json:"results"`
	Total   int   `json:"total"`
	More    int   `json:"next_offset,omitempty"` // of the next page

	AtLeast bool     `json:"at_least,omitempty"` // there may be more than total
	Nearest []string `json:"nearest,omitempty"`  // words that were taken for those that nothing says
	Hint    any      `json:"hint,omitempty"`
}

// hit is one result, with what a call of it needs.
type hit struct {
	Type        string            `json:"type"`
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Parameters  string            `json:"parameters,omitempty"`
	Source      string            `json:"source"`
	State       string            `json:"state,omitempty"` // signed where it is not said
	Guess       bool              `json:"guess,omitempty"` // found by words that are only near those of the query
	Fields      map[string]string `json:"fields,omitempty"`
	Detail      *about            `json:"detail,omitempty"`
}

// about is what only who asks for it is told of an item.
type about struct {
	Name     string   `json:"name,omitempty"`
	Version  string   `json:"version,omitempty"`
	Category string   `json:"category,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Path     string   `json:"path,omitempty"`
	Signer   string   `json:"signer,omitempty"`
	SignedAt string   `json:"signed_at,omitempty"`
	Digest   string   `json:"digest,omitempty"`
	Score    float64  `json:"score,omitempty"`
	Match    []string `json:"match,omitempty"`

	Lines []rye.Line `json:"lines,omitempty"` // of its text, that say most of the words
}

func aboutItem(it rye.ItemInfo) *about {
	return &about{Name: it.Name, Version: it.Version, Category: it.Category, Tags: it.Tags, Path: it.Path,
		Signer: it.Signer, SignedAt: it.SignedAt}
}

// Bounds of a search's answer.
const (
	maxAbout  = 200 // bytes of what one result says of itself
	described = 3   // results whose parameters are described: the best, one of which is called
)

// Found is what a search found. detail says all that is known of each result.
func Found(res *rye.SearchResult, detail bool, prefix string) Answer {
	out := found{Results: []hit{}, Total: res.Total, AtLeast: res.AtLeast, Nearest: res.Nearest, Hint: Hint(res.Hint, prefix)}
	for i, h := range res.Results {
		it := hit{Type: h.Kind, ID: h.ID, Source: h.Space, Guess: h.Guess, Fields: h.Fields,
			Description: words.Clip(oneLine(h.Description), maxAbout), Parameters: Params(h.Params, i < described)}
		if it.Description == "" {
			it.Description = words.Clip(oneLine(h.Title), maxAbout)
		}
		if h.State != objects.Signed {
			it.State = string(h.State)
		}
		if detail {
			it.Detail = aboutItem(h.ItemInfo)
			it.Detail.Score, it.Detail.Match, it.Detail.Lines = h.Score, h.Match, h.Lines
		}
		out.Results = append(out.Results, it)
	}
	if next := res.Offset + len(res.Results); next < res.Total && len(res.Results) > 0 {
		out.More = next
	}
	return Answer{Head: out}
}
