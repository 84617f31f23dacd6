package mcp

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/view"
)

// Directives are prompts, and their inputs the arguments. As for resources, only a stand-in is
// registered. The name of the directive arrives as an argument with this name, which overwrites any
// value from the client.
const promptKey = "\x00prompt"

// servePrompts offers the directives of the server's own project as prompts.
func (s items) servePrompts(h *server.Hooks) {
	s.rpc.AddPrompt(mcp.NewPrompt(standIn), s.getPrompt)
	h.AddBeforeGetPrompt(func(ctx context.Context, _ any, req *mcp.GetPromptRequest) {
		delete(req.Params.Arguments, promptKey)
		if _, ok := s.rpc.ListPrompts()[req.Params.Name]; ok && req.Params.Name != standIn || !s.isDirective(ctx, req.Params.Name) {
			return
		}
		if req.Params.Arguments == nil {
			req.Params.Arguments = map[string]string{}
		}
		req.Params.Name, req.Params.Arguments[promptKey] = standIn, req.Params.Name
	})
	h.AddBeforeListPrompts(func(_ context.Context, _ any, req *mcp.ListPromptsRequest) { checkCursor(&req.Params.Cursor) })
	h.AddAfterListPrompts(func(ctx context.Context, _ any, req *mcp.ListPromptsRequest, res *mcp.ListPromptsResult) {
		s.changes.listen(ctx)
		s.listPrompts(ctx, req.Params.Cursor, res)
	})
}

// isDirective reports whether there is a directive with this id.
func (s items) isDirective(ctx context.Context, id string) bool {
	if _, err := objects.ParseID(id); err != nil {
		return false
	}
	_, err := s.directive(ctx, id, nil)
	return !fault.Is(err, fault.NotFound)
}

// directive returns a directive with its inputs filled in.
func (s items) directive(ctx context.Context, id string, arguments map[string]string) (*rye.ExecuteResult, error) {
	ref, err := objects.ParseRef(string(objects.Directive) + ":" + id)
	if err != nil {
		return nil, err
	}
	verbs, err := s.verbs("")
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	if arguments == nil {
		params = nil
	}
	return verbs.Execute(ctx, s.caller(ctx), rye.ExecuteRequest{Ref: ref, Params: params, Texts: true}) // prompt arguments are strings only
}

// getPrompt handles the stand-in.
func (s items) getPrompt(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	id := req.Params.Arguments[promptKey]
	if id == "" {
		return nil, server.ErrPromptNotFound
	}
	given := map[string]string{}
	for name, value := range req.Params.Arguments {
		if name != promptKey {
			given[name] = value
		}
	}
	res, err := s.directive(ctx, id, given)
	if err != nil {
		return nil, told(err)
	}
	text, _ := view.Output(res)
	out := mcp.NewGetPromptResult("The directive "+id, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))})
	if len(res.Chain) > 0 {
		meta := map[string]any{"rye/signer": res.Chain[0].Signer, "rye/source": res.Chain[0].Space}
		if len(res.Metadata.Patched) > 0 {
			meta["rye/patched"] = res.Metadata.Patched
		}
		out.Meta = mcp.NewMetaFromMap(meta)
	}
	return out, nil
}

// listPrompts adds a page of directives to mcp-go's list, and removes the stand-in.
func (s items) listPrompts(ctx context.Context, cursor mcp.Cursor, res *mcp.ListPromptsResult) {
	kept := []mcp.Prompt{}
	for _, p := range res.Prompts {
		if p.Name != standIn && cursor == "" {
			kept = append(kept, p)
		}
	}
	hits, next := s.page(ctx, rye.SearchRequest{Query: "*", Kind: string(objects.Directive), Limit: rye.MaxSearchParams, Offset: offsetOf(cursor), Params: true})
	for _, h := range hits {
		p := mcp.NewPrompt(h.ID, mcp.WithPromptDescription(words.Line(h.Description)))
		for _, in := range h.Params {
			p.Arguments = append(p.Arguments, mcp.PromptArgument{Name: in.Name, Description: words.Line(in.Description), Required: in.Required && in.Default == ""})
		}
		kept = append(kept, p)
	}
	res.Prompts, res.NextCursor = kept, next
}
