package space_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/objects"
)

// TestListingBegunEarly: what happens to the tree after a listing was begun shows at
// the next look at the latest, whether a catalogue was there before or not.
func TestListingBegunEarly(t *testing.T) {
	for _, known := range []bool{true, false} {
		w := newWorld(t)
		raw := w.put(w.project, greet, "1.0.0", "hello")
		w.settle()
		if known {
			w.rows()
		}
		s := w.stack()
		s.Project.Begin(t.Context())
		file := filepath.Join(w.project.Dir, filepath.FromSlash(greet))
		st, err := os.Stat(file)
		w.must(err)
		w.write(w.project, greet, bytes.Replace(raw, []byte("echo hello"), []byte("echo hallo"), 1))
		w.must(os.Chtimes(file, st.ModTime(), st.ModTime()))
		s.Project.Begin(t.Context()) // begun is begun
		rows, err := rowsOf(t.Context(), s, s.Project)
		if err != nil || len(rows) != 1 {
			t.Fatalf("known %v: %d rows, %v", known, len(rows), err)
		}
		if rows = w.rows(); len(rows) != 1 || rows[0].State != objects.Modified {
			t.Errorf("known %v, a look later: %v, want modified", known, rows)
		}
		if again, err := rowsOf(t.Context(), s, s.Project); err != nil || len(again) != 1 || again[0].State != objects.Modified {
			t.Errorf("known %v, the second look of one stack: %v, %v", known, again, err)
		}
	}
}

// TestListingNobodyAskedFor: closing waits for it, and a cancelled one is an error of
// the look that wanted it, not an empty tree.
func TestListingNobodyAskedFor(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	s := w.stack()
	s.Project.Begin(t.Context())
	w.must(s.Project.Close())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = w.stack()
	s.Project.Begin(ctx)
	if rows, err := rowsOf(ctx, s, s.Project); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", rows, err)
	}
}
