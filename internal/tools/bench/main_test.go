package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestFailingRow: a row that fails, when it is set up or when it runs, is named, and the rows
// behind it are measured.
func TestFailingRow(t *testing.T) {
	ran := 0
	good := func() (cost, error) { ran++; return cost{wall: 1, cpu: 1}, nil }
	bad := func() (cost, error) { return cost{}, errors.New("it broke") }
	is := func(ours side, err error) func(*bench, int) (side, side, error) {
		return func(*bench, int) (side, side, error) { return ours, good, err }
	}
	b := &bench{ctx: t.Context(), dir: t.TempDir()}
	out, err := printed(t, func() error {
		return table{b, regexp.MustCompile("first|second|third"), 3}.print([]row{{what: "first", peer: "p", setup: is(good, errors.New("no place"))}, {what: "second", peer: "p", setup: is(bad, nil)},
			{what: "third", peer: "p", setup: is(good, nil)}, {what: "other", peer: "p", setup: is(bad, nil)}})
	})
	want := "2 rows failed:\n  first (beside p)\n  second (beside p)"
	if err == nil || err.Error() != want {
		t.Errorf("print: %v, want %s", err, want)
	}
	for _, line := range []string{`(?m)^first +failed: no place$`, `(?m)^second +failed: it broke$`, `(?m)^third .* - +p$`} {
		if !regexp.MustCompile(line).MatchString(out) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
	if strings.Contains(out, "other") || ran < 8 {
		t.Errorf("%d runs; printed\n%s", ran, out)
	}
	if _, err := printed(t, func() error {
		return table{b, regexp.MustCompile(""), 3}.print([]row{{what: "third", peer: "p", setup: is(good, nil)}})
	}); err != nil {
		t.Errorf("where none fails: %v", err)
	}
}

// TestGoals: every goal belongs to a row, and the row prints it.
func TestGoals(t *testing.T) {
	all := map[string]row{}
	for _, r := range rows([]int{100}) {
		all[r.key()] = r
	}
	for key, goal := range goals {
		if r, ok := all[key]; !ok || r.goal() != goal {
			t.Errorf("goal %q: the row %q has %q, and exists: %v", goal, key, r.goal(), ok)
		}
	}
	good := func() (cost, error) { return cost{wall: 1, cpu: 1}, nil }
	b := &bench{ctx: t.Context(), dir: t.TempDir()}
	r := row{what: "start", peer: "git --version", setup: func(*bench, int) (side, side, error) { return good, good, nil }}
	out, err := printed(t, func() error { _, _, err := b.row(r, 3); return err })
	if err != nil || !regexp.MustCompile(`(?m)^start .* 2\.2 x +git --version$`).MatchString(out) {
		t.Errorf("%v, printed %q", err, out)
	}
}

// TestRowUndone: what a row changes is as before when it is over, whether it failed or not.
func TestRowUndone(t *testing.T) {
	b := &bench{ctx: t.Context(), dir: t.TempDir()}
	for _, broken := range []error{nil, errors.New("it broke")} {
		changed := false
		do := func() (cost, error) { changed = true; return cost{}, broken }
		r := row{what: "changes", setup: func(b *bench, _ int) (side, side, error) {
			b.undo = append(b.undo, func() error { changed = false; return nil })
			return do, do, nil
		}}
		if _, err := printed(t, func() error { _, _, err := b.row(r, 3); return err }); changed || !errors.Is(err, broken) {
			t.Errorf("a row that ends with %v: changed is %v, %v", broken, changed, err)
		}
	}
}

// printed returns what do writes to standard output.
func printed(t *testing.T, do func() error) (string, error) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was := os.Stdout
	os.Stdout = f
	err = do()
	os.Stdout = was
	raw, rerr := os.ReadFile(f.Name())
	if rerr != nil {
		t.Fatal(rerr)
	}
	return string(raw), err
}
