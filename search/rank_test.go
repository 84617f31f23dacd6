package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/rye-os/rye/fault"
)

var propertyWords = strings.Fields("deploy deploys server file files read the how urgent café naïve build_all readFile web fetch webfetch lint x9 fix fixed")

// drawDocs draws items of few words, so that they are alike.
func drawDocs(t *rapid.T) (docs []*Doc) {
	word := rapid.SampledFrom(propertyWords)
	for i := range rapid.IntRange(1, 12).Draw(t, "docs") {
		text := func(name string, n int) string {
			return strings.Join(rapid.SliceOfN(word, 0, n).Draw(t, name), " ")
		}
		docs = append(docs, doc(fmt.Sprintf("tool:a/%s%02d", text("name", 1), i), text("title", 3), text("description", 5), text("body", 10)))
	}
	return docs
}

func drawQuery(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(propertyWords, "AND", "OR", "NOT", `"read file"`, "title:lint", "dep*", "servr", "fil~")), 1, 6).Draw(t, "query"), " ")
}

func propertyOptions() Options {
	o := Options{Stem: stem, Words: NewVocabulary(stem, Words{Same: [][]string{{"fix", "mend"}}, Synonyms: [][]string{{"deploy", "ship"}, {"fetch", "read"}, {"web fetch", "file"}},
		Common: []string{"the", "how"}, Weak: []string{"read"}})}
	o.Explain = true
	return o
}

// listing is a ranking without what depends on how documents lie in layers.
func listing(r *Ranking, layers []Layer) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Total, r.AtLeast, r.Nearest, r.Groups)
	for _, h := range r.Hits {
		fmt.Fprintln(&b, idOf(layers, h), h.Score, h.Guess, *h.Why)
	}
	return b.String()
}

// TestLayersAlike: how documents lie in layers changes nothing, nor do those that nobody may see.
func TestLayersAlike(t *testing.T) {
	o := propertyOptions()
	rapid.Check(t, func(t *rapid.T) {
		docs, text := drawDocs(t), drawQuery(t)
		q, err := Parse(text, standardFields)
		if err != nil {
			return
		}
		one := []Layer{layerOf(docs, 0)}
		parts := make([][]*Doc, 3)
		for _, d := range docs {
			i := rapid.IntRange(0, 2).Draw(t, "layer")
			parts[i] = append(parts[i], d)
		}
		three := []Layer{layerOf(parts[0], 0), layerOf(parts[1], 0), layerOf(parts[2], 0)}
		n := len(docs)
		hidden := layerOf(append(slices.Clone(docs), drawDocs(t)...), 0)
		hidden.Visible = func(d int) bool { return d < n }
		var got [3]string
		for i, layers := range [][]Layer{one, three, {hidden}} {
			r, err := q.Rank(context.Background(), layers, o)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = listing(r, layers)
		}
		if got[0] != got[1] {
			t.Fatalf("%q in one layer:\n%s\nin three:\n%s", text, got[0], got[1])
		}
		if got[0] != got[2] {
			t.Fatalf("%q:\n%s\nbeside hidden items:\n%s", text, got[0], got[2])
		}
	})
}

// TestPages: a page is the same however long it is.
func TestPages(t *testing.T) {
	o := standardOptions(t)
	docs := manyDocs(600)
	words := madeUp(20_000)
	layer := layerOf(docs, 0)
	for _, text := range []string{words[0], words[1] + " " + words[5] + " " + words[40], "how do I " + words[3] + " the " + words[9]} {
		all := rank(t, text, o, layer)
		for _, most := range []int{1, 10, 49, 51, 300} {
			o.Most = most
			page := rank(t, text, o, layer)
			if want := all.Hits[:min(most, len(all.Hits))]; !slices.Equal(page.Hits, want) || page.Total != all.Total {
				t.Errorf("%q: %d hits of %d are not the first of all", text, most, page.Total)
			}
		}
		o.Most = 0
	}
}

// TestMoreWordsMoreWorth: of two items that are alike but that one says one word of the query
// more, in place of one that nobody asked for, this one is never behind the other.
func TestMoreWordsMoreWorth(t *testing.T) {
	o := propertyOptions()
	rapid.Check(t, func(t *rapid.T) {
		docs := drawDocs(t)
		words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"server", "lint", "urgent", "build", "deploy"}), 2, 4, rapid.ID).Draw(t, "words")
		say := func(title string) *Doc {
			return doc("tool:z/", title, words[0]+" thing", "")
		}
		with, without := say("other "+words[1]), say("other word")
		with.ID, without.ID = "tool:z/b", "tool:z/a"
		layer := layerOf(append(docs, without, with), 0)
		r := rank(t, strings.Join(words, " "), o, layer)
		score := map[string]float64{}
		for _, h := range r.Hits {
			score[idOf([]Layer{layer}, h)] = h.Score
		}
		if score[with.ID] < score[without.ID] {
			t.Fatalf("%q: %v with, %v without", words, score[with.ID], score[without.ID])
		}
	})
}

// TestWhy: what is said of a score is what it is made of.
func TestWhy(t *testing.T) {
	o := propertyOptions()
	rapid.Check(t, func(t *rapid.T) {
		docs, text := drawDocs(t), drawQuery(t)
		q, err := Parse(text, standardFields)
		if err != nil || q.Every() {
			return
		}
		r, err := q.Rank(context.Background(), []Layer{layerOf(docs, 0)}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			sum, w := 0.0, h.Why
			for _, x := range w.Words {
				sum += x.Amount
			}
			want := 1e-4
			if w.Most > 0 {
				want = max(want, (sum*w.Share+w.Whole)*w.Behind/w.Most)
			}
			want = min(want*w.Again.times(), 1)
			if math.Abs(want-h.Score) > 1e-3 {
				t.Fatalf("%q: %s has %v, its parts make %v: %+v", text, docs[h.Doc].ID, h.Score, want, *w)
			}
		}
	})
}

// TestHiddenWords: of a word that was typed in part, words that only hidden items say take no
// place from those that are seen.
func TestHiddenWords(t *testing.T) {
	docs := []*Doc{doc("tool:a/seen", "wordzzzzzzzz", "", "")}
	for i := range 40 {
		docs = append(docs, doc(fmt.Sprintf("tool:b/x%d", i), fmt.Sprintf("word%c%c", 'a'+i%26, 'a'+i/26), "", ""))
	}
	layer := layerOf(docs, 0)
	layer.Visible = func(d int) bool { return d == 0 }
	r := rank(t, "word", Options{Stem: stem}, layer)
	if r.Total != 1 || r.Hits[0].Guess || len(r.Nearest) > 0 || len(r.Groups[0].Forms) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestOrder(t *testing.T) {
	docs := []*Doc{
		doc("tool:a/hello", "Greet", "Says hello", "hello"),
		doc("tool:a/hello_hello", "Hello, hello", "Says hello hello hello", "hello hello hello"),
		doc("tool:a/greet", "Hello", "", ""),
		doc("tool:a/runtime", "Hello hello", "hello", "hello"),
		doc("tool:a/other", "Other", "", "says hello somewhere"),
	}
	docs[3].Runs = true
	for _, c := range []struct{ query, want string }{
		{"hello", "hello greet hello_hello runtime other"},
		{"tool:a/hello", "hello"},
		{"a/hello", "hello"},
		{"hello hello", "hello_hello"},
		{"please, the hello", "hello"},
		{"hello runtime", "runtime"},
		{"runtime", "runtime"},
	} {
		var got []string
		for _, h := range rank(t, c.query, standardOptions(t), layerOf(docs, 0)).Hits {
			got = append(got, short(docs[h.Doc].ID))
		}
		if want := strings.Fields(c.want); !slices.Equal(got[:min(len(got), len(want))], want) {
			t.Errorf("%q: %v, want %v first", c.query, got, want)
		}
	}
	a, b := layerOf(docs[:1], 2), layerOf([]*Doc{doc("tool:z/hello", "Greet", "Says hello", "hello")}, 0)
	if r := rank(t, "hello", Options{Stem: stem}, a, b); r.Hits[0].Layer != 1 || r.Hits[0].Score != r.Hits[1].Score {
		t.Errorf("%+v: equal ones stand in the order of their layers", r.Hits)
	}
}

// TestNearest: what is found only by words that are near is a guess, and the words are shown
// as items spell them.
func TestNearest(t *testing.T) {
	docs := []*Doc{
		doc("tool:a/one", "Directories and services", "Restarting", "Deployments of webservices"),
		doc("tool:a/two", "Nginx", "", "nginx"),
	}
	for _, c := range []struct {
		query, nearest string
		guess          map[string]bool
	}{
		{"directoris", "", map[string]bool{"one": false}}, // of the same stem
		{"directoires", "directories", map[string]bool{"one": true}},
		{"restarting", "", map[string]bool{"one": false}},
		{"ngnix", "nginx", map[string]bool{"two": true}},
		{"nginx directoires", "directories", map[string]bool{"one": true, "two": false}},
		{"bservice", "services webservices", map[string]bool{"one": true}},
		{"qqqqqqq", "", map[string]bool{}},
		{"*", "", map[string]bool{"one": false, "two": false}},
		{"directories~", "", map[string]bool{"one": false}},
	} {
		r := rank(t, c.query, Options{Stem: stem}, layerOf(docs, 0))
		if got := strings.Join(r.Nearest, " "); got != c.nearest {
			t.Errorf("%q: nearest %q, want %q", c.query, got, c.nearest)
		}
		if len(r.Hits) != len(c.guess) {
			t.Errorf("%q: %d hits, want %d", c.query, len(r.Hits), len(c.guess))
		}
		for _, h := range r.Hits {
			if want, ok := c.guess[short(docs[h.Doc].ID)]; !ok || want != h.Guess {
				t.Errorf("%q: %s, guess %v", c.query, docs[h.Doc].ID, h.Guess)
			}
		}
	}
}

// TestEveryItemWithAWord: a word that stands once in a long text is found there.
func TestEveryItemWithAWord(t *testing.T) {
	var docs []*Doc
	for i := range 1000 {
		docs = append(docs, doc(fmt.Sprintf("knowledge:a/k%d", i), "", "", strings.Repeat("filler ", i)+"needle "+strings.Repeat("more ", 1000-i)))
	}
	o := standardOptions(t)
	o.Most = 10
	for _, query := range []string{"needle", "needles", "needle unheard", `"needle more"`, "body:needle", "need*"} {
		if r := rank(t, query, o, layerOf(docs, 0)); r.Total != 1000 && query != `"needle more"` || r.Total < 999 || r.AtLeast {
			t.Errorf("%q: %d of 1,000, at least %v", query, r.Total, r.AtLeast)
		}
	}
}

// TestTooMuchText: a phrase that would have more texts looked at than the bound is an error.
func TestTooMuchText(t *testing.T) {
	d := doc("knowledge:a/big", "", "", "two words "+strings.Repeat("x ", 1<<20))
	layer := layerOf([]*Doc{d}, 0)
	m := &Mem{}
	terms := (&Analyzer{Stem: stem, Weights: standardWeights}).Terms(d)
	for range 100 {
		m.Add(terms)
	}
	layer.Source = m.Done()
	layer.Order = func(i int) int { return i }
	layer.Doc = func(int) (*Doc, error) { return d, nil }
	q, err := Parse(`"words two"`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = q.Rank(context.Background(), []Layer{layer}, Options{Stem: stem}); !fault.Is(err, fault.Limit) {
		t.Errorf("%v", err)
	}
}

// TestPhrasesByBytes: looking for bytes first finds a phrase where taking the text apart finds it.
func TestPhrasesByBytes(t *testing.T) {
	piece := rapid.SampledFrom([]string{"read", "file", "Read", "readFile", "read_file", "dont", "don't", "file's", "is", "a", "--", " = ", ",", "\n\n", "é", "x", "unread", "files", "(file)"})
	gap := rapid.SampledFrom([]string{" ", " ", " ", "", "\n", "  "})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat("filler text, that is none of it; ", rapid.IntRange(8, 9).Draw(t, "filler"))
		for range rapid.IntRange(0, 30).Draw(t, "pieces") {
			text += piece.Draw(t, "piece") + gap.Draw(t, "gap")
		}
		query := rapid.SampledFrom([]string{`"read file"`, `"file is"`, `"dont read"`, `"a read file"`, `"read file"~2`, `"file x"~1`, `"readfile"`, `"read"`}).Draw(t, "query")
		q, err := Parse(query, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := q.leaves[0].newChecker(stem)
		fast, slow := c.find(text), c.scan(text)
		if (fast == nil) != (slow == nil) || fast != nil && (fast.end > len(text) || squeeze(text[fast.start:fast.end]) == "") {
			t.Fatalf("%s in %q: %v by bytes, %v by words", query, text, fast, slow)
		}
	})
}

func TestPlaces(t *testing.T) {
	d := doc("tool:a/x", "Read files", "", "First line\nthe readFile call\nreading a file")
	r := rank(t, "read file", Options{Stem: stem}, layerOf([]*Doc{d}, 0))
	var got []string
	for _, p := range r.Places(d, stem, 100) {
		got = append(got, fmt.Sprintf("%s:%d %s=%s", p.Field, p.Line, p.Word, d.field(p.Field)[p.Start:p.End]))
	}
	want := []string{"title:1 read=Read", "title:1 file=files", "body:2 read=readFile", "body:3 read=reading", "body:3 file=file"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(r.Places(d, stem, 2)); n != 2 {
		t.Errorf("%d places, want 2 at most", n)
	}
}

// TestFold: a letter is folded as Unicode takes it apart; what is left are letters that are
// written with a stroke, or as two.
func TestFold(t *testing.T) {
	other := map[rune]string{'Ø': "o", 'ø': "o", 'Đ': "d", 'đ': "d", 'Ð': "d", 'ð': "d", 'Ħ': "h", 'ħ': "h", 'ı': "i", 'ĸ': "k", 'Ł': "l", 'ł': "l",
		'Ŋ': "n", 'ŋ': "n", 'ŉ': "n", 'Ŧ': "t", 'ŧ': "t", 'ſ': "s", 'Ŀ': "l", 'ŀ': "l"}
	for r := rune(0xC0); r <= 0x17F; r++ {
		if !unicode.IsLetter(r) {
			continue
		}
		want, ok := other[r]
		if !ok {
			want = pairs[r]
		}
		if want == "" {
			for _, x := range norm.NFD.String(strings.ToLower(string(r))) {
				if !unicode.Is(unicode.Mn, x) {
					want += string(x)
				}
			}
		}
		if got := string(fold(nil, r)); got != want {
			t.Errorf("fold(%q) = %q, want %q", r, got, want)
		}
	}
}

// TestFoldAlike: composed or not, in capitals or not, a word is the same.
func TestFoldAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.RuneFrom(nil, latin1), 1, 12).Draw(t, "word"))
		for _, same := range []string{norm.NFD.String(s), norm.NFC.String(s), strings.ToLower(s)} {
			if a, b := squeeze(s), squeeze(same); a != b {
				t.Fatalf("%q is %q, %q is %q", s, a, same, b)
			}
		}
	})
}

var latin1 = &unicode.RangeTable{R16: []unicode.Range16{{'a', 'z', 1}, {0xC0, 0xD6, 1}, {0xD8, 0xF6, 1}, {0xF8, 0x130, 1}}}
