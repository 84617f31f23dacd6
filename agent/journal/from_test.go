package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/agent/journal"
)

// TestReadFrom: who read a journal goes on where it was, sees nothing twice, and notices when what
// it read is not there any more, or what follows is bound to something else.
func TestReadFrom(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	for _, text := range []string{"one", "two"} {
		add(t, j, warn(text), true)
	}
	var seen []string
	note := func(r journal.Record, at journal.Place) error {
		if at.Seq != r.Seq || at.Sum != r.Sum {
			t.Errorf("record %d ends at %d", r.Seq, at.Seq)
		}
		seen = append(seen, text(r))
		return nil
	}
	enough := errors.New("enough")
	first, err := journal.ReadFrom(t.Context(), dir, journal.Place{}, func(r journal.Record, at journal.Place) error {
		must(t, note(r, at))
		return enough
	})
	if err != enough || first.Seq != 1 || len(seen) != 1 {
		t.Fatalf("%v, %+v, %q", err, first, seen)
	}
	add(t, j, warn("three"), true)
	end, err := journal.ReadFrom(t.Context(), dir, first, note)
	file := filepath.Join(dir, "journal.jsonl")
	raw, _ := os.ReadFile(file)
	if err != nil || end.Chain != j.Chain() || end.Offset != int64(len(raw)) || len(seen) != 3 || seen[2] != "three" {
		t.Fatalf("%v, %+v, %q", err, end, seen)
	}
	var damage *journal.Damage
	other := first
	other.Sum[0]++
	if at, err := journal.ReadFrom(t.Context(), dir, other, note); !errors.As(err, &damage) || at.Seq != 1 {
		t.Errorf("behind another record: %v", err)
	}
	must(t, os.Truncate(file, end.Offset-1))
	if _, err := journal.ReadFrom(t.Context(), dir, end, note); !errors.As(err, &damage) {
		t.Errorf("a journal that lost its end: %v", err)
	}
	if len(seen) != 3 {
		t.Errorf("visited %q", seen)
	}
}
