package web

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestResults(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"SearXNG", `{"query":"x","results":[{"title":"A","url":"https://a/","content":"aa","engine":"z"}],"suggestions":[]}`, `[{"title":"A","url":"https://a/","snippet":"aa"}]`},
		{"Brave", `{"type":"search","web":{"results":[{"title":"A","url":"https://a/","description":"aa"}]}}`, `[{"title":"A","url":"https://a/","snippet":"aa"}]`},
		{"Serper", `{"organic":[{"title":"A","link":"https://a/","snippet":"aa"}]}`, `[{"title":"A","url":"https://a/","snippet":"aa"}]`},
		{"Bing", `{"webPages":{"value":[{"name":"A","url":"https://a/","snippet":"aa"}]}}`, `[{"title":"A","url":"https://a/","snippet":"aa"}]`},
		{"a bare list", `[{"title":"A","url":"https://a/"}]`, `[{"title":"A","url":"https://a/","snippet":""}]`},
		{"nothing found", `{"results":[]}`, `[]`},
		{"an entry without address", `{"results":[{"url":"https://a/"},{"title":"no"},{"url":"https://b/"},{"url":"https://c/"}]}`,
			`[{"title":"","url":"https://a/","snippet":""},{"title":"","url":"https://b/","snippet":""}]`},
		{"lines and escapes", `{"results":[{"title":" A\n\u001b[2J\tb ","url":"https://a/"}]}`, `[{"title":"A [2J b","url":"https://a/","snippet":""}]`},
	} {
		got, err := results([]byte(c.body), 2)
		var back struct{ Results json.RawMessage }
		if err != nil || json.Unmarshal(got, &back) != nil || string(back.Results) != c.want {
			t.Errorf("%s: results = %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	for _, body := range []string{"", "<html>", `{}`, `{"results":"many"}`, `[1,2]`, `{"results":[1]}`, strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		if got, err := results([]byte(body), 2); err == nil {
			t.Errorf("results(%q) = %s, want an error", body, got)
		}
	}
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"results":[{"title":"A","url":"https://a/","content":"aa"}]}`), 3)
	f.Add([]byte(`{"web":{"results":[{"title":"\u001b","url":"u"}]}}`), 1)
	f.Fuzz(func(t *testing.T, body []byte, most int) {
		got, err := results(body, most)
		if err != nil {
			return
		}
		var back struct{ Results []result }
		if err := json.Unmarshal(got, &back); err != nil || len(back.Results) > max(most, 0) {
			t.Fatalf("results(%q, %d) = %s, %v", body, most, got, err)
		}
		for _, r := range back.Results {
			if len(r.Title) > 2*maxTitle || strings.ContainsAny(r.Title+r.Snippet, "\n\x1b") {
				t.Errorf("results(%q) = %q", body, r)
			}
		}
	})
}
