package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// What reads pages of the web is linked into the engine, because its tables would cost
// every start of the front. So the front has a page read by the engine: one line of JSON
// that says what it is, then its bytes; the text comes back. What a stranger wrote is then
// taken apart in a process that ends with it.

// maxPage bounds what the engine takes for one page, in bytes.
const maxPage = 64<<20 + 64<<10

// pageHead goes before the bytes of a page.
type pageHead struct {
	Charset  string `json:"charset,omitempty"`
	Base     string `json:"base,omitempty"`
	Markdown bool   `json:"markdown,omitempty"`
}

// readPage has the engine beside this program read a page.
func readPage(ctx context.Context, p rye.WebPage) ([]byte, error) {
	head, err := json.Marshal(pageHead{Charset: p.Charset, Base: p.Base, Markdown: p.Markdown})
	if err != nil {
		return nil, fault.New(fault.Failed, "read the page: %w", err)
	}
	return askEngine(ctx, "read the page", io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(p.Body)), nil, "page")
}

// ServePage is the engine's side: it turns the page on standard input into what convert
// makes of it.
func ServePage(convert func(raw []byte, charset string, base *url.URL, markdown bool) []byte) error {
	raw, err := io.ReadAll(io.LimitReader(os.Stdin, maxPage+1))
	if err != nil {
		return fault.New(fault.Failed, "read the page: %w", err)
	}
	line, body, ok := bytes.Cut(raw, []byte("\n"))
	var head pageHead
	if !ok || len(raw) > maxPage || json.Unmarshal(line, &head) != nil {
		return fault.New(fault.Malformed, "read the page: want a line of JSON and at most %d bytes", maxPage)
	}
	base, err := url.Parse(head.Base)
	if err != nil {
		base = nil
	}
	_, err = os.Stdout.Write(convert(body, head.Charset, base, head.Markdown))
	return err
}
