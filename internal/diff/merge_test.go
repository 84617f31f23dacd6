package diff

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	big := strings.Repeat("a\n", mergeLines/2)
	for _, c := range []struct {
		name, base, ours, theirs, want string
		conflicts                      int
	}{
		{"nothing", "", "", "", "", 0},
		{"ours", "a\n", "b\n", "a\n", "b\n", 0},
		{"theirs", "a\n", "a\n", "", "", 0},
		{"both the same", "a\n", "b\n", "b\n", "b\n", 0},
		{"two places", "a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n", 0},
		{"one place", "a\nb\nc\n", "a\nB\nc\n", "a\nX\nc\n", "a\n<<<<<<< o\nB\n=======\nX\n>>>>>>> t\nc\n", 1},
		{"neighbours", "a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", "<<<<<<< o\nA\nb\n=======\na\nB\n>>>>>>> t\nc\n", 1},
		{"common lines of a conflict", "a\n", "x\ny\n1\n2\n3\n4\nz\n", "x\nY\n1\n2\n3\n4\nZ\n",
			"x\n<<<<<<< o\ny\n=======\nY\n>>>>>>> t\n1\n2\n3\n4\n<<<<<<< o\nz\n=======\nZ\n>>>>>>> t\n", 2},
		{"no last newline", "a\nb", "A\nb", "a\nB", "<<<<<<< o\nA\nb\n=======\na\nB\n>>>>>>> t\n", 1},
		{"CR LF", "a\r\nb\r\n", "a\r\nB\r\n", "a\r\nX\r\n", "a\r\n<<<<<<< o\r\nB\r\n=======\r\nX\r\n>>>>>>> t\r\n", 1},
		{"removed and changed", "a\nb\n", "a\n", "a\nB\n", "a\n<<<<<<< o\n=======\nB\n>>>>>>> t\n", 1},
		{"binary", "a\n\x00", "b\n\x00", "c\n\x00", "b\n\x00", 1},
		{"binary on one side", "a\n", "a\n", "c\n\x00", "c\n\x00", 0},
		{"too many lines", big, big + "o\n", "t\n" + big, "<<<<<<< o\n" + big + "o\n=======\nt\n" + big + ">>>>>>> t\n", 1},
	} {
		got, n := Merge(c.base, c.ours, c.theirs, Marks{Ours: "o", Theirs: "t"})
		if got != c.want || n != c.conflicts {
			t.Errorf("%s: %.200q, %d; want %.200q, %d", c.name, got, n, c.want, c.conflicts)
		}
	}
	if got, _ := Merge("a", "b", "c", Marks{Size: 3}); got != "<<<\nb\n===\nc\n>>>\n" {
		t.Errorf("short marks: %q", got)
	}
}

// TestMergeSteps: texts without order, which a search by lines would take minutes for, become
// one conflict after a bounded number of steps.
func TestMergeSteps(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	text := func(words int) string {
		var b strings.Builder
		for range mergeLines/3 - 1 {
			fmt.Fprintln(&b, r.Intn(words))
		}
		return b.String()
	}
	base, ours, theirs := text(1000), text(1000), text(1000)
	got, n := Merge(base, ours, theirs, Marks{})
	if want := "<<<<<<<\n" + ours + "=======\n" + theirs + ">>>>>>>\n"; got != want || n != 1 {
		t.Errorf("%d conflicts, %d bytes; want one, %d bytes", n, len(got), len(want))
	}
}

// TestMergeAsGit merges random edits by git merge-file, too. Every byte is the same,
// conflicts included.
func TestMergeAsGit(t *testing.T) {
	git := newGit(t)
	rounds := 60
	if os.Getenv("RYE_SOAK") != "" {
		rounds = 2000
	}
	clean := 0
	for seed := range rounds {
		r := rand.New(rand.NewSource(int64(seed)))
		if git.check(t, r, fmt.Sprint("seed ", seed)) {
			clean++
		}
	}
	t.Logf("%d of %d merges were clean", clean, rounds)
}

type gitMerge struct{ program, dir string }

func newGit(t testing.TB) gitMerge {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git to compare with")
	}
	return gitMerge{program, t.TempDir()}
}

// check compares one random merge with git's, and reports whether it was clean.
func (g gitMerge) check(t *testing.T, r *rand.Rand, name string) bool {
	base := randomText(r)
	ours, theirs := edit(r, base), edit(r, base)
	return g.compare(t, name, strings.Join(base, ""), strings.Join(ours, ""), strings.Join(theirs, ""))
}

func (g gitMerge) compare(t testing.TB, name, base, ours, theirs string) bool {
	t.Helper()
	got, n := Merge(base, ours, theirs, Marks{Ours: "ours", Theirs: "theirs", Size: 9})
	want, conflicts := g.merge(t, base, ours, theirs)
	if got != want || (n > 0) != (conflicts > 0) {
		t.Fatalf("%s: %d conflicts, git has %d\n%s\ngit:\n%s\nbase %q\nours %q\ntheirs %q", name, n, conflicts, got, want, base, ours, theirs)
	}
	return n == 0
}

func (g gitMerge) merge(t testing.TB, base, ours, theirs string) (merged string, conflicts int) {
	t.Helper()
	return g.run(t, base, ours, theirs, "merge-file", "-p", "--marker-size=9", "-L", "ours", "-L", "base", "-L", "theirs")
}

func (g gitMerge) run(t testing.TB, base, ours, theirs string, args ...string) (merged string, conflicts int) {
	t.Helper()
	for name, text := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(g.program, append(args, "ours", "base", "theirs")...)
	cmd.Dir = g.dir
	cmd.Env = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR=" + os.DevNull, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() < 128:
		return string(out), exit.ExitCode()
	case err != nil:
		t.Fatalf("git merge-file: %v", err)
	}
	return string(out), 0
}

// TestUntouched: a text is recognised as git's own merge in each style, and no more after an
// edit of one byte.
func TestUntouched(t *testing.T) {
	git := newGit(t)
	r := rand.New(rand.NewSource(3))
	seen := 0
	for range 40 {
		base := randomText(r)
		ours, theirs := strings.Join(edit(r, base), ""), strings.Join(edit(r, base), "")
		for _, style := range []string{"merge", "diff3"} {
			merged, n := git.run(t, strings.Join(base, ""), ours, theirs, "-c", "merge.conflictStyle="+style, "merge-file", "-p", "-L", "a b", "-L", "x", "-L", "c")
			if n == 0 {
				continue
			}
			seen++
			if !Untouched(merged, strings.Join(base, ""), ours, theirs) {
				t.Fatalf("%s: not recognised:\n%s\nbase %q\nours %q\ntheirs %q", style, merged, base, ours, theirs)
			}
			if i := strings.Index(merged, "\n=======") + 1; i > 0 && Untouched(merged[:i]+"x"+merged[i:], strings.Join(base, ""), ours, theirs) {
				t.Fatalf("%s: an edit is not seen", style)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d merges had conflicts", seen)
	}
}

// randomText has few words, so that many lines repeat, and sometimes many lines.
func randomText(r *rand.Rand) (lines []string) {
	n := []int{0, 1, 5, 20, 20, 60, 60, 300, 2000}[r.Intn(9)]
	words := []int{2, 5, 20, 100, 100, 5000}[r.Intn(6)]
	end := []string{"\n", "\n", "\n", "\r\n"}[r.Intn(4)]
	for range n {
		lines = append(lines, randomLine(r, words)+end)
	}
	return ending(r, lines)
}

func randomLine(r *rand.Rand, words int) string {
	switch r.Intn(6) {
	case 0:
		return ""
	case 1:
		return "}"
	}
	return fmt.Sprintf("\tline(%d)", r.Intn(words))
}

// ending sometimes takes the last newline.
func ending(r *rand.Rand, lines []string) []string {
	if n := len(lines); n > 0 && r.Intn(6) == 0 {
		lines[n-1] = strings.TrimRight(lines[n-1], "\r\n")
		if lines[n-1] == "" {
			lines = lines[:n-1]
		}
	}
	return lines
}

// edit inserts, removes, changes, moves and copies runs of lines.
func edit(r *rand.Rand, lines []string) []string {
	lines = append([]string(nil), lines...)
	edits := r.Intn(6)
	if r.Intn(8) == 0 {
		edits = 3 + r.Intn(1+len(lines)/2)
	}
	for range edits {
		at := r.Intn(len(lines) + 1)
		end := min(len(lines), at+1+r.Intn(4))
		run := append([]string(nil), lines[at:end]...)
		switch r.Intn(6) {
		case 0: // remove
			lines = append(lines[:at], lines[end:]...)
		case 1, 2: // change
			for i := range run {
				lines[at+i] = randomLine(r, 50) + "\n"
			}
		case 3: // insert
			lines = insert(lines, at, randomLine(r, 50)+"\n", randomLine(r, 3)+"\n")
		case 4: // copy
			lines = insert(lines, r.Intn(len(lines)+1), run...)
		case 5: // move
			lines = append(lines[:at], lines[end:]...)
			lines = insert(lines, r.Intn(len(lines)+1), run...)
		}
	}
	return ending(r, lines)
}

func insert(lines []string, at int, more ...string) []string {
	return append(lines[:at:at], append(append([]string(nil), more...), lines[at:]...)...)
}

// FuzzMerge: which side is ours decides nothing.
func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC")
	f.Add("", "a\n", "b\r\n")
	f.Add("a\na\na\n", "a\na\n", "a\na\na\na\n")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		got, n := Merge(base, ours, theirs, Marks{})
		back, m := Merge(base, theirs, ours, Marks{})
		if (n > 0) != (m > 0) || n == 0 && got != back {
			t.Fatalf("%q with %d conflicts, the other way round %q with %d", got, n, back, m)
		}
		if os.Getenv("RYE_SOAK") != "" && !Binary(base) && !Binary(ours) && !Binary(theirs) {
			newGit(t).compare(t, "fuzz", base, ours, theirs)
		}
	})
}
