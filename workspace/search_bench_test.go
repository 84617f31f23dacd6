package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

// BenchmarkSearch is a search of 10,000 items by a program that stays: the spaces are looked
// at each time, so that nothing is stale.
func BenchmarkSearch(b *testing.B) {
	p := project(b)
	rng := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(rng, 1.1, 4, 20_000)
	for i := range 10_000 {
		var text strings.Builder
		for range 500 {
			fmt.Fprintf(&text, "w%dord ", zipf.Uint64())
		}
		p.write(fmt.Sprintf("knowledge/acme/g%d/n%d.md", i%100, i), fmt.Sprintf("---\nid: n%d\ntitle: Note %d\nversion: 1.0.0\nentry_type: reference\ncategory: acme\n---\n%s\nneedle%d\n", i, i, text.String(), i))
	}
	for _, c := range []struct{ name, query string }{{"everything", "*"}, {"one word", "needle77"}, {"two words", "w40ord w3000ord"}, {"a frequent word", "w1ord"}, {"a question", "how do I w10ord the w200ord of a w1000ord when the w90ord is w7000ord"}} {
		p.Search(b.Context(), rye.Terminal(), rye.SearchRequest{Query: c.query})
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Search(b.Context(), rye.Terminal(), rye.SearchRequest{Query: c.query}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
