package diff

import (
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDiffLines(t *testing.T) {
	for _, c := range []struct{ name, old, now, want string }{
		{"equal", "a\nb\n", "a\nb\n", ""},
		{"new", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b"},
		{"gone", "a\n", "", "@@ -1 +0,0 @@\n-a"},
		{"one of three", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"},
		{"last newline", "a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file"},
		{"two hunks", "x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n",
			"@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y"},
		{"one hunk over a short gap", "x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n",
			"@@ -1,8 +1,8 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y"},
	} {
		if got := strings.Join(Lines(c.old, c.now), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestDiffLinesApplies has git turn the old text into the new one by our hunks.
func TestDiffLinesApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git to apply patches")
	}
	r := rand.New(rand.NewSource(1))
	text := func() string {
		var b strings.Builder
		for range r.Intn(30) {
			b.WriteString(strings.Repeat("x", r.Intn(3)) + "\n")
		}
		return strings.TrimSuffix(b.String(), []string{"\n", ""}[r.Intn(2)])
	}
	for range 60 {
		old, now := text(), text()
		lines := Lines(old, now)
		if len(lines) == 0 || old == "" || now == "" {
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(old), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "apply", "--whitespace=nowarn", "-")
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader("--- a/f\n+++ b/f\n" + strings.Join(lines, "\n") + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s\nold %q\nnew %q\n%s", err, out, old, now, strings.Join(lines, "\n"))
		}
		if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != now {
			t.Fatalf("applied: %q, want %q (%v)", got, now, err)
		}
	}
}
