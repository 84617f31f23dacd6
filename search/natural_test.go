package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// find is rank through the door for people and models.
func find(t testing.TB, query string, o Options, layers ...Layer) *Ranking {
	t.Helper()
	r, err := Read(query, standardFields).Find(context.Background(), layers, o)
	if err != nil {
		t.Fatalf("Find(%q): %v", query, err)
	}
	return r
}

// TestNatural: what breaks the language, or finds nothing by it, is searched by its words, and the
// answer says so. What the language finds stays as it is.
func TestNatural(t *testing.T) {
	layer := layerOf(zoo, 0)
	for _, c := range []struct{ query, want, loose string }{
		{"(deploy staging", "deploy deployment_runtime", "a parenthesis is never closed"},
		{"deploy staging)", "deploy deployment_runtime", `unexpected ")"`},
		{`"deploy staging`, "deploy deployment_runtime", "a quote is never closed"},
		{`deploy "staging`, "deploy deployment_runtime", "a quote is never closed"},
		{"deploy AND", "deploy deployment_runtime", "a word is missing"},
		{"titel:python", "lint", `there is no field "titel"`},
		{"TypeError: python", "lint", ""},
		{"TypeError:python", "lint", "there is no field"},
		{`"staging deploy"`, "deploy deployment_runtime", "nothing matches the query as it is written"},
		{"staging AND python", "deploy lint", "nothing matches"},
		{"title:machines", "deploy", "nothing matches"},
		{"staging NOT deploy", "deploy", "nothing matches"},
		{"*ploymentx python", "lint", ""},
		{"*staging* AND python", "deploy lint", "nothing matches"},
		{strings.Repeat("(", 100) + "python", "lint", "nested deeper"},
		{strings.Repeat("python ", 200), "lint", "more than 128 words"},
		{strings.Repeat("xx! ", 2000) + " python", "", "8007 bytes"},
		{"gofmt " + strings.Repeat("xx! ", 2000), "format", "8006 bytes"},
		{"()", "", "a word is missing"},
		{"!!!", "", ""},
		{"NOT *", "", ""},
		{`"money back"`, "readFile refunds", ""},
		{"deploy NOT staging", "deployment_runtime", ""},
		{"deploy staging", "deploy deployment_runtime", ""},
	} {
		r := find(t, c.query, Options{Stem: stem}, layer)
		var ids []string
		for _, h := range r.Hits {
			ids = append(ids, short(zoo[h.Doc].ID))
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%.40q finds %q, want %q", c.query, got, c.want)
		}
		if !strings.Contains(r.Loose, c.loose) || (r.Loose == "") != (c.loose == "") {
			t.Errorf("%.40q: loose %q, want %q", c.query, r.Loose, c.loose)
		}
		if r.Loose != "" && !strings.Contains(r.Loose, "words") {
			t.Errorf("%.40q: %q does not say what was searched", c.query, r.Loose)
		}
	}
}

// forms are ways in which people and models write a question, and paste things around it, each with
// the plain words that it says.
var forms = []struct{ name, form, words string }{
	{"quoted", `"%s"`, "%s"},
	{"quotation", `the user says "%s"`, "%s"},
	{"half a quotation", `"%s`, "%s"},
	{"open parenthesis", "(%s", "%s"},
	{"close parenthesis", "%s :)", "%s"},
	{"empty parentheses", "%s ()", "%s"},
	{"and at the end", "%s AND", "%s"},
	{"or at the front", "OR %s", "%s"},
	{"markdown", "**%s**", "%s"},
	{"backquotes", "`%s`", "%s"},
	{"list", "* %s", "%s"},
	{"inches", `%s 5"`, "%s 5"},
	{"field", "question:%s", "question %s"},
	{"json", `{"question": "%s"}`, "question %s"},
	{"error", `Error: (%s) failed: open "`, "error %s failed open"},
	{"exit", "%s [exit status 1]: panic: ", "%s exit status 1 panic"},
	{"code", "error[E0425]: %s --> src/x.rs:1:5", "error e0425 %s src x rs 1 5"},
	{"file", `./%s (notes.txt:12:3)`, "%s notes txt 12 3"},
	{"glob", `%s in "src/**/*.{js,ts}`, "%s in src js ts"},
	{"windows", `%s in "C:\\Program Files (x86)\\`, "%s in c program files x86"},
}

// TestFormsLoseNothing: a question finds what its words find, however it is quoted and whatever is
// broken around it. Where the text is no query, the words are the same, and so is the ranking.
func TestFormsLoseNothing(t *testing.T) {
	lib := layerOf(library(t), 2)
	o := standardOptions(t)
	o.Most = 3
	queries := readGolden[goldenQuery](t, "testdata/golden/stdlib36.yaml")
	first := func(form string) (n int) {
		for _, gq := range queries {
			r := find(t, fmt.Sprintf(form, gq.Query), o, lib)
			if len(r.Hits) > 0 && slices.Contains(gq.Want, idOf([]Layer{lib}, r.Hits[0])) {
				n++
			}
		}
		return n
	}
	plain := map[string]int{}
	for _, f := range forms {
		same := true
		for _, gq := range queries {
			a, b := Read(fmt.Sprintf(f.form, gq.Query), standardFields), Read(fmt.Sprintf(f.words, gq.Query), standardFields)
			if alike := !a.strict() && slices.Equal(wordsIn(a), wordsIn(b)); !alike {
				same = false
				if a.Loose != "" {
					t.Errorf("%s: %q has the words %q, want %q", f.name, a.Text, wordsIn(a), wordsIn(b))
				}
			}
		}
		if same {
			continue
		}
		if _, ok := plain[f.words]; !ok {
			plain[f.words] = first(f.words)
		}
		n := first(f.form)
		t.Logf("%-20s %d of %d, %d in plain words", f.name, n, len(queries), plain[f.words])
		if n < plain[f.words] {
			t.Errorf("%s: %d of %d questions at 1, %d in plain words", f.name, n, len(queries), plain[f.words])
		}
	}
}

func wordsIn(q *Query) (all []string) {
	for _, l := range q.leaves {
		all = append(all, l.parts...)
	}
	return all
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`a "b`, "((((a", "x:y", "a AND", "NOT", `"a b"~5 title:"x`, "\xff\xfe\"", strings.Repeat("é", 5000), "*a* AND b", `NOT "a b`} {
		f.Add(s)
	}
	layer := layerOf(zoo, 0)
	f.Fuzz(func(t *testing.T, s string) {
		q := Read(s, standardFields)
		if len(q.leaves) > MaxTerms || len(q.Text) > MaxQuery || !utf8.ValidString(q.Loose) {
			t.Fatalf("%d words of %d bytes, loose %q", len(q.leaves), len(q.Text), q.Loose)
		}
		r, err := q.Find(context.Background(), []Layer{layer}, Options{Stem: stem})
		if err != nil {
			t.Fatalf("Find(%q): %v", s, err)
		}
		strict, err := Parse(s, standardFields)
		if err != nil {
			return
		}
		if want, err := strict.Rank(context.Background(), []Layer{layer}, Options{Stem: stem}); err == nil && want.Total > 0 && (want.Total != r.Total || r.Loose != "") {
			t.Fatalf("Find(%q): %d hits, loose %q; the language finds %d", s, r.Total, r.Loose, want.Total)
		}
	})
}
