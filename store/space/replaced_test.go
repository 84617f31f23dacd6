package space_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rye-os/rye/store/space"
)

// manyRows makes a catalogue of several pages, and returns a stack that has looked
// at it and what the look says as long as nobody disturbs it.
func manyRows(t *testing.T) (w *world, s *space.Stack, k *space.Look, want string) {
	t.Helper()
	w = newWorld(t)
	for i := range 200 {
		w.write(w.project, fmt.Sprintf("tools/acme/t%03d.sh", i), body("1.0.0", "hello"))
	}
	w.settle()
	want = lines(w.rows())
	s = w.stack()
	k, err := s.Look(t.Context(), s.Project)
	w.must(err)
	if st, err := os.Stat(w.catalogueFile()); err != nil || st.Size() < int64(4*os.Getpagesize()) {
		t.Fatalf("the catalogue is of %d bytes (%v): want some pages", st.Size(), err)
	}
	return w, s, k, want
}

func read(k *space.Look) string {
	for i := range k.Len() {
		k.Ref(i)
	}
	return lines(k.Rows())
}

// TestCatalogueIsReplacedUnderALook does what rye itself does to a catalogue,
// and what may be done to any cache: the look that has it open does not notice.
func TestCatalogueIsReplacedUnderALook(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world, file string)
	}{
		{"replaced", func(w *world, file string) {
			before, err := os.Stat(file)
			w.must(err)
			w.write(w.project, "tools/acme/t100.sh", body("1.0.1", "changed"))
			w.settle()
			w.rows()
			if after, err := os.Stat(file); err != nil || os.SameFile(before, after) {
				w.t.Fatalf("the catalogue was written in place (%v)", err)
			}
		}},
		{"another over it", func(w *world, file string) {
			w.must(os.WriteFile(file+".new", []byte("not a catalogue"), 0o600))
			w.must(os.Rename(file+".new", file))
		}},
		{"deleted", func(w *world, file string) { w.must(os.Remove(file)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s, k, want := manyRows(t)
			c.do(w, w.catalogueFile())
			if got := read(k); got != want {
				t.Errorf("the look says\n%s\nwant\n%s", got, want)
			}
			w.must(s.Project.Close())
			w.states(w.project)
		})
	}
}

// TestRowsOutliveTheirLook keeps rows and refs after the layer is closed.
func TestRowsOutliveTheirLook(t *testing.T) {
	w, s, k, want := manyRows(t)
	rows := k.Rows()
	ref := k.Ref(7)
	w.must(s.Project.Close())
	if got := lines(rows); got != want || ref.String() != "tool:acme/t007" {
		t.Errorf("after Close: %s\n%s", ref, got)
	}
}

// TestCatalogueCutShort cuts a catalogue short where it lies, as rye never does: a look
// that has read it does not notice, and the next one begins anew.
func TestCatalogueCutShort(t *testing.T) {
	for _, size := range []int64{0, 50, 1000, 5000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			w, _, k, want := manyRows(t)
			w.must(os.Truncate(w.catalogueFile(), size))
			if got := read(k); got != want {
				t.Errorf("the look says\n%s\nwant\n%s", got, want)
			}
			if got := lines(w.rows()); got != want {
				t.Errorf("the next look:\n%s\nwant\n%s", got, want)
			}
		})
	}
}
