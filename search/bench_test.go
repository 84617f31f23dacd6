package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// madeUp is made up of syllables: so many words, the first the most frequent.
func madeUp(n int) (words []string) {
	syllables := strings.Fields("ka lo mi ne ru sa ti vo be du fa gi ho ju ple stra con pre ver tion ing ment")
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for len(words) < n {
		w := ""
		for range 2 + rng.IntN(3) {
			w += syllables[rng.IntN(len(syllables))]
		}
		if !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	return words
}

func manyDocs(n int) (docs []*Doc) {
	words := madeUp(20_000)
	rng := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(rng, 1.1, 4, uint64(len(words)-1))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[zipf.Uint64()] + " ")
		}
		return b.String()
	}
	for i := range n {
		name := fmt.Sprintf("%s_%s_%d", words[rng.IntN(len(words))], words[rng.IntN(len(words))], i)
		docs = append(docs, &Doc{ID: "tool:acme/" + name, Body: text(500), Fields: []Text{{"name", name}, {"title", text(4)}, {"description", text(12)}, {"tags", text(3)}, {"category", "acme"}, {"id", "acme/" + name}}})
	}
	return docs
}

func BenchmarkRank(b *testing.B) {
	docs := manyDocs(10_000)
	one := []Layer{layerOf(docs, 0)}
	three := []Layer{layerOf(docs[:200], 0), layerOf(docs[200:5000], 1), layerOf(docs[5000:], 2)}
	o := standardOptions(b)
	o.Most = 10
	words := madeUp(20_000)
	for _, c := range []struct{ name, query string }{
		{"one rare word", words[5000]}, {"one frequent word", words[0]}, {"two words", words[40] + " " + words[3000]},
		{"a question", "how do I " + words[10] + " the " + words[200] + " of a " + words[1000] + " when the " + words[90] + " is " + words[7000]},
		{"a typo", words[300] + "x"}, {"a phrase", `"` + words[0] + " " + words[1] + `"`}, {"a pattern", words[10][:3] + "*"},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.query, one, o) })
		b.Run(c.name+"/three layers", func(b *testing.B) { benchmark(b, c.query, three, o) })
	}
}

func benchmark(b *testing.B, query string, layers []Layer, o Options) {
	b.ReportAllocs()
	hits := 0
	for b.Loop() {
		q, err := Parse(query, nil)
		if err != nil {
			b.Fatal(err)
		}
		r, err := q.Rank(context.Background(), layers, o)
		if err != nil {
			b.Fatal(err)
		}
		hits = r.Total
	}
	b.ReportMetric(float64(hits), "hits")
}

func BenchmarkTerms(b *testing.B) {
	docs := manyDocs(100)
	a := Analyzer{Stem: stem, Weights: standardWeights}
	size := 0
	for _, d := range docs {
		size += len(d.Body)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, d := range docs {
			a.Terms(d)
		}
	}
}
