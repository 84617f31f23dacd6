package mcp

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rye-os/rye/view"
)

// An answer is text only: one block that is a JSON object of a few facts, and where there is
// a text that they are about (an item, what a tool printed) a block with that as it is. There
// is no structured content, because of four clients two show a model that alone and two the
// text alone: whatever is in one of them only, half of all models never see, and what is in
// both comes twice (docs/rationale.md).

// answered is an answer as a client gets it. A text that is too long for a model is kept for
// who gets the answer, whole, and its beginning and end are shown with its address.
func (s *Server) answered(ctx context.Context, a view.Answer) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: a.Failed, Content: []mcp.Content{mcp.NewTextContent(view.JSON(a.Head))}}
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

// failed is a refusal as a client gets it.
func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.NewTextContent(view.JSON(view.Failure(err, "").Head))}}
}
