package view

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// found is the head of a search's answer; foundIn, of a search among transcripts.
type (
	found struct {
		Results []hit `json:"results"`
		page
	}
	foundIn struct {
		Results []turn `json:"results"`
		page
	}
)

// page holds facts about all results.
type page struct {
	Total int `json:"total"`
	More  int `json:"next_offset,omitempty"` // offset of the next page

	AtLeast bool     `json:"at_least,omitempty"` // there may be more than total
	Loose   string   `json:"loose,omitempty"`    // why the query's words were searched instead of the query as written
	Nearest []string `json:"nearest,omitempty"`  // words that replaced unknown words of the query
	Notes   []string `json:"notes,omitempty"`    // how old and how complete catalogues are
	Hint    any      `json:"hint,omitempty"`
}

// hit is one result, with the facts for a call to it.
type hit struct {
	Type        string            `json:"type"`
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Parameters  string            `json:"parameters,omitempty"`
	Source      string            `json:"source"`
	Version     string            `json:"version,omitempty"` // of a registry's offer
	State       string            `json:"state,omitempty"`   // left out if signed
	Guess       bool              `json:"guess,omitempty"`   // found only by words similar to the query's
	Fields      map[string]string `json:"fields,omitempty"`
	Detail      *about            `json:"detail,omitempty"`
}

// turn is one result among transcripts, with the facts for a call that reads on there.
type turn struct {
	Type      string     `json:"type"` // thread
	Thread    string     `json:"thread_id"`
	Turn      int        `json:"turn"`
	Seq       int64      `json:"seq"`
	Directive string     `json:"directive"`
	Status    string     `json:"status"`
	Time      string     `json:"timestamp"`
	Lines     []rye.Line `json:"lines,omitempty"` // lines with the most words; a number is a record's
	Guess     bool       `json:"guess,omitempty"`
	Partly    bool       `json:"partly,omitempty"`
	Score     float64    `json:"score,omitempty"`
}

// about holds facts about an item that are shown on request.
type about struct {
	Name     string   `json:"name,omitempty"`
	Version  string   `json:"version,omitempty"`
	Category string   `json:"category,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Examples []string `json:"examples,omitempty"`
	Path     string   `json:"path,omitempty"`
	Signer   string   `json:"signer,omitempty"`
	SignedAt string   `json:"signed_at,omitempty"`
	Digest   string   `json:"digest,omitempty"`
	Score    float64  `json:"score,omitempty"`
	Match    []string `json:"match,omitempty"`

	Lines []rye.Line `json:"lines,omitempty"` // lines of its text with the most words of the query
}

func aboutItem(it rye.ItemInfo) *about {
	return &about{Name: it.Name, Version: it.Version, Category: it.Category, Tags: it.Tags, Examples: it.Examples, Path: it.Path,
		Signer: it.Signer, SignedAt: it.SignedAt}
}

// Bounds of a search's answer.
const (
	maxAbout  = 200 // bytes of a result's description
	described = 3   // how many of the best results show descriptions of parameters; one of these is called
)

// Found returns the answer for a search. detail adds all known facts about each result.
func Found(res *rye.SearchResult, detail bool, prefix string) Answer {
	if len(res.Turns) > 0 {
		return foundTurns(res, detail, prefix)
	}
	out := found{Results: []hit{}, page: pageOf(res, len(res.Results), prefix)}
	for i, h := range res.Results {
		it := hit{Type: h.Kind, ID: h.ID, Source: h.Space, Guess: h.Guess, Fields: h.Fields,
			Description: words.Clip(oneLine(h.Description), maxAbout), Parameters: Params(h.Params, i < described)}
		if it.Description == "" {
			it.Description = words.Clip(oneLine(h.Title), maxAbout)
		}
		if h.State != objects.Signed {
			it.State = string(h.State)
		}
		if h.Offer != nil {
			offered(&it, &h)
			out.Notes = res.Notes
			if out.Hint == nil || i == 0 {
				out.Hint = adding(h.Offer, prefix)
			}
		}
		if detail {
			it.Detail = aboutItem(h.ItemInfo)
			it.Detail.Score, it.Detail.Match, it.Detail.Lines = h.Score, h.Match, h.Lines
		}
		out.Results = append(out.Results, it)
	}
	return Answer{Head: out}
}

// offered fills in the registry of an offer, and that it is not installed.
func offered(it *hit, h *rye.Hit) {
	o := h.Offer
	it.Source, it.Version, it.State = "registry "+o.Registry, h.Version, "not installed"
	if o.Locked != "" {
		it.State = "installed " + o.Locked
	}
	if o.Status != "ok" {
		it.State += "; " + o.Status
		if o.Reason != "" {
			it.State += ": " + words.Clip(oneLine(o.Reason), maxAbout)
		}
	}
	if !o.Accepted {
		it.State += "; not accepted from this registry, so a person must accept it first"
	}
}

// adding returns the call that adds an offer, about which a person is asked.
func adding(o *rye.Offer, prefix string) any {
	if o.Locked != "" || !o.Accepted {
		return nil
	}
	return Call{Tool: prefix + "execute", Arguments: map[string]any{"item_type": "tool", "item_id": "rye/registry/add", "parameters": map[string]any{"item": o.Item}}}
}

func pageOf(res *rye.SearchResult, shown int, prefix string) page {
	p := page{Total: res.Total, AtLeast: res.AtLeast, Loose: words.Clip(oneLine(res.Loose), maxAbout), Nearest: res.Nearest, Hint: Hint(res.Hint, prefix)}
	if next := res.Offset + shown; next < res.Total && shown > 0 {
		p.More = next
	}
	return p
}

// foundTurns returns the answer for a search among transcripts.
func foundTurns(res *rye.SearchResult, detail bool, prefix string) Answer {
	out := foundIn{Results: []turn{}, page: pageOf(res, len(res.Turns), prefix)}
	for _, h := range res.Turns {
		it := turn{h.Kind, h.Thread, h.Turn, h.Seq, h.Directive, h.Status, h.Time, h.Lines, h.Guess, h.Partly, 0}
		if detail {
			it.Score = h.Score
		}
		out.Results = append(out.Results, it)
	}
	return Answer{Head: out}
}
