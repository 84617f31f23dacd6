package web

import (
	"context"
	"mime"

	"github.com/rye-os/rye/fault"
)

// Format is what a page of the web becomes.
type Format string

// The formats. HTML leaves a page as it came.
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

// Page is a page of the web that shall become what it says.
type Page struct {
	Body     []byte
	Charset  string // as the server said it; "" where it did not
	Base     string // its address, against which links are resolved
	Markdown bool   // and not plain text
}

// convert turns the answer into what it says, where it is a page. A secret may have been
// spelt in a way that only the text undoes, so it is looked for again.
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

// list makes a list of results of an answer, unless it is a refusal.
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

// converts refuses a format that nobody here can make.
func (e *exchange) converts() error {
	if (e.Convert == AsText || e.Convert == Markdown) && e.o.Page == nil {
		return fault.New(fault.Failed, "http: this program cannot turn a page into %s", e.Convert)
	}
	return nil
}
