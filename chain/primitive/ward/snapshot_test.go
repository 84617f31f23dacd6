//go:build unix

package ward

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// The moment before a run: what a person or another program just wrote is not the run's. Nothing
// settles here, so that every file is of the same tick as the run.
func TestJustWritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		there []string
		does  func(t *testing.T, dir string)
		want  []string
	}{
		{name: "nothing", there: []string{".ai/tools/a.sh", ".ai/lock", ".vscode/a/b", ".vscode/l -> a", ".envrc"}},
		{name: "a file made and removed", there: []string{".vscode/a/b"}, does: func(t *testing.T, dir string) {
			put(t, dir, ".vscode/a/c")
			remove(t, filepath.Join(dir, ".vscode/a/c"))
		}},
		{name: "a file written with the bytes that it has", there: []string{".vscode/a/b"}, does: func(t *testing.T, dir string) {
			put(t, dir, ".vscode/a/b")
		}},
		{name: "other bytes of the same size, with the times set back", there: []string{".vscode/a/b", ".ai/lock"}, does: func(t *testing.T, dir string) {
			forge(t, filepath.Join(dir, ".vscode/a/b"))
		}, want: []string{"changed .vscode"}},
		{name: "other bytes of a file that is protected itself", there: []string{".envrc", ".mcp.json"}, does: func(t *testing.T, dir string) {
			forge(t, filepath.Join(dir, ".envrc"))
		}, want: []string{"changed .envrc"}},
		{name: "a permission", there: []string{".husky/pre-commit", ".vscode/x"}, does: func(t *testing.T, dir string) {
			testkit.Must(t, os.Chmod(filepath.Join(dir, ".husky/pre-commit"), 0o755))
		}, want: []string{"changed .husky"}},
		{name: "a new file", there: []string{".ai/tools/a.sh"}, does: func(t *testing.T, dir string) {
			put(t, dir, ".ai/policy.yaml")
		}, want: []string{"changed .ai"}},
		{name: "a removed file", there: []string{".ai/tools/a.sh", ".ai/lock"}, does: func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, ".ai/lock"))
		}, want: []string{"changed .ai"}},
		{name: "a file under another's name", there: []string{".ai/a", ".ai/b"}, does: func(t *testing.T, dir string) {
			a, b := filepath.Join(dir, ".ai/a"), filepath.Join(dir, ".ai/b")
			testkit.Must(t, os.Rename(a, a+"x"))
			testkit.Must(t, os.Rename(b, a))
			testkit.Must(t, os.Rename(a+"x", b))
		}, want: []string{"changed .ai"}},
		{name: "a link led elsewhere", there: []string{".vscode/l -> a"}, does: func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, ".vscode/l"))
			put(t, dir, ".vscode/l -> b")
		}, want: []string{"changed .vscode"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t, c.there...)
			w, unheld := lookAll(t, dir)
			if c.does != nil {
				c.does(t, dir)
			}
			taken, err := w.After(context.Background(), unheld, t.TempDir())
			testkit.Must(t, err)
			equal(t, "taken", says(taken), c.want)
			equal(t, "not compared", w.Unbound(), nil)
		})
	}
}

// TestOldFilesForged: of files from before, only the kernel's ctime is kept, which no program sets.
func TestOldFilesForged(t *testing.T) {
	dir := project(t, ".vscode/a/b", ".ai/tools/a.sh")
	settle(t)
	w, unheld := lookAll(t, dir)
	forge(t, filepath.Join(dir, ".vscode/a/b"))
	taken, err := w.After(context.Background(), unheld, t.TempDir())
	testkit.Must(t, err)
	equal(t, "taken", says(taken), []string{"changed .vscode"})
}

// TestForgedCtime: where a program may choose the ctime, the bytes decide, however old they are.
func TestForgedCtime(t *testing.T) {
	dir := project(t, ".vscode/a/b")
	settle(t)
	d, err := openDisk(dir)
	testkit.Must(t, err)
	defer d.Close()
	d.trusted = false
	m := &memoriser{snapshot: newSnapshot(), ctx: context.Background(), d: d, names: 10, bytes: 10_000}
	m.add(".vscode")
	if !m.same(d, ".vscode") {
		t.Fatal("changed, although nothing was")
	}
	p := filepath.Join(dir, ".vscode/a/b")
	forge(t, p)
	st, err := d.stat(".vscode/a/b")
	testkit.Must(t, err)
	s := m.sights[".vscode/a/b"]
	s.ctime = st.ctime
	m.sights[".vscode/a/b"] = s
	if m.same(d, ".vscode") {
		t.Error("other bytes with the same ctime pass for the old ones")
	}
}

// TestTooMuchToRemember: then the times decide, and that is said.
func TestTooMuchToRemember(t *testing.T) {
	dir := project(t, ".vscode/a/b", ".ai/x")
	big, err := os.Create(filepath.Join(dir, ".vscode/big"))
	testkit.Must(t, err)
	testkit.Must(t, big.Truncate(maxCompared+1))
	testkit.Must(t, big.Close())
	w, unheld := lookAll(t, dir)
	equal(t, "not compared", w.Unbound(), []string{".vscode " + byTimes + " " + sought})
	put(t, dir, ".vscode/new")
	taken, err := w.After(context.Background(), unheld, t.TempDir())
	testkit.Must(t, err)
	if len(taken) == 0 {
		t.Error("a change beside a large file was missed")
	}
}

// lookAll looks, and remembers everything, as where there are no mounts.
func lookAll(t testing.TB, dir string) (*Ward, []string) {
	t.Helper()
	w := look(t, Options{Project: dir})
	var unheld []string
	for _, m := range w.Protected() {
		unheld = append(unheld, m.Path)
	}
	w.Remember(context.Background(), unheld)
	return w, unheld
}

// forge writes other bytes of the same length, and sets the times back.
func forge(t testing.TB, path string) {
	t.Helper()
	st, err := os.Stat(path)
	testkit.Must(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	testkit.Must(t, err)
	_, err = f.WriteString("x")
	testkit.Must(t, err)
	testkit.Must(t, f.Close())
	testkit.Must(t, os.Chtimes(path, time.Time{}, st.ModTime()))
}

func remove(t testing.TB, path string) {
	t.Helper()
	testkit.Must(t, os.Remove(path))
}

// BenchmarkRemember measures the snapshot of a large .ai, for each file (us/file).
func BenchmarkRemember(b *testing.B) {
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf(".ai/tools/d%02d/t%04d.sh", i%50, i))
	}
	dir := project(b, names...)
	settle(b)
	w := look(b, Options{Project: dir})
	for b.Loop() {
		w.Remember(context.Background(), []string{filepath.Join(dir, ".ai")})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5000/1000, "us/file")
}
