package space_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/rye-os/rye/fault"
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

func read(s *space.Stack, k *space.Look) (text string, err error) {
	defer s.Guard()(&err)
	for i := range k.Len() {
		k.Ref(i)
	}
	return lines(k.Rows()), nil
}

// TestMappedCatalogueIsReplacedUnderALook does what rye itself does to a catalogue,
// and what may be done to any cache: the look that has it open does not notice.
func TestMappedCatalogueIsReplacedUnderALook(t *testing.T) {
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
			if got, err := read(s, k); err != nil || got != want {
				t.Errorf("the look says (%v)\n%s\nwant\n%s", err, got, want)
			}
			w.must(s.Project.Close()) // and with it what is mapped
			w.states(w.project)
		})
	}
}

// TestRowsOutliveTheirLook keeps rows and refs beyond the mapped file.
func TestRowsOutliveTheirLook(t *testing.T) {
	w, s, k, want := manyRows(t)
	rows := k.Rows()
	ref := k.Ref(7)
	w.must(s.Project.Close())
	if got := lines(rows); got != want || ref.String() != "tool:acme/t007" {
		t.Errorf("after Close: %s\n%s", ref, got)
	}
}

// TestMappedCatalogueCutShort cuts a catalogue short where it lies, as rye never
// does: without Guard, reading what is gone ends the process.
func TestMappedCatalogueCutShort(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("catalogues are not mapped here")
	}
	for _, size := range []int64{0, 50, 1000, 5000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			w, s, k, want := manyRows(t)
			w.must(os.Truncate(w.catalogueFile(), size))
			got, err := read(s, k)
			if fault.CodeOf(err) != fault.Failed || fault.HintOf(err).IsZero() || got != "" {
				t.Errorf("got %q, %v (hint %q)", got, err, fault.HintOf(err).String())
			}
			if got := lines(w.rows()); got != want {
				t.Errorf("the next look:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestGuardLeavesOtherPanicsAlone: only a torn catalogue is an error.
func TestGuardLeavesOtherPanicsAlone(t *testing.T) {
	_, s, _, _ := manyRows(t)
	for _, do := range []func(){
		func() { panic("no") },
		func() { _ = slices.Clone([]int{1})[len(os.Args)+1] },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic was swallowed")
				}
			}()
			func() (err error) {
				defer s.Guard()(&err)
				do()
				return nil
			}()
		}()
	}
}
