package mcp

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rye-os/rye/view"
)

// An answer is text only: one block with a JSON object of a few facts, and a second one with the
// text of an item or the output of a tool. There is no structured content. Of four clients, two
// show a model only that, and two only the text: content in one of them stays unseen by half of all
// models, and content in both arrives twice (package view).

// answered returns an answer for a client. A text that is too long for a model is kept whole for
// the caller; the answer holds its beginning, its end and its address.
func (s *Server) answered(ctx context.Context, a view.Answer) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: a.Failed, Content: []mcp.Content{mcp.NewTextContent(view.JSON(a.Head))}}
	if len(a.Patched) > 0 {
		res.Meta = mcp.NewMetaFromMap(map[string]any{"rye/patched": a.Patched})
	}
	if a.Text == "" {
		return res
	}
	if !view.Long(a.Text) {
		res.Content = append(res.Content, mcp.NewTextContent(a.Text))
		return res
	}
	link := s.results.keep(s.caller(ctx).Who(), a.Text)
	res.Content = append(res.Content, mcp.NewTextContent(view.Ends(a.Text, endsOf, wherePart(link.URI))), link)
	return res
}

// failed returns a refusal for a client.
func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.NewTextContent(view.JSON(view.Failure(err, "").Head))}}
}
