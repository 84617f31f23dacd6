package search

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
)

// zoo are items for the language.
var zoo = []*Doc{
	doc("tool:a/deploy", "Deploy to staging", "Puts the newest build on the machines", "Copies files and restarts the server."),
	doc("tool:a/deployment_runtime", "Runs deployments", "", "The money is back."),
	doc("tool:a/readFile", "Reader", "Reads one file", "Opens the file, then says: give the money back to whom it belongs."),
	doc("knowledge:a/refunds", "Giving money back", "When a café refunds", "Search and replace: x or y, not both."),
	doc("knowledge:b/lint", "Lint python", "Style of Python code", "format and lint"),
	doc("directive:b/format", "Format go", "", "gofmt -w; colour of the terminal"),
}

func doc(id, title, description, body string) *Doc {
	_, name, _ := strings.Cut(id, ":")
	return &Doc{ID: id, Body: body, Fields: []Text{{"name", name[strings.LastIndexByte(name, '/')+1:]}, {"title", title}, {"description", description}, {"id", name}}}
}

// found returns what a query finds, sorted by id, without kinds and categories.
func found(t testing.TB, query string, docs []*Doc) []string {
	t.Helper()
	var ids []string
	for _, h := range rank(t, query, Options{Stem: stem}, layerOf(docs, 0)).Hits {
		ids = append(ids, short(docs[h.Doc].ID))
	}
	slices.Sort(ids)
	return ids
}

func short(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...interface{})
}

func rank(t failer, query string, o Options, layers ...Layer) *Ranking {
	t.Helper()
	q, err := Parse(query, standardFields)
	if err != nil {
		t.Fatalf("Parse(%q): %v", query, err)
	}
	r, err := q.Rank(context.Background(), layers, o)
	if err != nil {
		t.Fatalf("Rank(%q): %v", query, err)
	}
	return r
}

func TestLanguage(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"deploy", "deploy deployment_runtime"},
		{"DEPLOY", "deploy deployment_runtime"},
		{"deploys", "deploy deployment_runtime"},
		{"cafe", "refunds"},
		{"CAFÉ", "refunds"},
		{"cafe\u0301", "refunds"},
		{"deploy lint", "deploy deployment_runtime lint"},
		{"deploy AND staging", "deploy"},
		{"staging OR refunds", "deploy refunds"},
		{"staging OR lint AND python", "deploy lint"},
		{"(staging OR lint) AND python", "lint"},
		{"deploy NOT staging", "deployment_runtime"},
		{"NOT file", "deployment_runtime format lint refunds"},
		{"NOT NOT staging", "deploy"},
		{"deploy and staging", "deploy deployment_runtime lint refunds"}, // words
		{"replace or", "refunds"},
		{`"money back"`, "readFile refunds"},
		{`"back money"`, ""},
		{`"money back"~1`, "deployment_runtime readFile refunds"},
		{`"AND"`, "deploy lint refunds"},
		{`"lint"`, "lint"},
		{`"lints"`, ""},
		{"deploy*", "deploy deployment_runtime"},
		{"*_runtime", "deployment_runtime"},
		{"*fund*", "refunds"},
		{"title:python", "lint"},
		{"TITLE:python", "lint"},
		{"title:format", "format"},
		{`title:"money back"`, "refunds"},
		{`body:"money back"`, "readFile"},
		{"title:deploy*", "deploy deployment_runtime"},
		{"readFile", "deploy readFile"},
		{"readfile", "readFile"},
		{"read_file", "deploy readFile"},
		{"read file", "deploy readFile"},
		{"colour~", "format"},
		{"color~", "format"},
		{"cloor~", ""},
		{"cloor~2", "format"},
		{"python/staging", "deploy lint"},
		{"NOT python/staging", "deploy deployment_runtime format lint readFile refunds"},
		{"NOT python/lint", "deploy deployment_runtime format readFile refunds"},
		{"id:b/lint", "lint"},
		{"id:lint/b", ""},
		{"!!!", ""},
		{"NOT *", ""},
		{"*", "deploy deployment_runtime format lint readFile refunds"},
		{"", "deploy deployment_runtime format lint readFile refunds"},
		{"  ", "deploy deployment_runtime format lint readFile refunds"},
		{"python title:format", "format"},
		{"lint (python OR go)", "format lint"},
		{"lint (python go)", "format lint"},
		{"staging (see lint)", "deploy lint"},
		{"python **lint**", "lint"},
	} {
		if got := strings.Join(found(t, c.query, zoo), " "); got != c.want {
			t.Errorf("%q finds %q, want %q", c.query, got, c.want)
		}
	}
}

func TestLanguageErrors(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"titel:x", `there is no field "titel"; there are name, title`},
		{`titel:"x y"`, `there is no field "titel"`},
		{"a AND", "a word is missing"},
		{"OR a", "a word is missing"},
		{"NOT", "a word is missing"},
		{"(a", "a parenthesis is never closed"},
		{"a)", `unexpected ")"`},
		{"()", "a word is missing"},
		{`"a`, "a quote is never closed"},
		{`{"a": "b"}`, "a colon follows a quote"},
		{strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100), "nested deeper than 32"},
		{strings.Repeat("NOT ", 100) + "a", "nested deeper than 32"},
		{strings.Repeat("a ", 200), "more than 128 words"},
		{strings.Repeat("a", 5000), "5000 bytes, want at most 4096"},
	} {
		_, err := Parse(c.query, standardFields)
		if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%.20q): %v, want %q", c.query, err, c.want)
		}
	}
}

// TestEvery: what means everything says so, and nothing else.
func TestEvery(t *testing.T) {
	for query, want := range map[string]bool{"": true, "*": true, " * ": true, "a": false, "*a": false, "!!!": false} {
		q, err := Parse(query, nil)
		if err != nil || q.Every() != want {
			t.Errorf("Parse(%q): every %v, %v; want %v", query, err == nil && q.Every(), err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a AND (b OR NOT c)", `"a b"~5 title:"x`, "ab*c~2", "NOT NOT a", "tool:a/b", "src/main.go", "\xff\xfe \u0301", "a:b:c", "((((", "*", `""`, `title:""`, "a~~", "~", "*~2"} {
		f.Add(s)
	}
	layer := layerOf(zoo, 0)
	f.Fuzz(func(t *testing.T, s string) {
		q, err := Parse(s, standardFields)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Fatalf("Parse(%q): %v is not of usage", s, err)
			}
			return
		}
		if len(q.leaves) > MaxTerms || len(s) > MaxQuery {
			t.Fatalf("%d words of %d bytes are accepted", len(q.leaves), len(s))
		}
		r, err := q.Rank(context.Background(), []Layer{layer}, Options{Stem: stem})
		if err != nil {
			t.Fatalf("Rank(%q): %v", s, err)
		}
		for _, h := range r.Hits {
			if h.Score <= 0 || h.Score > 1 {
				t.Fatalf("Rank(%q): score %v", s, h.Score)
			}
		}
	})
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"readFile HTTPServer URLs", "don't item's x'", "_-a-_b", "ÄÖ é e\u0301 ﬁ", "日本語 text", "\xff\xc3", "a\u0301\u0301\u0301", strings.Repeat("Ab", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		scan(s, func(parts []part) bool {
			if len(parts) == 0 || len(parts) > maxParts {
				t.Fatalf("%d parts", len(parts))
			}
			for _, p := range parts {
				if p.text == "" || len(p.text) > maxWord+utf8.UTFMax || p.start < last || p.end < p.start || p.end > len(s) {
					t.Fatalf("scan(%q): part %+v after %d", s, p, last)
				}
				last = p.start
			}
			return true
		})
		if a, b := squeeze(s), squeeze(strings.ToUpper(s)); ascii(s) && !strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ'") && a != b {
			t.Fatalf("%q is %q, in capitals %q", s, a, b)
		}
	})
}

// TestHugeText: ten million words take seconds at most, and memory for the words that are told apart.
func TestHugeText(t *testing.T) {
	var b strings.Builder
	for i := range 10_000_000 {
		b.WriteByte(byte('a' + i%26))
		b.WriteByte(byte('a' + i/26%26))
		b.WriteByte(' ')
	}
	begun := time.Now()
	terms := (&Analyzer{Stem: stem, Weights: standardWeights}).Terms(&Doc{ID: "knowledge:a/huge", Body: b.String()})
	if took := time.Since(begun); took > 20*time.Second || len(terms) > 2000 {
		t.Errorf("%d terms in %v", len(terms), took)
	}
}
