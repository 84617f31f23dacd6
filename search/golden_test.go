package search

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"gopkg.in/yaml.v3"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
)

// The golden lists say which items people and models wanted when they asked. testdata/golden/README.md
// tells who wrote them, and what they had seen.

// stem is what the index takes for stems.
func stem(w string) string {
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
}

// standardWeights are those of the library's extractors.
var standardWeights = Weights{{"name", 3}, {"title", 3}, {"description", 2}, {"tags", 2}, {"examples", 1.5}, {"category", 1.5}, {"id", 1}, {Body, BodyWeight}}

var standardFields = []string{"name", "title", "description", "tags", "examples", "category", "id", "author", "kind", Body}

type goldenItem struct {
	Ref, Title, Description, Category, Body string
	Tags                                    []string
	Parameters                              []map[string]string
}

type goldenQuery struct {
	Class, Query, Scope string
	Want                []string // none: nothing may be found
}

func readGolden[T interface{}](t testing.TB, path string) (all []T) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &all); err != nil {
		t.Fatal(path, err)
	}
	return all
}

func (it goldenItem) doc() *Doc {
	_, id, _ := strings.Cut(it.Ref, ":")
	d := &Doc{ID: it.Ref, Body: it.Body, Fields: []Text{{"name", id[strings.LastIndexByte(id, '/')+1:]}, {"title", it.Title}, {"description", it.Description},
		{"tags", strings.Join(it.Tags, " ")}, {"category", it.Category}, {"id", id}}}
	for _, p := range it.Parameters {
		d.Body += "\n" + p["name"] + ": " + p["description"]
	}
	return d
}

// library are the items of the standard library.
func library(t testing.TB) (docs []*Doc) {
	err := fs.WalkDir(stdlib.Files(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(stdlib.Files(), path)
		if err != nil {
			return err
		}
		it, err := objects.Parse(path, raw)
		if err != nil {
			return nil // the manifest and its kind
		}
		m := it.Meta
		d := &Doc{ID: it.Ref.String(), Body: string(it.Body), Fields: []Text{{"name", m.Name}, {"title", m.Title}, {"description", m.Description},
			{"tags", strings.Join(m.Tags, " ")}, {"examples", m.Questions()}, {"category", m.Category}, {"id", string(it.Ref.ID)}}}
		d.Runs = slices.Contains([]string{"runtime", "primitive", "extractor", "provider", "loop"}, string(m.ToolType)) || it.Ref.Kind == "config"
		docs = append(docs, d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Slice(docs, func(i, j int) bool { return docs[i].ID < docs[j].ID })
	return docs
}

// layerOf is a layer of documents, of which equals are ordered by their ids.
func layerOf(docs []*Doc, rank int) Layer {
	for _, d := range docs {
		byID.add(d.ID)
	}
	a := Analyzer{Stem: stem, Weights: standardWeights}
	m := &Mem{}
	for _, d := range docs {
		m.Add(a.Terms(d))
	}
	return Layer{Source: m.Done(), Rank: rank, Order: func(i int) int { return byID.of(docs[i].ID) }, Doc: func(i int) (*Doc, error) { return docs[i], nil }}
}

// byID orders the ids of all documents of the tests.
var byID = ids{at: map[string]int{}}

type ids struct {
	mu     sync.Mutex
	at     map[string]int
	sorted bool
}

func (o *ids) add(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.at[id]; !ok {
		o.at[id], o.sorted = 0, false
	}
}

func (o *ids) of(id string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sorted {
		for i, id := range slices.Sorted(maps.Keys(o.at)) {
			o.at[id] = i
		}
		o.sorted = true
	}
	return o.at[id]
}

// idOf is the id of what was found.
func idOf(layers []Layer, h Hit) string {
	d, err := layers[h.Layer].Doc(h.Doc)
	if err != nil {
		return err.Error()
	}
	return d.ID
}

// standardOptions are what the library knows of words.
func standardOptions(t testing.TB) Options {
	raw, err := fs.ReadFile(stdlib.Files(), "config/rye/search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var w Words
	if err := yaml.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	return Options{Stem: stem, Words: NewVocabulary(stem, w)}
}

// tally is how well a class of queries did.
type tally struct {
	n, first, third, none int
	mrr, shared           float64
}

func (y *tally) add(at, hits int, shared float64) {
	y.n++
	y.shared += shared
	if hits == 0 {
		y.none++
	}
	if at > 0 {
		y.mrr += 1 / float64(at)
	}
	if at == 1 {
		y.first++
	}
	if at > 0 && at <= 3 {
		y.third++
	}
}

func (y *tally) String() string {
	n := float64(y.n)
	return fmt.Sprintf("n %3d  success@1 %.2f  @3 %.2f  MRR %.2f  without hits %d  words in common %.2f", y.n, float64(y.first)/n, float64(y.third)/n, y.mrr/n, y.none, y.shared/n)
}

// floor is what a class of a list has to reach.
type floor struct{ first, third float64 }

// goldenFloors stand a little below what was measured, so that data may grow.
var goldenFloors = map[string]map[string]floor{
	"stdlib36": {"question": {0.94, 0.95}},
	"open": {"question": {0.73, 0.91}, // the library has examples, and the corpus none
		"exact": {0.97, 0.97}, "phrase": {0.97, 0.97}, "field": {0.97, 0.97}, "partial": {0.95, 0.97},
		"body": {0.95, 0.97}, "typo": {0.92, 0.97}, "synonym": {0.80, 0.80}, "identifier": {0.85, 0.92}, "language": {0.97, 0.97}, "scope": {0.97, 0.97}},
	"everyday": {"question": {0.82, 0.92}},
	"kept":     {"question": {0.75, 0.91}, "exact": {0.97, 0.97}, "phrase": {0.97, 0.97}, "field": {0.97, 0.97}, "scope": {0.97, 0.97}},
}

func TestGolden(t *testing.T) {
	const dir = "testdata/golden/"
	var docs []*Doc
	for _, it := range readGolden[goldenItem](t, dir+"corpus.yaml") {
		docs = append(docs, it.doc())
	}
	lib := layerOf(library(t), 2)
	both := []Layer{layerOf(docs, 0), lib}
	o := standardOptions(t)
	for _, set := range []struct {
		name   string
		layers []Layer
	}{{"stdlib36", []Layer{lib}}, {"open", both}, {"everyday", both}, {"kept", both}} {
		t.Run(set.name, func(t *testing.T) {
			classes := map[string]*tally{}
			for _, gq := range readGolden[goldenQuery](t, dir+set.name+".yaml") {
				at, hits, shared := ask(t, gq, set.layers, o)
				for _, c := range []string{gq.Class, "all"} {
					if classes[c] == nil {
						classes[c] = &tally{}
					}
					classes[c].add(at, hits, shared)
				}
			}
			judge(t, classes, goldenFloors[set.name])
		})
	}
}

// judge prints what was reached, and compares it with what has to be.
func judge(t *testing.T, classes map[string]*tally, floors map[string]floor) {
	names := make([]string, 0, len(classes))
	for c := range classes {
		names = append(names, c)
	}
	sort.Strings(names)
	for _, c := range names {
		y := classes[c]
		t.Logf("%-9s %s", c, y)
		f := floors[c]
		if n := float64(y.n); float64(y.first)/n < f.first || float64(y.third)/n < f.third {
			t.Errorf("%s: want success@1 %.2f and @3 %.2f", c, f.first, f.third)
		}
	}
	for c := range floors {
		if classes[c] == nil {
			t.Errorf("no query of the class %s", c)
		}
	}
}

// ask returns the place of the first item that is wanted, 0 for none, how many were found, and
// the share of the query's words that this item says outside of its body.
func ask(t *testing.T, gq goldenQuery, layers []Layer, o Options) (at, hits int, shared float64) {
	q, err := Parse(gq.Query, standardFields)
	if err != nil {
		t.Errorf("%q: %v", gq.Query, err)
		return 0, 0, 0
	}
	layers = slices.Clone(layers)
	for i := range layers {
		if gq.Scope != "" {
			layers[i].Visible = func(d int) bool { return inScope(idOf(layers, Hit{Layer: i, Doc: d}), gq.Scope) }
		}
	}
	got, err := q.Rank(context.Background(), layers, o)
	if err != nil {
		t.Errorf("%q: %v", gq.Query, err)
		return 0, 0, 0
	}
	if len(gq.Want) == 0 && len(got.Hits) == 0 {
		return 1, 1, 1
	}
	var top []string
	for i, h := range got.Hits {
		id := idOf(layers, h)
		if slices.Contains(gq.Want, id) {
			at = i + 1
			doc, err := layers[h.Layer].Doc(h.Doc)
			if err != nil {
				t.Fatal(err)
			}
			shared = sharedWords(q, doc, o)
			break
		}
		if i < 3 {
			top = append(top, fmt.Sprintf("%s %.3f", id, h.Score))
		}
	}
	if at != 1 && os.Getenv("MISSES") != "" {
		t.Logf("%s, place %d: %q, want %v, got %s", gq.Class, at, gq.Query, gq.Want, strings.Join(top, ", "))
	}
	return at, len(got.Hits), shared
}

// sharedWords is the share of the words of a query, those that say little left out, that stand in
// the fields of an item, in any form.
func sharedWords(q *Query, d *Doc, o Options) float64 {
	has := map[string]bool{}
	for _, text := range d.texts() {
		scan(text, func(parts []part) bool {
			for _, p := range parts {
				has[stem(p.text)] = true
			}
			return true
		})
	}
	n, found := 0.0, 0.0
	for _, l := range q.leaves {
		for _, p := range l.parts {
			if o.Words.saysLittle(p) {
				continue
			}
			if n++; has[stem(p)] {
				found++
			}
		}
	}
	return found / max(n, 1)
}

func inScope(id, scope string) bool {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(scope, "rye.search."), ".")
	prefix := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(rest, "*"), "."), ".", "/")
	k, name, _ := strings.Cut(id, ":")
	return (kind == k || kind == "" || kind == "*") && (prefix == "" || name == prefix || strings.HasPrefix(name, prefix+"/"))
}
