package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var quiet = log.New(io.Discard, "", 0)

// FuzzStream gives both decoders any bytes, whole and cut in two: the answer is the same,
// what is taken for an answer can be put into the next request, and a failure has a class.
func FuzzStream(f *testing.F) {
	for _, format := range []string{"anthropic", "openai"} {
		ar, err := txtar.ParseFile(filepath.Join("testdata", "streams", format+".txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			if strings.HasSuffix(file.Name, ".in") {
				s := parseScene(format, string(file.Data))
				f.Add(s.body, format == "openai", strings.Contains(s.options["type"], "json"), len(s.body)/2)
			}
		}
	}
	pa, ma := parsed(f, anthropicItem)
	po, mo := parsed(f, openaiItem)
	f.Fuzz(func(t *testing.T, body []byte, openai, whole bool, cut int) {
		p, m := pa, ma
		if openai {
			p, m = po, mo
		}
		kind := "text/event-stream"
		if whole {
			kind = "application/json"
		}
		one, err := decodeFrom(p, m, kind, bytes.NewReader(body))
		at := min(max(cut, 0), len(body))
		two, err2 := decodeFrom(p, m, kind, io.MultiReader(bytes.NewReader(body[:at]), bytes.NewReader(body[at:])))
		a, _ := json.Marshal(one)
		b, _ := json.Marshal(two)
		if !bytes.Equal(a, b) || (err == nil) != (err2 == nil) {
			t.Fatalf("whole: %s %v\ncut: %s %v", a, err, b, err2)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Class == "" || !e.Sent {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if n := len(calls(one.Parts)); (n > 0) != (one.Stop == StopCalls) || one.Stop == "" {
			t.Fatalf("stop %q with %d calls", one.Stop, n)
		}
		for _, x := range buckets(one.Usage) {
			if x < 0 {
				t.Fatalf("usage %+v", one.Usage)
			}
		}
		q := &Request{MaxOutput: 9, Messages: []Message{{User, []Part{{Text: "x"}}}, {Assistant, one.Parts}, {User, []Part{{Text: "y"}}}}}
		raw, err := p.Encode(m, q)
		if err != nil || !json.Valid(raw) {
			t.Fatalf("the answer does not go back: %v\n%s", err, raw)
		}
	})
}

func decodeFrom(p *Provider, m *Model, kind string, r io.Reader) (*Response, error) {
	t := &attempt{c: &Client{}, p: p, m: m, asked: 100, status: 200, header: http.Header{}}
	return t.read(r, kind)
}

// FuzzAfter reads anything as a time to wait.
func FuzzAfter(f *testing.F) {
	for _, s := range []string{"3", "6m0s", "2026-11-22T12:00:30Z", "Sun, 22 Nov 2026 12:01:00 GMT", "1e400", "-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, form := range afterForms {
			if d, ok := parseAfter(s, form, noon); ok && (d <= 0 || d > maxAfter) {
				t.Fatalf("parseAfter(%q, %s) = %v", s, form, d)
			}
		}
	})
}
