package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace"
)

func noteOf(text string) string {
	return "---\nid: note\ntitle: Note\nversion: 1.0.0\nentry_type: reference\ncategory: acme\n---\n\n" + text + "\n"
}

func (p *person) finds(query string) (refs []string, res *rye.SearchResult) {
	p.t.Helper()
	res, err := p.Search(p.t.Context(), rye.Terminal(), rye.SearchRequest{Query: query, Space: "project", Explain: true})
	if err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	for _, h := range res.Results {
		refs = append(refs, h.Ref)
	}
	return refs, res
}

// A program that was handed no index finds what the catalogue knows, and says that it knows no
// more: it never answers less than was asked.
func TestSearchWithoutAnIndex(t *testing.T) {
	p := project(t)
	p.write("knowledge/acme/note.md", noteOf("reservoir"))
	with, err := p.Search(t.Context(), rye.Terminal(), rye.SearchRequest{Query: "*", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	o := p.o
	o.Index, o.Project = nil, p.dir
	w := workspace.Open(o)
	without, err := w.Search(t.Context(), rye.Terminal(), rye.SearchRequest{Query: "*", Limit: 1000})
	if err != nil || fmt.Sprintf("%+v", with) != fmt.Sprintf("%+v", without) {
		t.Errorf("everything is %+v, %v without an index, %+v with", without, err, with)
	}
	if _, err := w.Search(t.Context(), rye.Terminal(), rye.SearchRequest{Query: "reservoir"}); !fault.Is(err, fault.Failed) || !strings.Contains(err.Error(), "no word search") {
		t.Errorf("a word without an index: %v", err)
	}
}

// The project's own synonyms count; those that nobody signed do not, which is said, and
// everything is found all the same.
func TestSearchSynonyms(t *testing.T) {
	p := project(t)
	p.write("knowledge/acme/note.md", noteOf("the quixotic reservoir"))
	p.finds("zanyish") // by the library's words, which are remembered
	p.write("config/rye/search.yaml", "version: \"1.0.0\"\ncategory: rye\ndescription: words\nsynonyms:\n  - [quixotic, zanyish]\n")
	if refs, res := p.finds("reservoir"); len(refs) == 0 || refs[0] != "knowledge:acme/note" || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "config:rye/search is not used") {
		t.Errorf("unsigned synonyms: %v, notes %q", refs, res.Notes)
	}
	if _, err := p.Trust().Override(t.Context(), rye.Terminal(), rye.TrustOverrideRequest{Ref: refOf("config:rye/search")}); err != nil {
		t.Fatal(err)
	}
	p.sign("config:rye/search")
	refs, res := p.finds("zanyish")
	if !slices.Contains(refs, "knowledge:acme/note") || res.Results[0].Guess || len(res.Notes) > 0 {
		t.Errorf("a synonym finds %v, notes %q", refs, res.Notes)
	}
	if w := res.Words; len(w) != 1 || !slices.ContainsFunc(w[0].Forms, func(f rye.SearchForm) bool { return f.Form == "quixot" && f.Kind == "synonym" }) {
		t.Errorf("it is explained as %+v", w)
	}
}

// A model that may not search everything learns nothing of the rest: not that a word is there,
// and not by a score.
func TestSearchScoresTellNothing(t *testing.T) {
	p := project(t)
	p.write("knowledge/acme/mine.md", strings.Replace(noteOf("the reservoir and the weir"), "note", "mine", 1))
	c := rye.Program("somebody", "rye.search.knowledge.acme.*")
	q := rye.SearchRequest{Query: "reservoir", Space: "project"}
	before, err := p.Search(t.Context(), c, q)
	if err != nil || before.Total != 1 {
		t.Fatal(before, err)
	}
	for i := range 30 {
		p.write(fmt.Sprintf("knowledge/secret/n%d.md", i), strings.Replace(noteOf("the reservoir of the sluiceway"), "note", fmt.Sprint("n", i), 1))
	}
	after, err := p.Search(t.Context(), c, q)
	if err != nil || after.Total != 1 || after.Results[0].Score != before.Results[0].Score {
		t.Errorf("the score was %v and is %v (%v)", before.Results[0].Score, after.Results, err)
	}
	hidden, err := p.Search(t.Context(), c, rye.SearchRequest{Query: "sluicewa", Space: "project", Explain: true})
	if err != nil || hidden.Total != 0 || strings.Contains(fmt.Sprintf("%+v", hidden), "sluiceway") {
		t.Errorf("a word of what is not to be seen: %+v, %v", hidden, err)
	}
}

// One that nobody used for long goes, and what somebody left who died.
func TestCollectIndexes(t *testing.T) {
	p := project(t)
	p.write("knowledge/acme/note.md", noteOf("reservoir"))
	p.finds("reservoir")
	files, _ := filepath.Glob(filepath.Join(p.home, "cache", "search", "*", "*.rows"))
	if len(files) == 0 {
		t.Fatal("no index")
	}
	folder := filepath.Dir(files[0])
	left := filepath.Join(folder, ".rye-tmp-0123.zap")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	day := p.o.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(left, day, day); err != nil {
		t.Fatal(err)
	}
	gc := func() {
		t.Helper()
		if _, err := p.Upkeep().GC(t.Context(), rye.Terminal(), rye.GCRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	gc()
	if _, err := os.Stat(left); err == nil {
		t.Error("what somebody left is still there")
	}
	if _, err := os.Stat(files[0]); err != nil {
		t.Error("a new index is gone")
	}
	all, _ := filepath.Glob(filepath.Join(folder, "*"))
	year := p.o.Now().Add(-365 * 24 * time.Hour)
	for _, f := range all {
		if err := os.Chtimes(f, year, year); err != nil {
			t.Fatal(err)
		}
	}
	gc()
	if _, err := os.Stat(folder); err == nil {
		t.Error("an old index is still there")
	}
	if refs, _ := p.finds("reservoir"); len(refs) != 1 {
		t.Errorf("it finds %v", refs)
	}
}
