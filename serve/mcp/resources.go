package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Items are resources. mcp-go lists and finds resources that were registered beforehand, but items
// come and go. So only a stand-in is registered: hooks pass it the text that they read, and fill in
// the lists after mcp-go has answered. mcp-go answers for missing items, because it knows the right
// code in each protocol version.

// items serves the items of the server's own project as resources and prompts.
type items struct{ *Server }

// standIn is the address and the name of the registered resource and prompt.
const standIn = "rye:stand-in"

// readKey is the argument with the text that was read for a request.
const readKey = "read"

type readResult struct {
	contents []mcp.ResourceContents
	err      error
}

// resourcePage is the number of resources in one answer.
const resourcePage = 100

// serveResources offers the items of the server's own project as resources.
func (s items) serveResources(h *server.Hooks) {
	s.rpc.AddResource(mcp.NewResource(standIn, standIn), func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		r, ok := req.Params.Arguments[readKey].(readResult)
		if !ok {
			return nil, server.ErrResourceNotFound
		}
		return r.contents, r.err
	})
	h.AddBeforeReadResource(func(ctx context.Context, _ any, req *mcp.ReadResourceRequest) {
		req.Params.Arguments = nil // the client's own arguments are ignored
		contents, err := s.readResource(ctx, req.Params.URI)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Usage) {
			return
		}
		req.Params.URI, req.Params.Arguments = standIn, map[string]any{readKey: readResult{contents, told(err)}}
	})
	h.AddBeforeListResources(func(_ context.Context, _ any, req *mcp.ListResourcesRequest) { checkCursor(&req.Params.Cursor) })
	h.AddAfterListResources(func(ctx context.Context, _ any, req *mcp.ListResourcesRequest, res *mcp.ListResourcesResult) {
		s.changes.listen(ctx)
		s.listResources(ctx, req.Params.Cursor, res)
	})
	h.AddAfterListResourceTemplates(func(_ context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, res *mcp.ListResourceTemplatesResult) {
		res.ResourceTemplates = append(res.ResourceTemplates, templates()...)
	})
}

// Templates of addresses.
const (
	itemTemplate   = scheme + "{space}/{kind}/{+id}"
	resultTemplate = resultsAt + "{id}/{from}-{to}"
)

func templates() []mcp.ResourceTemplate {
	return []mcp.ResourceTemplate{
		mcp.NewResourceTemplate(itemTemplate, "item", mcp.WithTemplateDescription("An item, verified: space is project, user or system; kind directive, tool, knowledge or config")),
		mcp.NewResourceTemplate(resultTemplate, "result", mcp.WithTemplateDescription("Bytes of a text that was too long to show"), mcp.WithTemplateMIMEType("text/plain")),
	}
}

// told returns an error as its code and message.
func told(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(string(fault.CodeOf(err)) + ": " + err.Error())
}

// readResource reads an item or a result.
func (s items) readResource(ctx context.Context, uri string) ([]mcp.ResourceContents, error) {
	if strings.HasPrefix(uri, resultsAt) {
		text, err := s.results.read(s.caller(ctx).Who(), uri)
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: text}}, err
	}
	ref, space, err := parseAddress(uri)
	if err != nil {
		return nil, err
	}
	verbs, err := s.verbs("")
	if err != nil {
		return nil, err
	}
	res, err := verbs.Load(ctx, s.caller(ctx), rye.LoadRequest{Ref: ref, Space: space})
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: typeOf(res.Path), Text: res.Content, Meta: facts(res.ItemInfo)}}, nil
}

// facts returns the _meta of an item.
func facts(it rye.ItemInfo) map[string]any {
	meta := map[string]any{"rye/state": string(it.State)}
	if it.Signer != "" {
		meta["rye/signer"] = it.Signer
	}
	if it.Version != "" {
		meta["rye/version"] = it.Version
	}
	return meta
}

// types maps extensions to media types.
var types = map[string]string{".md": "text/markdown", ".yaml": "application/yaml", ".yml": "application/yaml", ".json": "application/json"}

func typeOf(p string) string {
	if t := types[path.Ext(p)]; t != "" {
		return t
	}
	return "text/plain"
}

// listResources adds a page of items to mcp-go's list, and removes the stand-in.
func (s items) listResources(ctx context.Context, cursor mcp.Cursor, res *mcp.ListResourcesResult) {
	kept := []mcp.Resource{}
	for _, r := range res.Resources {
		if r.URI != standIn && cursor == "" {
			kept = append(kept, r)
		}
	}
	res.Resources, res.NextCursor = kept, ""
	q := rye.SearchRequest{Query: "*", Limit: resourcePage, Offset: offsetOf(cursor)}
	hits, next := s.page(ctx, q)
	for _, h := range hits {
		r := mcp.NewResource(addressOf(h.Space, h.Kind, h.ID), h.Ref, mcp.WithResourceDescription(words.Line(h.Description)), mcp.WithMIMEType(typeOf(h.Path)))
		r.Meta = mcp.NewMetaFromMap(facts(h.ItemInfo))
		res.Resources = append(res.Resources, r)
	}
	res.NextCursor = next
}

// page returns the readable items of a page, and the cursor of the next page. If the search fails,
// it returns no items: a list has no place for errors.
func (s items) page(ctx context.Context, q rye.SearchRequest) (hits []rye.Hit, next mcp.Cursor) {
	verbs, err := s.verbs("")
	if err != nil {
		return nil, ""
	}
	found, err := verbs.Search(ctx, s.caller(ctx), q)
	if err != nil {
		s.log.Printf("list: %s", words.Line(err.Error()))
		return nil, ""
	}
	for _, h := range found.Results {
		if readable(h.State) {
			hits = append(hits, h)
		}
	}
	if end := q.Offset + len(found.Results); end < found.Total && len(found.Results) > 0 {
		next = cursorOf(end)
	}
	return hits, next
}

// readable reports whether an item in this state may be read.
func readable(state rye.State) bool {
	return state == objects.Signed || state == objects.Older || state == objects.Legacy
}

// A cursor is the number of items to skip, in base64, which mcp-go requires.

func cursorOf(offset int) mcp.Cursor {
	return mcp.Cursor(base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(offset))))
}

func offsetOf(c mcp.Cursor) int {
	raw, _ := base64.StdEncoding.DecodeString(string(c))
	n, _ := strconv.Atoi(string(raw))
	return max(n, 0)
}

// checkCursor replaces an invalid cursor by one that mcp-go refuses.
func checkCursor(c *mcp.Cursor) {
	if *c != "" && cursorOf(offsetOf(*c)) != *c {
		*c = "!"
	}
}
