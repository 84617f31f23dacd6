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

// The code that reads web pages is linked into the engine, because its tables would slow
// every start of the front. So the front calls the engine to read a page: it sends one line
// of JSON that describes the page, then its bytes, and receives the text. The untrusted page
// is thus parsed in a separate process, which ends afterwards.

// maxPage bounds the engine's input for one page, in bytes.
const maxPage = 64<<20 + 64<<10

// pageHead goes before the bytes of a page.
type pageHead struct {
	Charset  string `json:"charset,omitempty"`
	Base     string `json:"base,omitempty"`
	Markdown bool   `json:"markdown,omitempty"`
}

// readPage reads a page in the engine beside this program.
func readPage(ctx context.Context, p rye.WebPage) ([]byte, error) {
	head, err := json.Marshal(pageHead{Charset: p.Charset, Base: p.Base, Markdown: p.Markdown})
	if err != nil {
		return nil, fault.New(fault.Failed, "read the page: %w", err)
	}
	return askEngine(ctx, "read the page", io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(p.Body)), nil, "page")
}

// ServePage is the engine's side. It reads the page on standard input, and replies with the
// result of convert.
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
