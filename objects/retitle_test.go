package objects

import (
	"strings"
	"testing"
)

// FuzzRetitled: only lines of metadata that say the old id change, and nothing panics.
func FuzzRetitled(f *testing.F) {
	f.Add("---\nid: style\ncategory: acme\n---\nid: style\n")
	f.Add("```yaml\nid: 'style' # x\n```\n")
	f.Add("---\n")
	to, err := ParseRef("knowledge:acme/sub/manners")
	if err != nil {
		f.Fatal(err)
	}
	from, err := ParseRef("knowledge:acme/style")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		it := &Item{Ref: from, Path: "knowledge/acme/style.md", Body: []byte(text)}
		was, is := strings.SplitAfter(text, "\n"), strings.SplitAfter(string(Retitled(it, to).Body), "\n")
		if len(was) != len(is) {
			t.Fatalf("%q became %q", was, is)
		}
		for i := range was {
			if was[i] != is[i] && naming().FindString(was[i]) == "" {
				t.Fatalf("line %d: %q became %q", i, was[i], is[i])
			}
		}
	})
}
