package mcp

import (
	"context"
	"math"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
)

// completer completes input for a prompt's argument or an address.
type completer struct{ items }

// maxCompletions bounds the values in an answer (MCP 2025-06-18).
const maxCompletions = 100

// CompletePromptArgument offers the values that a directive lists for an input.
func (c completer) CompletePromptArgument(ctx context.Context, prompt string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	hits, _ := c.page(ctx, rye.SearchRequest{Query: "*", Scope: "directive." + strings.ReplaceAll(prompt, "/", "."), Limit: 1, Params: true})
	var values []string
	for _, h := range hits {
		for _, in := range h.Params {
			if h.ID == prompt && in.Name == a.Name {
				values = append(in.Values, in.Default)
			}
		}
	}
	return completions(values, a.Value), nil
}

// CompleteResourceArgument offers spaces, kinds and existing ids.
func (c completer) CompleteResourceArgument(ctx context.Context, uri string, a mcp.CompleteArgument, known mcp.CompleteContext) (*mcp.Completion, error) {
	if uri != itemTemplate {
		return completions(nil, ""), nil
	}
	switch a.Name {
	case "space":
		return completions([]string{"project", "user", "system"}, a.Value), nil
	case "kind":
		var kinds []string
		for _, k := range objects.Kinds {
			kinds = append(kinds, string(k))
		}
		return completions(kinds, a.Value), nil
	case "id":
		q := rye.SearchRequest{Query: "*", Kind: known.Arguments["kind"], Space: known.Arguments["space"], Limit: math.MaxInt32}
		hits, _ := c.page(ctx, q)
		var ids []string
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		return completions(ids, a.Value), nil
	}
	return completions(nil, ""), nil
}

// completions returns the values that begin with typed.
func completions(values []string, typed string) *mcp.Completion {
	out := &mcp.Completion{Values: []string{}}
	for _, v := range values {
		if v == "" || !strings.HasPrefix(v, typed) {
			continue
		}
		if out.Total++; len(out.Values) < maxCompletions {
			out.Values = append(out.Values, v)
		}
	}
	out.HasMore = out.Total > len(out.Values)
	return out
}
