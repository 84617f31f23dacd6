package search

import (
	"slices"
	"strings"
	"testing"
)

func TestVocabularyText(t *testing.T) {
	v := standardOptions(t).Words
	got, err := ParseVocabulary(v.Text())
	if err != nil || got.Text() != v.Text() || !got.saysLittle("the") || !slices.Equal(got.of(synonym, "url"), v.of(synonym, "url")) || len(v.of(synonym, "url")) == 0 {
		t.Errorf("%v; url is about the same as %q, want %q", err, got.of(synonym, "url"), v.of(synonym, "url"))
	}
	for _, text := range []string{"x", "=a", "=a\tb", "?a\tb\n", "=\tb\n", "=b\t\n=a\t\n", "=a\t\n=a\t\n", "\n"} {
		if _, err := ParseVocabulary(text); err == nil {
			t.Errorf("ParseVocabulary(%q) took it", text)
		}
	}
}

func headsOf(text string) (heads []string) {
	for line := range strings.Lines(text) {
		head, _, _ := strings.Cut(line, "\t")
		heads = append(heads, head)
	}
	return heads
}

func FuzzVocabulary(f *testing.F) {
	f.Add("&lockfil\tlock+file\n+time off\tvacat leav\n=wrote\twrite\ncthe\t\nwfind\t\n~fetch\tdownload get\n", "fetch")
	f.Fuzz(func(t *testing.T, text, word string) {
		v, err := ParseVocabulary(text)
		if err != nil {
			return
		}
		if v.Text() != text {
			t.Fatalf("%q became %q", text, v.Text())
		}
		for _, kind := range []string{compound, phrase, sameWord, commonWord, weakWord, synonym} {
			if _, ok := v.line(kind, word); ok != slices.Contains(headsOf(text), kind+word) {
				t.Fatalf("%s%s is found: %v", kind, word, ok)
			}
		}
	})
}
