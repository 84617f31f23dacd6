package mcp

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// The answers keep the field names of RYE OS, so that its directives read them,
// and add fields of their own. docs/format/mcp.md describes them.

type searchAnswer struct {
	Results []hit  `json:"results"`
	Total   int    `json:"total"`
	Query   string `json:"query"`
	Scope   string `json:"scope"`
	Space   string `json:"space"`
	Limit   int    `json:"limit"`
	Offset  int    `json:"offset"`
}

type hit struct {
	ID          string       `json:"id"`
	Type        string       `json:"type"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description"`
	Source      string       `json:"source"`
	Path        string       `json:"path,omitempty"`
	Score       float64      `json:"score"`
	Match       []string     `json:"match,omitempty"`
	State       string       `json:"state"`
	Signed      bool         `json:"signed"`
	Metadata    itemMetadata `json:"metadata"`
}

type itemMetadata struct {
	Name        string   `json:"name,omitempty"`
	Version     string   `json:"version,omitempty"`
	Category    string   `json:"category,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Path        string   `json:"path,omitempty"`
	Extension   string   `json:"extension,omitempty"`
	Signer      string   `json:"signer,omitempty"`
	SignedAt    string   `json:"signed_at,omitempty"`
	SHA256      string   `json:"sha256,omitempty"`

	Fields map[string]string `json:"fields,omitempty"` // further ones, of an extractor
}

func metadata(it rye.ItemInfo) itemMetadata {
	return itemMetadata{
		Name: it.Name, Version: it.Version, Category: it.Category, Description: it.Description, Tags: it.Tags,
		Path: it.Path, Extension: path.Ext(it.Path), Signer: it.Signer, SignedAt: it.SignedAt, SHA256: it.SHA256,
	}
}

func newSearchAnswer(a searchArgs, res *rye.SearchResult) searchAnswer {
	out := searchAnswer{
		Results: []hit{}, Total: res.Total, Query: res.Query, Scope: a.Scope,
		Space: cmp.Or(a.Space, "all"), Limit: res.Limit, Offset: res.Offset,
	}
	for _, h := range res.Results {
		it := h.ItemInfo
		out.Results = append(out.Results, hit{
			ID: it.ID, Type: it.Kind, Name: it.Name, Title: it.Title, Description: it.Description, Source: it.Space,
			Path: it.Path, Score: h.Score, Match: h.Match, State: string(it.State), Signed: it.State == "signed",
			Metadata: itemMetadata{Version: it.Version, Category: it.Category, Tags: it.Tags, Signer: it.Signer, Fields: it.Fields},
		})
	}
	return out
}

type loadAnswer struct {
	Status      string       `json:"status"` // success
	ItemType    string       `json:"item_type"`
	ItemID      string       `json:"item_id"`
	Content     string       `json:"content"`
	Source      string       `json:"source"`
	Path        string       `json:"path,omitempty"`
	Metadata    itemMetadata `json:"metadata"`
	CopiedTo    string       `json:"copied_to,omitempty"`
	Destination string       `json:"destination_path,omitempty"`
}

func newLoadAnswer(res *rye.LoadResult) loadAnswer {
	it := res.ItemInfo
	return loadAnswer{
		Status: "success", ItemType: it.Kind, ItemID: it.ID, Content: res.Content, Source: it.Space, Path: it.Path,
		Metadata: metadata(it), CopiedTo: res.CopiedTo, Destination: res.Destination,
	}
}

// executeAnswer is the facade's result, which has RYE OS's shape already,
// and the error of a tool that ran and failed.
type executeAnswer struct {
	*rye.ExecuteResult
	*executeError
}

type executeError struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

func (a executeAnswer) failed() bool { return a.executeError != nil }

func newExecuteAnswer(res *rye.ExecuteResult) executeAnswer {
	out := executeAnswer{ExecuteResult: res}
	if res.Status == "error" {
		out.executeError = &executeError{fault.Failed, fmt.Sprintf("%s %s ran and failed", res.Type, res.ItemID)}
	}
	return out
}

type signAnswer struct {
	Status    string         `json:"status"` // signed, unchanged; completed for a pattern; error
	ItemID    string         `json:"item_id"`
	Path      string         `json:"path,omitempty"`
	Location  string         `json:"location"`
	Signature *signatureInfo `json:"signature,omitempty"`
	Signed    []string       `json:"signed,omitempty"`
	Failed    []signFailure  `json:"failed,omitempty"`
	Passed    []passedOver   `json:"passed_over,omitempty"`
	Total     int            `json:"total"`
	Summary   string         `json:"summary"`
	Commit    string         `json:"commit,omitempty"`
	Code      fault.Code     `json:"code,omitempty"`
	Message   string         `json:"message,omitempty"`
	Hint      fault.Hint     `json:"hint,omitzero"`
}

func (a signAnswer) failed() bool { return a.Status == "error" }

type signatureInfo struct {
	Timestamp string `json:"timestamp"`
	Hash      string `json:"hash"`
	PubkeyFP  string `json:"pubkey_fp"`
}

// passedOver is an item that carries another's signature: it is signed only when it is
// asked for alone.
type passedOver struct {
	Item     string `json:"item"`
	SignedBy string `json:"signed_by"`
}

type signFailure struct {
	Item    string     `json:"item"`
	Error   string     `json:"error"`
	Code    fault.Code `json:"code"`
	Hint    fault.Hint `json:"hint,omitzero"`
	Details []string   `json:"details,omitempty"`
}

func newSignAnswer(a signArgs, rep *rye.SignReport) signAnswer {
	out := signAnswer{ItemID: a.ItemID, Location: cmp.Or(a.Source, "project"), Total: len(rep.Results), Commit: rep.Commit}
	for _, r := range rep.Results {
		if r.Error != "" {
			out.Failed = append(out.Failed, signFailure{r.Ref, r.Error, r.Code, r.Hint, r.Issues})
		} else if r.Status == "signed" {
			out.Signed = append(out.Signed, r.Ref)
		} else if r.Status == "passed over" {
			out.Passed = append(out.Passed, passedOver{r.Ref, r.SignedBy})
		}
	}
	out.Summary = fmt.Sprintf("Signed %d/%d items", len(out.Signed), out.Total)
	switch {
	case len(out.Failed) > 0 && len(out.Failed) == out.Total:
		f := out.Failed[0]
		out.Status, out.Code, out.Message, out.Hint = "error", f.Code, f.Error, f.Hint
	case strings.ContainsAny(a.ItemID, "*?") || out.Total != 1:
		out.Status = "completed"
	default:
		r := rep.Results[0]
		out.Status, out.Path = r.Status, r.Path
		out.Signature = &signatureInfo{Timestamp: r.SignedAt, Hash: r.SHA256, PubkeyFP: r.Key}
	}
	return out
}
