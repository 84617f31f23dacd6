package web

import (
	"context"
	"mime"

	"github.com/rye-os/rye/fault"
)

// Format is the target of a page's conversion.
type Format string

// The formats. HTML leaves a page unchanged.
const (
	AsText   Format = "text"
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, bool) {
	f := Format(s)
	return f, f == AsText || f == Markdown || f == HTML || f == Results
}

// Page is a web page to convert.
type Page struct {
	Body     []byte
	Charset  string // from the server; "" if it sent none
	Base     string // its address, the base of its links
	Markdown bool   // Markdown instead of plain text
}

// convert converts an answer that is a page. Only the conversion may undo the encoding of a
// secret, so the redactor runs again afterwards.
func (e *exchange) convert(ctx context.Context, res *Response) error {
	if e.Convert == Results {
		return e.list(res)
	}
	kind, params, _ := mime.ParseMediaType(res.Header["content-type"])
	if e.Convert == "" || e.Convert == HTML || kind != "text/html" && kind != "application/xhtml+xml" {
		return nil
	}
	text, err := e.o.Page(ctx, Page{Body: res.Body, Charset: params["charset"], Base: res.URL, Markdown: e.Convert == Markdown})
	if err != nil {
		return fault.Wrap(err, "convert %s", res.URL)
	}
	res.Body = text
	e.redact.response(res)
	return nil
}

// list converts an answer into a list of results, unless its status is 400 or higher.
func (e *exchange) list(res *Response) error {
	if res.Status >= 400 {
		return nil
	}
	body, err := results(res.Body, e.Results)
	if err != nil {
		return fault.Wrap(err, "results of %s", res.URL)
	}
	res.Body, res.Header = body, map[string]string{"content-type": "application/json"}
	e.redact.response(res)
	return nil
}

// converts refuses a format that this program cannot produce.
func (e *exchange) converts() error {
	if (e.Convert == AsText || e.Convert == Markdown) && e.o.Page == nil {
		return fault.New(fault.Failed, "http: this program cannot turn a page into %s", e.Convert)
	}
	return nil
}
