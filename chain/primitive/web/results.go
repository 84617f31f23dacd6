package web

import (
	"bytes"
	"encoding/json"
	"unicode"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Results converts the answer of a search service, JSON of any shape, into a list of results.
const Results Format = "results"

// Bounds of results: RYE OS's number, and the bytes of one result.
const (
	MaxResults = 20
	maxTitle   = 300
	maxSnippet = 1000
	maxAddress = 2000
	maxShapes  = 6 // levels that are searched for the list
)

// result is one search result.
type result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// The names that services use for the parts of a result. The first one present is used: SearXNG
// and Tavily use content, Brave description, Serper, Google and Bing link or url and snippet,
// Bing name, Exa text.
var (
	titleNames   = []string{"title", "name"}
	addressNames = []string{"url", "link", "href"}
	snippetNames = []string{"snippet", "content", "description", "text", "summary", "body"}
)

// results reads an answer as a list of at most most results.
func results(body []byte, most int) ([]byte, error) {
	var doc any
	if err := json.Unmarshal(bytes.TrimSpace(body), &doc); err != nil {
		return nil, fault.New(fault.Malformed, "the service did not answer in JSON").
			Advise("use an address that answers in JSON; a SearXNG does if its settings have search: formats: [html, json]")
	}
	list, ok := resultList(doc, maxShapes)
	if !ok {
		return nil, fault.New(fault.Malformed, "the service answered JSON without a list of results: objects with a title and a url").
			Advise("give the address of a search, not of the service's first page")
	}
	found := []result{}
	for _, e := range list {
		if r := resultOf(e); r.URL != "" && len(found) < most {
			found = append(found, r)
		}
	}
	return json.Marshal(map[string]any{"results": found, "count": len(found)})
}

// resultList finds the list of results: the first one, by the names on the way to it, whose
// entries are results. A list called results may be empty.
func resultList(v any, levels int) ([]any, bool) {
	if list, ok := v.([]any); ok {
		return list, len(list) > 0 && resultOf(list[0]).URL != ""
	}
	m, ok := v.(map[string]any)
	if !ok || levels == 0 {
		return nil, false
	}
	for _, name := range []string{"results", "web", "organic", "organic_results", "items", "webPages", "value", "data", "hits"} {
		if list, ok := resultList(m[name], levels-1); ok {
			return list, true
		}
	}
	list, empty := m["results"].([]any)
	return list, empty && len(list) == 0
}

func resultOf(v any) result {
	m, _ := v.(map[string]any)
	return result{Title: textOf(m, titleNames, maxTitle), URL: textOf(m, addressNames, maxAddress), Snippet: textOf(m, snippetNames, maxSnippet)}
}

// textOf returns the first of the named members that is a text, on one line and bounded.
func textOf(m map[string]any, names []string, most int) string {
	for _, name := range names {
		if s, ok := m[name].(string); ok && s != "" {
			return words.Clip(plainLine(s), most)
		}
	}
	return ""
}

// plainLine joins a text into one line, because strangers write results.
func plainLine(s string) string {
	out, gap := make([]rune, 0, len(s)), false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			gap = len(out) > 0
			continue
		case gap:
			out, gap = append(out, ' '), false
		}
		out = append(out, r)
	}
	return string(out)
}
