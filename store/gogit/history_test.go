package gogit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
)

// TestBlameBesideGit: each line is from the commit that git names, on histories of one line,
// through renames, and through threads that were merged.
func TestBlameBesideGit(t *testing.T) {
	testkit.NeedProgram(t, "git")
	for _, c := range []struct {
		name string
		make func(w *world) store.OID
	}{
		{"edits", func(w *world) store.OID {
			return last(w.line("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n", "x\na\nB\nd\n"))
		}},
		{"the last line has no end", func(w *world) store.OID {
			return last(w.line("a\nb", "a\nb\nc", "a\nb\nc\n"))
		}},
		{"lines moved within the file", func(w *world) store.OID {
			return last(w.line(lines(1, 20), lines(1, 3)+lines(5, 18)+lines(4, 4)+lines(19, 20), lines(2, 3)+lines(5, 18)+lines(1, 1)+lines(4, 4)+lines(19, 20)))
		}},
		{"removed and back", func(w *world) store.OID {
			a := w.commit(map[string]string{"f": "a\nb\n"})
			b := w.commit(map[string]string{"f": "", "g": "x\n"}, a)
			return w.commit(map[string]string{"f": "a\nb\nc\n"}, b)
		}},
		{"renamed and edited", func(w *world) store.OID {
			a := w.commit(map[string]string{"e": lines(1, 20), "other": "x\n"})
			b := w.commit(map[string]string{"e": "", "f": lines(1, 20) + "21\n"}, a)
			return w.commit(map[string]string{"f": lines(2, 20) + "21\n22\n"}, b)
		}},
		{"a thread that was merged", func(w *world) store.OID {
			base := w.commit(map[string]string{"f": lines(1, 20)})
			child := w.commit(map[string]string{"f": lines(1, 18) + "child\n" + lines(19, 20)}, base)
			child = w.commit(map[string]string{"f": lines(1, 18) + "child\nmore\n" + lines(19, 20)}, child)
			parent := w.commit(map[string]string{"f": "parent\n" + lines(2, 20)}, base)
			merged := w.commit(map[string]string{"f": "parent\n" + lines(2, 18) + "child\nmore\n" + lines(19, 20)}, parent, child)
			return w.commit(map[string]string{"f": "parent\n" + lines(2, 18) + "child\nmore\n" + lines(19, 20) + "end\n"}, merged)
		}},
		{"threads of threads", func(w *world) store.OID {
			base := w.commit(map[string]string{"f": lines(1, 30)})
			a := w.commit(map[string]string{"f": "A\n" + lines(1, 30)}, base)
			b := w.commit(map[string]string{"f": lines(1, 15) + "B\n" + lines(16, 30)}, base)
			aa := w.commit(map[string]string{"f": "A\n" + lines(1, 30) + "AA\n"}, a)
			ab := w.commit(map[string]string{"f": "A\n" + lines(1, 15) + "B\n" + lines(16, 30)}, a, b)
			return w.commit(map[string]string{"f": "A\n" + lines(1, 15) + "B\n" + lines(16, 30) + "AA\n"}, ab, aa)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			sameBlame(w, c.make(w))
		})
	}
}

// TestBlameOfManyEditsBesideGit: a file of lines that are each there once has one shortest
// difference from any of its versions as long as no two lines change places.
func TestBlameOfManyEditsBesideGit(t *testing.T) {
	testkit.NeedProgram(t, "git")
	w, random := newWorld(t), rand.New(rand.NewPCG(5, 8))
	text := strings.SplitAfter(lines(1, 40), "\n")
	text = text[:len(text)-1]
	var versions []string
	for n := range 40 {
		for e := range 3 {
			at := random.IntN(len(text))
			switch random.IntN(3) {
			case 0:
				text = slices.Insert(text, at, fmt.Sprintf("new %d %d\n", n, e))
			case 1:
				text[at] = fmt.Sprintf("edited %d %d\n", n, e)
			default:
				text = slices.Delete(text, at, at+1)
			}
		}
		versions = append(versions, strings.Join(text, ""))
	}
	sameBlame(w, last(w.line(versions...)))
}

func sameBlame(w *world, at store.OID) {
	w.Helper()
	got, err := History{}.Blame(context.Background(), w.Repo, at, "f")
	w.must(err)
	var want []string
	for line := range strings.Lines(w.git("blame", "--root", "-s", "-l", "--no-abbrev", at.String(), "--", "f")) {
		id, _, _ := strings.Cut(line, " ")
		want = append(want, strings.TrimPrefix(id, "^"))
	}
	if len(want) == 0 || len(want) != len(got) {
		w.Fatalf("%d lines, git has %d", len(got), len(want))
	}
	for i := range want {
		if got[i].String() != want[i] {
			w.Errorf("line %d is from %s, git says %s", i+1, got[i], want[i])
		}
	}
}

// TestPatchesBesideGit: the same files and the same hunks as git diff, also where lines are
// repeated and a change can be said in two ways.
func TestPatchesBesideGit(t *testing.T) {
	testkit.NeedProgram(t, "git")
	body := func(name string) string { return "func " + name + "() {\n\tgo()\n}\n\n" }
	for _, c := range []struct{ name, old, now string }{
		{"one line", lines(1, 20), lines(1, 9) + "x\n" + lines(11, 20)},
		{"far apart", lines(1, 40), "x\n" + lines(2, 30) + "y\n" + lines(32, 40)},
		{"six lines apart", lines(1, 40), lines(1, 9) + "x\n" + lines(11, 16) + "y\n" + lines(18, 40)},
		{"seven lines apart", lines(1, 40), lines(1, 9) + "x\n" + lines(11, 17) + "y\n" + lines(19, 40)},
		{"a new file", "", lines(1, 5)},
		{"an end of line", "a\nb", "a\nb\n"},
		{"a new last line", "a\nb", "a\nb\nc"},
		{"nothing left", "a\nb\n", "\n"},
		{"a repeated line", lines(1, 5) + "x\n" + lines(6, 9), lines(1, 5) + "x\nx\n" + lines(6, 9)},
		{"a function among others", body("a") + body("b") + body("c"), body("a") + body("n") + body("b") + body("c")},
		{"two more, and changes around", "z\n" + body("a") + body("b") + body("c"), "x\n" + body("a") + body("n") + body("b") + body("m") + body("c") + "y\n"},
		{"two less, and changes around", "x\n" + body("a") + body("n") + body("b") + body("m") + body("c") + "y\n", "z\n" + body("a") + body("b") + body("c")},
		{"a function less", body("a") + body("n") + body("b") + body("c"), body("a") + body("b") + body("c")},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var ids []store.OID
			if c.old == "" {
				a := w.commit(map[string]string{"g": "x\n"})
				ids = []store.OID{a, w.commit(map[string]string{"f": c.now}, a)}
			} else {
				ids = w.line(c.old, c.now)
			}
			got := patches(w, ids[0], ids[1])
			want := hunksOfGit(w.git("diff", "--no-ext-diff", ids[0].String(), ids[1].String(), "--", "f"))
			if strings.Join(got["f"], "\n") != want {
				t.Errorf("hunks\n%s\ngit has\n%s", strings.Join(got["f"], "\n"), want)
			}
		})
	}
}

// TestPatchesApply: whatever the texts are, git makes the new one of the old one and the hunks.
func TestPatchesApply(t *testing.T) {
	testkit.NeedProgram(t, "git")
	random, dir := rand.New(rand.NewPCG(3, 1)), t.TempDir()
	var patch strings.Builder
	want := map[string]string{}
	for n := range 200 {
		name, old, now := fmt.Sprintf("f%d", n), few(random), few(random)
		hunks, err := unified(old, now)
		if err != nil {
			t.Fatal(err)
		}
		if (len(hunks) == 0) != (old == now) {
			t.Fatalf("%q and %q: %d lines of hunks", old, now, len(hunks))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		if want[name] = now; len(hunks) > 0 {
			fmt.Fprintf(&patch, "--- a/%[1]s\n+++ b/%[1]s\n%[2]s\n", name, strings.Join(hunks, "\n"))
		}
	}
	cmd := exec.Command("git", "apply", "--unidiff-zero", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch.String())
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s is %q, want %q (%v)", name, got, text, err)
		}
	}
}

// few is a text of few different lines, with or without an end of line at its end.
func few(random *rand.Rand) string {
	text := "\n" // git apply refuses to empty a file that it does not delete
	for range random.IntN(12) {
		text += []string{"a\n", "b\n", "\n", "  c\n"}[random.IntN(4)]
	}
	return text + []string{"", "z", "z\n"}[random.IntN(3)]
}

// TestPatchesNameFiles: new, gone, changed and renamed ones, and what is no text.
func TestPatchesNameFiles(t *testing.T) {
	w := newWorld(t)
	a := w.commit(map[string]string{"gone": "x\n", "d/moved": lines(1, 20), "same": "s\n", "bin": "a\x00b", "large": "x\n"})
	b := w.commit(map[string]string{"gone": "", "d/moved": "", "e/here": lines(1, 20) + "21\n", "bin": "a\x00c", "new": "n\n", "large": strings.Repeat("x\n", 1<<15+1)}, a)
	got := patches(w, a, b)
	want := map[string][]string{
		"gone > ": {"@@ -1 +0,0 @@", "-x"}, " > new": {"@@ -0,0 +1 @@", "+n"}, "bin": {"@@ not text @@"}, "large": {"@@ too large to be compared @@"},
		"d/moved > e/here": {"@@ -18,3 +18,4 @@", " 18", " 19", " 20", "+21"},
	}
	for name, hunks := range want {
		if !slices.Equal(got[name], hunks) {
			t.Errorf("%q: %q, want %q", name, got[name], hunks)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and %q", got)
	}
	if first := patches(w, store.OID{}, a); len(first) != 5 {
		t.Errorf("of the first commit: %q", first)
	}
}

// patches returns the hunks of each file, by its name, or by "old > new".
func patches(w *world, a, b store.OID) map[string][]string {
	w.Helper()
	all := map[string][]string{}
	w.must(History{}.Patches(context.Background(), w.Repo, a, b, func(from, to string, hunks func() ([]string, error)) error {
		h, err := hunks()
		if name := to; from == to || from == "" && to == "f" {
			all[name] = h
		} else {
			all[from+" > "+to] = h
		}
		return err
	}))
	return all
}

// hunksOfGit takes the heads of files off, and what stands behind the numbers of a hunk.
func hunksOfGit(patch string) string {
	_, hunks, _ := strings.Cut("\n"+patch, "\n@@ ")
	var out []string
	for _, line := range strings.Split("@@ "+hunks, "\n") {
		if strings.HasPrefix(line, "@@ ") {
			line = line[:strings.Index(line[3:], " @@")+6]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestHistoryRefuses(t *testing.T) {
	w := newWorld(t)
	ids := w.line("a\n")
	long := w.commit(map[string]string{"f": strings.Repeat("x\n", 1<<15+1)}, ids...)
	large := w.commit(map[string]string{"f": strings.Repeat("x", 9<<20)}, ids...)
	gone, _ := store.ParseOID(strings.Repeat("1", 40))
	for _, c := range []struct {
		name, path string
		at         store.OID
		want       fault.Code
	}{
		{"no such file", "g", ids[0], fault.NotFound},
		{"no such folder", "g/h", ids[0], fault.NotFound},
		{"no such commit", "f", gone, fault.Integrity},
		{"too many lines", "f", long, fault.Limit},
		{"too many bytes", "f", large, fault.Limit},
	} {
		if _, err := (History{}).Blame(context.Background(), w.Repo, c.at, c.path); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (History{}).Blame(ctx, w.Repo, ids[0], "f"); !errors.Is(err, context.Canceled) {
		t.Errorf("after it was cancelled: %v", err)
	}
}

// TestMergeBasesBesideGit: what embedders get of go-git over our store.
func TestMergeBasesBesideGit(t *testing.T) {
	testkit.NeedProgram(t, "git")
	w := newWorld(t)
	base := w.commit(map[string]string{"f": "1\n"})
	a, b := w.commit(map[string]string{"a": "1\n"}, base), w.commit(map[string]string{"b": "1\n"}, base)
	c, d := w.commit(map[string]string{"c": "1\n"}, a, b), w.commit(map[string]string{"d": "1\n"}, b, a) // criss-cross
	repo, err := Open(w.Repo)
	w.must(err)
	for _, pair := range [][2]store.OID{{a, b}, {c, d}, {base, d}, {a, c}} {
		x, err := repo.CommitObject(hashOf(pair[0]))
		w.must(err)
		y, err := repo.CommitObject(hashOf(pair[1]))
		w.must(err)
		bases, err := x.MergeBase(y)
		w.must(err)
		var got []string
		for _, c := range bases {
			got = append(got, c.Hash.String())
		}
		want := strings.Split(w.git("merge-base", "--all", pair[0].String(), pair[1].String()), "\n")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("merge bases %s, git has %s", got, want)
		}
	}
}

func lines(from, to int) (text string) {
	for n := from; n <= to; n++ {
		text += fmt.Sprintf("%d\n", n)
	}
	return text
}

func last[T any](s []T) T { return s[len(s)-1] }
