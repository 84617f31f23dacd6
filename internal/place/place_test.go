package place

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestFileReplacesWhole(t *testing.T) {
	p := filepath.Join(t.TempDir(), "a", "b")
	for _, text := range []string{"one", "two, longer", ""} {
		if err := File(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(p)
		if err != nil || string(got) != text {
			t.Errorf("read %q, %v, want %q", got, err, text)
		}
		if left, _ := os.ReadDir(filepath.Dir(p)); len(left) != 1 {
			t.Errorf("%d files left, want 1", len(left))
		}
	}
}

func TestFileLeavesNothingWhenRefused(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "taken")
	if err := os.Mkdir(p, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := File(p, []byte("x"), 0o644); err == nil {
		t.Error("replaced a directory")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d entries left, want the directory alone", len(left))
	}
}

// TestFiles: several are written as each would be, and nothing is left of those that cannot be.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(other, "two")
	for _, text := range []string{"first", "then", ""} {
		if err := (Ready{}).Files(Draft{one, []byte(text + "1"), 0o600}, Draft{two, []byte(text + "2"), 0o644}); err != nil {
			t.Fatal(err)
		}
		for p, want := range map[string]string{one: text + "1", two: text + "2"} {
			if got, err := os.ReadFile(p); err != nil || string(got) != want {
				t.Errorf("read %q, %v, want %q", got, err, want)
			}
		}
	}
	if err := (Ready{}).Files(Draft{one, []byte("x"), 0o600}, Draft{other, []byte("x"), 0o600}, Draft{two, []byte("x"), 0o600}); err == nil {
		t.Error("replaced a directory")
	}
	if err := (Ready{}).Files(Draft{one, []byte("y"), 0o600}, Draft{filepath.Join(dir, "none", "x"), nil, 0o600}); err == nil {
		t.Error("wrote into a directory that is not there")
	}
	if got, _ := os.ReadFile(one); string(got) != "x" {
		t.Errorf("of what came before the refusal %q is there, want x; and y of what wrote nothing is not", got)
	}
	if got, _ := os.ReadFile(two); string(got) != "2" {
		t.Errorf("what came after the refusal is %q", got)
	}
	for _, d := range []string{dir, other} {
		if left, _ := filepath.Glob(filepath.Join(d, ".rye-tmp-*")); len(left) != 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// TestPrepare: drafts that were prepared get their names without another file, drafts that differ
// meanwhile are written as they are now, and nothing else remains.
func TestPrepare(t *testing.T) {
	inode := func(path string) os.FileInfo {
		t.Helper()
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	draft := func(path, text string) Draft { return Draft{path, []byte(text), 0o600} }
	for name, row := range map[string]struct{ prepared, written string }{
		"as prepared": {"new", "new"},
		"otherwise":   {"new", "newer"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
			if err := (Ready{}).Files(draft(one, "old"), draft(two, "old")); err != nil {
				t.Fatal(err)
			}
			r := Prepare(draft(one, row.prepared), draft(two, row.prepared), draft(filepath.Join(dir, "none", "x"), ""))
			temps, _ := filepath.Glob(filepath.Join(dir, ".rye-tmp-*"))
			if got, err := os.ReadFile(one); err != nil || string(got) != "old" || len(temps) != 2 {
				t.Fatalf("prepared: %q, %v, beside %q", got, err, temps)
			}
			made := []os.FileInfo{inode(temps[0]), inode(temps[1])}
			if err := r.Files(draft(one, row.written), draft(two, row.written)); err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{one, two} {
				if got, err := os.ReadFile(p); err != nil || string(got) != row.written {
					t.Errorf("%s = %q, %v, want %q", p, got, err, row.written)
				}
				used := os.SameFile(inode(p), made[0]) || os.SameFile(inode(p), made[1])
				if used != (row.prepared == row.written) {
					t.Errorf("%s is the prepared file: %v", p, used)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".rye-tmp-*")); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
			Prepare(draft(one, "never")).Discard()
			if left, _ := filepath.Glob(filepath.Join(dir, ".rye-tmp-*")); len(left) != 0 {
				t.Errorf("left after Discard: %q", left)
			}
			if got, _ := os.ReadFile(one); string(got) != row.written {
				t.Errorf("after Discard: %q, want %q", got, row.written)
			}
		})
	}
}

// TestModes: a file that others may not read gets directories that they may not
// enter.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	for mode, dirMode := range map[os.FileMode]os.FileMode{0o600: 0o700, 0o644: 0o755} {
		top := filepath.Join(t.TempDir(), "new")
		p := filepath.Join(top, "deeper", "file")
		for _, put := range []func(string, []byte, os.FileMode) error{File, Cache} {
			if err := put(p, []byte("x"), mode); err != nil {
				t.Fatal(err)
			}
			if st, err := os.Stat(p); err != nil || st.Mode().Perm() != mode {
				t.Errorf("file made with %o: %v, %v", mode, st.Mode(), err)
			}
			if st, err := os.Stat(top); err != nil || st.Mode().Perm() != dirMode {
				t.Errorf("directory of a file made with %o: %v, %v", mode, st.Mode(), err)
			}
		}
	}
}

func TestTempAndReplace(t *testing.T) {
	dir := t.TempDir()
	tmp, err := Temp(dir, []byte("x"), 0o600)
	if err != nil || filepath.Dir(tmp) != dir {
		t.Fatal(tmp, err)
	}
	to := filepath.Join(dir, "name")
	if err := Replace(tmp, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); string(got) != "x" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := Replace(tmp, to); !fault.Is(err, fault.Failed) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("replace by nothing: %v", err)
	}
	if _, err := Temp(filepath.Join(dir, "none"), nil, 0o600); err == nil {
		t.Error("a temporary file in no directory")
	}
}

// TestLock: a second lock waits until its context ends, and says why.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	busy := errors.New("busy")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, busy)
	defer cancel()
	if !Held(path) || Held(path+"2") {
		t.Error("a held lock is not seen, or a missing one is")
	}
	if _, err := Lock(ctx, path); err != busy {
		t.Errorf("second lock: %v, want busy", err)
	}
	unlock()
	if Held(path) {
		t.Error("a released lock is held")
	}
	if unlock, err = Lock(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	unlock()
	if _, err := Lock(t.Context(), filepath.Join(path, "below")); !fault.Is(err, fault.Failed) {
		t.Errorf("lock below a file: %v, want failed", err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if _, err := Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Read(dir, 10); !fault.Is(err, fault.Malformed) {
		t.Errorf("a directory: %v, want malformed", err)
	}
	for _, n := range []int{0, 9, 10, 11, 5000} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), n), 0o600); err != nil {
			t.Fatal(err)
		}
		raw, err := Read(path, 10)
		if n > 10 && !fault.Is(err, fault.Limit) || n <= 10 && (err != nil || len(raw) != n) {
			t.Errorf("%d bytes of 10: %d, %v", n, len(raw), err)
		}
	}
	// What has no size until it is read, and more than it may.
	if _, err := os.Stat("/proc/self/status"); err == nil {
		if _, err := Read("/proc/self/status", 10); !fault.Is(err, fault.Limit) {
			t.Errorf("a file that says it is empty: %v, want limit", err)
		}
		if raw, err := Read("/proc/self/status", 1<<20); err != nil || len(raw) < 100 {
			t.Errorf("a file that says it is empty: %d, %v", len(raw), err)
		}
	}
}
