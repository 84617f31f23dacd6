package space

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func TestRoom(t *testing.T) {
	r := newRoom(t.Context(), objects.Project)
	for range MaxFiles {
		if !r.take(0) {
			t.Fatal("no room for what fits")
		}
	}
	if r.full() != nil || r.take(0) || !fault.Is(r.full(), fault.Limit) {
		t.Errorf("one more name: %v, want limit", r.full())
	}
	r = newRoom(t.Context(), objects.Project)
	if !r.take(1<<60) || r.full() != nil {
		t.Error("a file that is too large to be read takes room")
	}
	for range MaxBytes / MaxItem {
		r.take(MaxItem)
	}
	if r.full() != nil || r.take(1) || !fault.Is(r.full(), fault.Limit) {
		t.Errorf("one more byte: %v, want limit", r.full())
	}
	why := errors.New("told to")
	ctx, cancel := context.WithCancelCause(t.Context())
	r = newRoom(ctx, objects.Project)
	cancel(why)
	n := 0
	for r.take(0) {
		n++
	}
	if n > 256 || r.full() != why {
		t.Errorf("%d names after the end, %v", n, r.full())
	}
}

// TestNoLinkIsFollowed: on the way to a file, in its place, and by the way of other systems.
func TestNoLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"tools/real/a.sh", "knowledge/a.md"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"tools/link": "real", "tools/real/b.sh": "a.sh", "directives": "tools"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	l := &Layer{Dir: dir}
	defer l.Close()
	if raw, err := l.Read("tools/real/a.sh"); err != nil || string(raw) != "text" {
		t.Fatalf("a plain file: %q, %v", raw, err)
	}
	for _, p := range []string{"tools/link/a.sh", "tools/real/b.sh", "directives/real/a.sh"} {
		if raw, err := l.Read(p); !fault.Is(err, fault.Malformed) {
			t.Errorf("Read(%s) = %q, %v, want malformed", p, raw, err)
		}
		if f, err := openPlain(l.root, p); !fault.Is(err, fault.Malformed) {
			t.Errorf("openPlain(%s) = %v, %v, want malformed", p, f, err)
		}
	}
	for _, p := range []string{"tools/link/new.sh", "directives/new.md"} {
		if err := l.Write(p, []byte("x"), WaitNone); err == nil {
			t.Errorf("Write(%s) went through a link", p)
		}
	}
	if err := l.Remove("tools/link/a.sh"); err == nil {
		t.Error("Remove went through a link")
	}
	if names, err := l.names("tools/link", true); err == nil && len(names) > 0 {
		t.Errorf("names of a linked folder: %v", names)
	}
	if _, err := os.Stat(filepath.Join(dir, "tools", "real", "a.sh")); err != nil {
		t.Error(err)
	}
}

// TestSweepTemps removes what was left of writing, beside items too, and nothing else.
func TestSweepTemps(t *testing.T) {
	dir, old := t.TempDir(), time.Now().Add(-2*time.Minute)
	made := []string{".rye-tmp-A", "tools/acme/.rye-tmp-B", "tools/acme/.rye-tmp-new", "tools/acme/.other", "tools/acme/a.sh"}
	for _, p := range made {
		path := filepath.Join(dir, p)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(p) != ".rye-tmp-new" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".rye-tmp-folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := &Layer{Dir: dir}
	defer l.Close()
	for i, dry := range []bool{true, false, false} {
		if n, err := l.SweepTemps(t.Context(), time.Now(), dry); err != nil || n != [...]int{2, 2, 0}[i] {
			t.Errorf("sweep %d: %d, %v", i, n, err)
		}
	}
	for i, p := range append(made, ".rye-tmp-folder") {
		if _, err := os.Lstat(filepath.Join(dir, p)); (err == nil) != (i > 1) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestSweepWaitsForAChange: what another process stages is no leftover, however old it is.
func TestSweepWaitsForAChange(t *testing.T) {
	l := &Layer{Space: objects.Project, Dir: filepath.Join(t.TempDir(), ".ai"), Store: filepath.Join(t.TempDir(), "store.git")}
	defer l.Close()
	unlock, err := alone(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	staged := filepath.Join(l.Dir, TempPrefix+"staged")
	if err := os.WriteFile(staged, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n, err := l.SweepTemps(ctx, later, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("sweep beside a change: %d, %v", n, err)
	}
	unlock()
	if n, err := l.SweepTemps(t.Context(), later, false); n != 1 || err != nil {
		t.Errorf("sweep after it: %d, %v", n, err)
	}
}

func TestTooManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 131,000 files")
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "knowledge", "acme")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(folder, "x.md")
	if err := os.WriteFile(first, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range MaxFiles {
		into := filepath.Join(dir, "knowledge", fmt.Sprintf("d%d", i/20_000))
		if i%20_000 == 0 {
			if err := os.Mkdir(into, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(first, filepath.Join(into, fmt.Sprintf("x%d.md", i))); err != nil {
			t.Skip(err)
		}
	}
	l := &Layer{Dir: dir}
	defer l.Close()
	if _, err := l.list(t.Context()); !fault.Is(err, fault.Limit) {
		t.Errorf("list of too many: %v, want limit", err)
	}
	if _, err := l.Files(t.Context(), func(string, objects.Ref) error { return nil }); !fault.Is(err, fault.Limit) {
		t.Errorf("files of too many: %v, want limit", err)
	}
}
