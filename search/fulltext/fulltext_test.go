package fulltext

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/search"
)

// shelf is a layer of texts, by path.
type shelf struct {
	texts map[string]string
	asked atomic.Int64 // how often for terms
	torn  string       // the path whose terms are not whole
}

var analyzer = search.Analyzer{Weights: search.Weights{{Field: "name", Weight: 3}, {Field: search.Body, Weight: 1}}}

func (s *shelf) listing(key string) *search.Listing {
	var paths []string
	for p := range s.texts {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int { return search.CompareEntries([]byte(a), []byte(b)) })
	return &search.Listing{Name: "the project space", Key: key, Len: len(paths),
		At: func(i int) ([]byte, [32]byte) { return []byte(paths[i]), sha256.Sum256([]byte(s.texts[paths[i]])) },
		Terms: func(i int) ([]search.Term, bool, error) {
			s.asked.Add(1)
			return analyzer.Terms(&search.Doc{ID: paths[i], Body: s.texts[paths[i]]}), paths[i] != s.torn, nil
		}}
}

func manyTexts(n, words int) *shelf {
	s := &shelf{texts: map[string]string{}}
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 4, 20_000)
	for i := range n {
		var b strings.Builder
		for range words {
			fmt.Fprintf(&b, "word%d ", zipf.Uint64())
		}
		fmt.Fprintf(&b, "only%d", i)
		s.texts[fmt.Sprintf("knowledge/acme/item_%05d.md", i)] = b.String()
	}
	return s
}

// found says which paths are found by a word, through an index.
func found(t testing.TB, x *Index, l *search.Listing, word string) (paths []string, notes []string) {
	t.Helper()
	o, err := x.Open(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, p := range o.Parts {
		err := p.Source.Postings("~"+word, func(doc int, _ uint32) bool {
			if i := p.Entry[doc]; i >= 0 {
				path, _ := l.At(int(i))
				paths = append(paths, string(path))
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(paths)
	return paths, o.Notes
}

func want(t testing.TB, x *Index, s *shelf, word string, want ...string) (notes []string) {
	t.Helper()
	got, notes := found(t, x, s.listing("k"), word)
	if !slices.Equal(got, want) {
		t.Errorf("%q is found in %v, want %v", word, got, want)
	}
	return notes
}

func TestIndexAnswersAsMemoryDoes(t *testing.T) {
	s := manyTexts(300, 60)
	x := New(t.TempDir())
	o, err := x.Open(t.Context(), s.listing("k"))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if len(o.Parts) != 2 || o.Parts[0].Source.Len() != 300 || o.Parts[1].Source.Len() != 0 {
		t.Fatalf("%d parts", len(o.Parts))
	}
	m, err := New("").Open(t.Context(), s.listing("k"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, o.Parts), dump(t, m.Parts); got != want {
		t.Errorf("an index says\n%.2000s\nmemory\n%.2000s", got, want)
	}
}

// dump is all that parts hold, by entry.
func dump(t *testing.T, parts []search.Part) string {
	all := map[string][]string{}
	for _, p := range parts {
		var terms []string
		if err := p.Source.Dictionary("", func(term string) bool { terms = append(terms, term); return true }); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(terms) {
			t.Error("the dictionary is not sorted")
		}
		for _, term := range terms {
			err := p.Source.Postings(term, func(doc int, n uint32) bool {
				if e := p.Entry[doc]; e >= 0 {
					all[term] = append(all[term], fmt.Sprintf("%05d*%d", e, n))
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var b strings.Builder
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		slices.Sort(all[k])
		fmt.Fprintln(&b, k, all[k])
	}
	return b.String()
}

func TestDictionaryByPrefix(t *testing.T) {
	s := &shelf{texts: map[string]string{"tools/a.sh": "deploy deployer depot tool"}}
	o, err := New(t.TempDir()).Open(t.Context(), s.listing("k"))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var got []string
	if err := o.Parts[0].Source.Dictionary("~dep", func(term string) bool { got = append(got, term); return len(got) < 2 }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[~deploy ~deployer]" {
		t.Errorf("got %v", got)
	}
}

// What changed is seen at once, and only it is read.
func TestChangesAreSeen(t *testing.T) {
	s, dir := manyTexts(200, 20), t.TempDir()
	x := New(dir)
	want(t, x, s, "only7", "knowledge/acme/item_00007.md")
	s.asked.Store(0)
	s.texts["knowledge/acme/item_00007.md"] = "changed"
	s.texts["knowledge/acme/new.md"] = "changed only9"
	delete(s.texts, "knowledge/acme/item_00009.md")
	want(t, x, s, "only7")
	want(t, x, s, "changed", "knowledge/acme/item_00007.md", "knowledge/acme/new.md")
	want(t, x, s, "only9", "knowledge/acme/new.md")
	if n := s.asked.Load(); n != 2 {
		t.Errorf("%d items were read, want the 2 that changed", n)
	}
	want(t, New(dir), s, "only9", "knowledge/acme/new.md") // another process
}

// Much that changed is merged into the next index; two are kept.
func TestManyChangesMakeTheNextIndex(t *testing.T) {
	s, dir := manyTexts(300, 20), t.TempDir()
	x := New(dir)
	for round := range 4 {
		for i := range 30 {
			s.texts[fmt.Sprintf("knowledge/acme/item_%05d.md", round*30+i)] = fmt.Sprintf("round%d", round)
		}
		if got, _ := found(t, x, s.listing("k"), fmt.Sprintf("round%d", round)); len(got) != 30 {
			t.Fatalf("round %d: %d found, want 30", round, len(got))
		}
		x.Wait()
	}
	s.asked.Store(0)
	want(t, New(dir), s, "only250", "knowledge/acme/item_00250.md")
	if n := s.asked.Load(); n != 0 {
		t.Errorf("%d items were read after their index was made", n)
	}
	if got, _ := found(t, New(dir), s.listing("k"), "round2"); len(got) != 30 {
		t.Errorf("%d found, want 30", len(got))
	}
	if n := len(files(t, dir, rowsExt)); n != 2 {
		t.Errorf("%d indexes are kept, want 2", n)
	}
	if n := len(files(t, dir, termsExt)); n != 2 {
		t.Errorf("%d files of terms are kept, want 2", n)
	}
}

func files(t testing.TB, dir, ext string) (all []string) {
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ext) {
			all = append(all, p)
		}
		return nil
	})
	return all
}

// An index that is damaged anywhere is noticed, built anew, and that is said once.
func TestDamagedIndexIsBuiltAnew(t *testing.T) {
	s := manyTexts(50, 20)
	for _, ext := range []string{rowsExt, termsExt} {
		for _, how := range []struct {
			name   string
			damage func([]byte) []byte
		}{
			{"flipped at the start", func(b []byte) []byte { b[10] ^= 1; return b }},
			{"flipped in the middle", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
			{"flipped at the end", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }},
			{"cut off", func(b []byte) []byte { return b[:len(b)-40] }},
			{"empty", func(b []byte) []byte { return nil }},
			{"longer", func(b []byte) []byte { return append(b, 0) }},
			{"gone", nil},
			{"zeroes", func(b []byte) []byte { clear(b); return b }},
		} {
			t.Run(ext+" "+how.name, func(t *testing.T) {
				dir := t.TempDir()
				reader := New(dir) // still has it open when it is damaged
				want(t, reader, s, "only7", "knowledge/acme/item_00007.md")
				defer runtime.KeepAlive(reader)
				file := files(t, dir, ext)[0]
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if how.damage == nil {
					err = os.Remove(file)
				} else {
					err = os.WriteFile(file, how.damage(raw), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				x := New(dir)
				notes := want(t, x, s, "only7", "knowledge/acme/item_00007.md")
				if told := len(notes) == 1 && strings.Contains(notes[0], "damaged"); told == (how.damage == nil && ext == rowsExt) { // without rows there is no index
					t.Errorf("it says %q", notes)
				}
				if notes := want(t, New(dir), s, "only7", "knowledge/acme/item_00007.md"); len(notes) != 0 {
					t.Errorf("it says %q again", notes)
				}
			})
		}
	}
}

// A file that is cut off while it is read is an error of the search, and no crash.
func TestIndexCutOffWhileItIsRead(t *testing.T) {
	s, dir := manyTexts(2000, 40), t.TempDir()
	x := New(dir)
	o, err := x.Open(t.Context(), s.listing("k"))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := os.Truncate(files(t, dir, termsExt)[0], 0); err != nil {
		t.Fatal(err)
	}
	err = o.Parts[0].Source.Postings("~only7", func(int, uint32) bool { return true })
	if _, ok := err.(*search.DamagedError); !ok {
		t.Fatalf("error %v, want a DamagedError", err)
	}
	if notes := want(t, x, s, "only7", "knowledge/acme/item_00007.md"); len(notes) != 1 {
		t.Errorf("it says %q", notes)
	}
}

// Where nothing can be written every item is read, and that is said.
func TestWithoutAPlace(t *testing.T) {
	s := manyTexts(20, 10)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(file, "search")} {
		x := New(dir)
		for range 2 {
			if notes := want(t, x, s, "only7", "knowledge/acme/item_00007.md"); len(notes) != 1 || !strings.Contains(notes[0], "no place") {
				t.Errorf("in %q it says %q", dir, notes)
			}
		}
	}
}

// What is not whole is used now, and asked for again.
func TestTermsThatAreNotWholeAreNotKept(t *testing.T) {
	s, dir := manyTexts(20, 10), t.TempDir()
	s.torn = "knowledge/acme/item_00007.md"
	x := New(dir)
	want(t, x, s, "only7", s.torn)
	path := s.torn
	s.torn = ""
	s.texts[path] = s.texts[path] + " more"
	want(t, x, s, "more", path)
}

// Who is told to stop leaves nothing.
func TestStoppedBuildLeavesNothing(t *testing.T) {
	s, dir := manyTexts(2000, 10), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	l := s.listing("k")
	terms := l.Terms
	l.Terms = func(i int) ([]search.Term, bool, error) {
		if i == 1000 {
			cancel()
		}
		return terms(i)
	}
	if _, err := New(dir).Open(ctx, l); err == nil {
		t.Fatal("no error")
	}
	if got := append(files(t, dir, termsExt), files(t, dir, rowsExt)...); len(got) != 0 {
		t.Errorf("left are %v", got)
	}
}

// While one builds, others read what they need themselves, and nobody waits.
func TestNobodyWaitsForABuilder(t *testing.T) {
	s, dir := manyTexts(50, 10), t.TempDir()
	x := New(dir)
	y := x.layer(s.listing("k"))
	done, err := y.building()
	if err != nil {
		t.Fatal(err)
	}
	if notes := want(t, New(dir), s, "only7", "knowledge/acme/item_00007.md"); len(notes) != 0 {
		t.Errorf("it says %q", notes)
	}
	if got := files(t, dir, rowsExt); len(got) != 0 {
		t.Errorf("two built at once: %v", got)
	}
	done()
	want(t, x, s, "only7", "knowledge/acme/item_00007.md")
	if got := files(t, dir, rowsExt); len(got) != 1 {
		t.Errorf("built are %v", got)
	}
}

// What a builder left that was killed is harmless, and the next one clears it away.
func TestLeftovers(t *testing.T) {
	s, dir := manyTexts(50, 10), t.TempDir()
	y := New(dir).layer(s.listing("k"))
	if err := os.MkdirAll(y.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{tempPrefix + "abc" + termsExt, "0123" + termsExt} {
		if err := os.WriteFile(filepath.Join(y.dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want(t, New(dir), s, "only7", "knowledge/acme/item_00007.md")
	if got := files(t, dir, termsExt); len(got) != 1 {
		t.Errorf("left are %v", got)
	}
}

func FuzzRows(f *testing.F) {
	f.Add(encodeRows([]row{{0, [32]byte{1}, []byte("a.md")}, {1, [32]byte{2}, []byte("b.md")}}, 10, 20, [32]byte{3}))
	f.Add(encodeRows(nil, 0, 0, [32]byte{}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parseRows(raw)
		if err != nil {
			return
		}
		var list []row
		for i := range r.len() {
			list = append(list, row{r.doc(i), r.sum(i), r.path(i)})
		}
		if again := encodeRows(list, r.size(), r.terms(), [32]byte(raw[32:])); !bytes.Equal(again, raw) {
			t.Errorf("written again it is %x, was %x", again, raw)
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	s := manyTexts(10_000, 500)
	size := 0
	for _, text := range s.texts {
		size += len(text)
	}
	l := s.listing("k")
	dir := b.TempDir()
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			os.RemoveAll(dir)
			o, err := New(dir).Open(b.Context(), l)
			if err != nil {
				b.Fatal(err)
			}
			o.Close()
		}
		st, _ := os.Stat(files(b, dir, termsExt)[0])
		b.ReportMetric(float64(st.Size())/float64(size), "of-text")
		b.ReportMetric(float64(st.Size())/1e6, "MB")
	})
	b.Run("open cold", func(b *testing.B) {
		for b.Loop() {
			o, err := New(dir).Open(b.Context(), l)
			if err != nil {
				b.Fatal(err)
			}
			o.Close()
		}
	})
	x := New(dir)
	b.Run("open warm", func(b *testing.B) {
		for b.Loop() {
			o, err := x.Open(b.Context(), l)
			if err != nil {
				b.Fatal(err)
			}
			o.Close()
		}
	})
	b.Run("merge", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for i := range 600 {
				s.texts[fmt.Sprintf("knowledge/acme/item_%05d.md", i)] = fmt.Sprintf("merged %d", n)
			}
			n++
			o, err := x.Open(b.Context(), s.listing("k"))
			if err != nil {
				b.Fatal(err)
			}
			o.Close()
			x.Wait()
		}
	})
}
