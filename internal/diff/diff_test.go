package diff

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, old, now, want string }{
		{"equal", "a\nb\n", "a\nb\n", ""},
		{"nothing", "", "", ""},
		{"new", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b"},
		{"gone", "a\n", "", "@@ -1 +0,0 @@\n-a"},
		{"one of three", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"},
		{"last newline", "a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file"},
		{"lines like heads", "@@ -1,1 +1,1 @@\n--- a,1 b\n", "@@ -1,1 +1,1 @@\n", "@@ -1,2 +1 @@\n @@ -1,1 +1,1 @@\n---- a,1 b"},
		{"two hunks", "x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n",
			"@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -5,4 +5,4 @@\n 4\n 5\n 6\n-y\n+Y"},
		{"one hunk over a short gap", "x\n1\n2\n3\n4\n5\ny\n", "X\n1\n2\n3\n4\n5\nY\n",
			"@@ -1,7 +1,7 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n-y\n+Y"},
		{"lines that repeat", "a:\n  x: 1\nb:\n  x: 1\nc:\n  x: 1\n", "a:\n  x: 1\nb:\n  x: 2\nc:\n  x: 1\n",
			"@@ -1,6 +1,6 @@\n a:\n   x: 1\n b:\n-  x: 1\n+  x: 2\n c:\n   x: 1"},
	} {
		if got := strings.Join(Lines(c.old, c.now), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestLinesApply has git turn the old text into the new one by our hunks.
func TestLinesApply(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git to apply patches")
	}
	r := rand.New(rand.NewSource(1))
	text := func() string {
		var b strings.Builder
		for range r.Intn(30) {
			b.WriteString(strings.Repeat("x", r.Intn(6)) + "\n")
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

// TestLinesBounds: what is too long is listed and not compared, up to so many lines, and
// 64 MiB of text without a common line take no gigabyte.
func TestLinesBounds(t *testing.T) {
	for _, c := range []struct {
		name, old, now string
		lines          int
		head, last     string
	}{
		{"short lines", strings.Repeat("a\n", 16<<20), strings.Repeat("b\n", 16<<20), maxLines + 2,
			"@@ -1,16777216 +1,16777216 @@", `\ 32505856 more lines`},
		{"long lines", strings.Repeat("a", 32<<20), strings.Repeat("b", 32<<20), 5,
			"@@ -1,1 +1,1 @@", `\ No newline at end of file`},
		{"one change", strings.Repeat("a\n", maxLines), strings.Repeat("a\n", maxLines) + "b\n", maxLines + 2,
			"@@ -1,1048576 +1,1048577 @@", `\ 1048577 more lines`},
		{"all new", "", strings.Repeat("\n", 32<<20), maxLines + 2, "@@ -0,0 +1,33554432 @@", `\ 32505856 more lines`},
		{"as much as is compared", strings.Repeat("a\n", maxLines/2), strings.Repeat("b\n", maxLines/2), maxLines + 1,
			"@@ -1,524288 +1,524288 @@", "+b"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := Lines(c.old, c.now)
		runtime.ReadMemStats(&after)
		if len(got) != c.lines || got[0] != c.head || got[len(got)-1] != c.last {
			t.Errorf("%s: %d lines, %q to %.40q; want %d, %q to %q", c.name, len(got), got[0], got[len(got)-1], c.lines, c.head, c.last)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 512<<20 {
			t.Errorf("%s: %d MiB allocated", c.name, took>>20)
		}
	}
}

// FuzzLines: applied to the old text, the hunks give the new one, and the other way round.
func FuzzLines(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc")
	f.Add("", "\n\n")
	f.Add("x\n\nx\n\nx\n1\n2\n3\n4\n5\n6\n7\n8\n", "x\n\nx\n1\n2\n3\n4\n5\n6\n7\ny\n")
	f.Fuzz(func(t *testing.T, old, now string) {
		lines := Lines(old, now)
		if got := apply(t, old, lines, '-'); got != now {
			t.Fatalf("%q by %q: %q, want %q", old, lines, got, now)
		}
		if got := apply(t, now, lines, '+'); got != old {
			t.Fatalf("%q back by %q: %q, want %q", now, lines, got, old)
		}
	})
}

// apply returns what hunks make of a text when lines of the kind gone go.
func apply(t *testing.T, text string, hunks []string, gone byte) string {
	var out strings.Builder
	rest, at := strings.SplitAfter(text, "\n"), 0
	for i, l := range hunks {
		if strings.HasPrefix(l, "@@") {
			old, now, _ := strings.Cut(strings.Trim(l, "@ "), " ")
			if gone == '+' {
				old = now
			}
			var first int
			n := 1
			if k, _ := fmt.Sscanf(old[1:], "%d,%d", &first, &n); k == 0 {
				t.Fatalf("head %q", l)
			}
			if n > 0 {
				first--
			}
			for ; at < first; at++ {
				out.WriteString(rest[at])
			}
			continue
		}
		if l[0] == '\\' {
			continue
		}
		line := l[1:] + "\n"
		if i+1 < len(hunks) && hunks[i+1][0] == '\\' {
			line = l[1:]
		}
		if l[0] == ' ' || l[0] == gone {
			if at == len(rest) || rest[at] != line {
				t.Fatalf("line %d of %q is not %q", at+1, text, line)
			}
			at++
		}
		if l[0] != gone {
			out.WriteString(line)
		}
	}
	return out.String() + strings.Join(rest[at:], "")
}
