package main

import (
	"context"
	"net/url"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive/web/page"
	"github.com/rye-os/rye/internal/app"
)

// servePage converts a page that rye fetched.
func servePage(context.Context, *app.App) error { return app.ServePage(page.Convert) }

// readPage converts a page that the engine fetched itself.
func readPage(_ context.Context, p rye.WebPage) ([]byte, error) {
	base, err := url.Parse(p.Base)
	if err != nil {
		base = nil
	}
	return page.Convert(p.Body, p.Charset, base, p.Markdown), nil
}
