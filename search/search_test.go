package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// weights are those of the standard library's extractors.
var weights = Weights{{"name", 3}, {"title", 3}, {"description", 2}, {"tags", 2}, {"category", 1.5}, {"id", 1}}

var docs = weighted([]Doc{
	{ID: "tool:acme/pump", Name: "pump", Description: "Drain the water pump", Category: "acme", Tags: []string{"water", "hydraulics"}},
	{ID: "tool:acme/pump_curve", Name: "pump_curve", Description: "Plot a curve of flow", Category: "acme"},
	{ID: "knowledge:acme/valves", Name: "valves", Title: "Valves and pumps", Description: "How valves fail", Category: "acme", Rank: 1},
	{ID: "directive:rye/authoring/create_tool", Name: "create_tool", Description: "Write a new tool", Category: "rye/authoring", Rank: 2},
	{ID: "tool:acme/uebung", Name: "uebung", Description: "Übung macht den Meister", Category: "acme"},
})

func weighted(docs []Doc) []Doc {
	for i := range docs {
		docs[i].Weights = weights
	}
	return docs
}

// The golden list: what each query must find, best first.
func TestGolden(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"pump", "tool:acme/pump tool:acme/pump_curve knowledge:acme/valves"},
		{"PUMP", "tool:acme/pump tool:acme/pump_curve knowledge:acme/valves"},
		{"pump AND valves", "knowledge:acme/valves"},
		{"pump valves", "knowledge:acme/valves"},
		{"pump NOT valves", "tool:acme/pump tool:acme/pump_curve"},
		{"not acme", "directive:rye/authoring/create_tool"},
		{`"water pump"`, "tool:acme/pump"},
		{`description:"water pump"`, "tool:acme/pump"},
		{"name:valves OR name:create*", "knowledge:acme/valves directive:rye/authoring/create_tool"},
		{"hydr*", "tool:acme/pump"},
		{"c*e", "tool:acme/pump_curve directive:rye/authoring/create_tool"},
		{"tags:water", "tool:acme/pump"},
		{"(pump OR valves) AND plot", "tool:acme/pump_curve"},
		{"übung", "tool:acme/uebung"},
		{"nothing", ""},
		{`"AND"`, "knowledge:acme/valves"},
	} {
		q, err := Parse(c.query)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.query, err)
			continue
		}
		var got []string
		for _, m := range Rank(q, docs) {
			got = append(got, docs[m.Index].ID)
			if m.Score <= 0 || m.Score > 1 {
				t.Errorf("%q: score %v of %s, want above 0 and at most 1", c.query, m.Score, docs[m.Index].ID)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q = %q, want %q", c.query, strings.Join(got, " "), c.want)
		}
	}
}

func TestEverything(t *testing.T) {
	for _, query := range []string{"", "*", "  ", "**"} {
		q, err := Parse(query)
		if err != nil || len(Rank(q, docs)) != len(docs) {
			t.Errorf("%q found %d of %d, %v", query, len(Rank(q, docs)), len(docs), err)
		}
	}
}

// What an extractor says changes which document comes first, whether a field is
// searched at all, and what may stand before a colon.
func TestWeights(t *testing.T) {
	two := weighted([]Doc{
		{ID: "knowledge:a/x", Name: "x", Title: "Pump"},
		{ID: "knowledge:a/y", Name: "y", Description: "pump", More: []Text{{"team", "Platform"}}},
	})
	order := func(query string, more ...string) string {
		q, err := Parse(query, more...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range Rank(q, two) {
			got = append(got, two[m.Index].Name)
		}
		return strings.Join(got, " ")
	}
	if got := order("pump"); got != "x y" {
		t.Errorf("by the standard weights: %q", got)
	}
	if got := order("team:platform"); got != "" {
		t.Errorf("a field that nobody weighs: %q", got)
	}
	for i := range two {
		two[i].Weights = Weights{{"description", 9}, {"team", 2}, {"title", 1}, {"content", 5}}
	}
	for query, want := range map[string]string{"pump": "y x", "platform": "y", "team:platform": "y", `team:"platform"`: "y", "name:x": "", "team:pump": ""} {
		if got := order(query, "team"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	two[1].Weights = nil
	if got := order("*"); got != "x y" {
		t.Errorf("everything: %q", got)
	}
	if got := order("pump"); got != "x" {
		t.Errorf("without weights: %q", got)
	}
}

// Every document that contains a word is found by it, wherever the word stands.
func TestRecall(t *testing.T) {
	var all []Doc
	for i := range 1000 {
		all = append(all, Doc{ID: fmt.Sprintf("knowledge:acme/n%04d", i), Name: "n", Description: strings.Repeat("x ", i%50*10) + "pump"})
	}
	q, _ := Parse("pump")
	if got := len(Rank(q, weighted(all))); got != 1000 {
		t.Errorf("found %d of 1000", got)
	}
}

func TestRefused(t *testing.T) {
	for _, query := range []string{"(", "a AND", "OR b", "a )", `"open`, "NOT", strings.Repeat("(", 100) + "a", strings.Repeat("a ", 200), strings.Repeat("a", MaxQuery+1)} {
		if _, err := Parse(query); !fault.Is(err, fault.Usage) {
			t.Errorf("Parse(%.20q) = %v, want a usage error", query, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a AND (b OR NOT c)", `name:"x y" z*`, "((", "NOT NOT a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if q, err := Parse(s); err == nil {
			Rank(q, docs)
		}
	})
}

func BenchmarkRank10000(b *testing.B) {
	var all []Doc
	for i := range 10000 {
		all = append(all, Doc{ID: fmt.Sprintf("tool:acme/n%05d", i), Name: fmt.Sprintf("n%05d", i), Description: "Drain the water pump slowly and with care"})
	}
	q, _ := Parse("pump AND care")
	weighted(all)
	for b.Loop() {
		Rank(q, all)
	}
}
