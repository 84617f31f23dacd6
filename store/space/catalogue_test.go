package space_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// catalogueFile returns the one catalogue below the cache.
func (w *world) catalogueFile() string {
	w.t.Helper()
	all, err := filepath.Glob(filepath.Join(w.cache, "catalogue", "*.cat"))
	if err != nil || len(all) != 1 {
		w.t.Fatalf("%d catalogues (%v), want 1", len(all), err)
	}
	return all[0]
}

// settle dates a file back so that no look takes it for one changed this moment.
// The change itself has a time too, where there is one; that passes by itself.
func (w *world) settle() {
	w.t.Helper()
	then := time.Now().Add(-time.Hour).Truncate(time.Second).Add(123456789)
	w.must(filepath.WalkDir(w.project.Dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(p, then, then)
	}))
	for start := time.Now(); time.Since(start) < 60*time.Millisecond; {
		runtime.Gosched() // twice a tick of the file system's clock
	}
}

func (w *world) rows() []space.Row {
	w.t.Helper()
	s := w.stack()
	rows, err := rowsOf(w.t.Context(), s, s.Project)
	w.must(err)
	return rows
}

// TestCatalogueIsBelievedOnlyWhileNothingChanged changes one thing at a time after
// the catalogue was made; every change must show at once.
func TestCatalogueIsBelievedOnlyWhileNothingChanged(t *testing.T) {
	other := "tools/acme/other.sh"
	for _, c := range []struct {
		name string
		do   func(w *world, raw []byte)
		want string
	}{
		{"nothing", func(*world, []byte) {}, "signed recorded"},
		{"a byte", func(w *world, raw []byte) {
			w.write(w.project, greet, bytes.Replace(raw, []byte("echo hello"), []byte("echo hallo"), 1))
		}, "modified"},
		{"a byte, and the time put back", func(w *world, raw []byte) {
			file := filepath.Join(w.project.Dir, filepath.FromSlash(greet))
			st, err := os.Stat(file)
			w.must(err)
			w.write(w.project, greet, bytes.Replace(raw, []byte("echo hello"), []byte("echo hallo"), 1))
			w.must(os.Chtimes(file, st.ModTime(), st.ModTime()))
		}, "modified"},
		{"touched only", func(w *world, raw []byte) { w.write(w.project, greet, raw) }, "signed recorded"},
		{"gone", func(w *world, _ []byte) { w.remove(w.project, greet) }, "absent"},
		{"another record", func(w *world, _ []byte) {
			w.record(w.project, store.Change{Path: greet, Data: w.sign(w.project, greet, body("2.0.0", "newer"))})
		}, "older"},
		{"a record without it", func(w *world, _ []byte) { w.record(w.project, store.Change{Path: greet, Delete: true}) }, "returned"},
		{"the key denied", func(w *world, _ []byte) { w.must(w.trust.DenyKey(w.key.Public().Fingerprint(), "lost")) }, "denied recorded"},
		{"the project forgotten", func(w *world, _ []byte) { w.trust.DropGrants(place) }, "untrusted recorded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			raw := w.put(w.project, greet, "1.0.0", "hello")
			w.put(w.project, other, "1.0.0", "hello")
			w.settle()
			w.rows()
			if runtime.GOOS == "windows" && strings.Contains(c.name, "put back") {
				t.Skip("there is no time of change here")
			}
			c.do(w, raw)
			if got := w.states(w.project); !strings.HasPrefix(got, greet+" "+c.want+"\n") {
				t.Errorf("got %q, want %s", got, c.want)
			}
		})
	}
}

// TestCatalogueAnswers changes a word in the catalogue and mends its sum: lists
// repeat it, so the file was not read; what decides about use does not.
func TestCatalogueAnswers(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.settle()
	w.rows()
	raw, err := os.ReadFile(w.catalogueFile())
	w.must(err)
	raw = bytes.ReplaceAll(raw, []byte("hello"), []byte("jelly"))
	binary.LittleEndian.PutUint32(raw[8:], crc32.Checksum(raw[12:], crc32.MakeTable(crc32.Castagnoli)))
	w.must(os.WriteFile(w.catalogueFile(), raw, 0o600))
	if got := w.rows()[0].Description; got != "jelly" {
		t.Errorf("the file was read again: %q", got)
	}
	if got := w.want("used", "").Item().Meta.Description; got != "hello" {
		t.Errorf("an item came from the catalogue: %q", got)
	}
	s := w.stack()
	found, err := s.Scan(t.Context(), s.Project, nil)
	if err != nil || found[0].Item.Meta.Description != "hello" {
		t.Errorf("a scan came from the catalogue: %v", err)
	}
}

func TestCatalogueDamaged(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.write(w.project, "tools/acme/unsigned.sh", body("1.0.0", "no"))
	w.settle()
	w.rows()
	file := w.catalogueFile()
	good, err := os.ReadFile(file)
	w.must(err)
	want := w.states(w.project)
	for i := 0; i < len(good); i += 3 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		w.must(os.WriteFile(file, bad, 0o600))
		if got := lines(w.rows()); got != want {
			t.Fatalf("byte %d changed: %q, want %q", i, got, want)
		}
		w.must(os.WriteFile(file, good[:i], 0o600))
		if got := lines(w.rows()); got != want {
			t.Fatalf("cut at %d: %q, want %q", i, got, want)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || len(got) != len(good) {
		t.Errorf("not rebuilt: %d bytes, %v; want %d", len(got), err, len(good))
	}
}

func TestCatalogueWithoutADisk(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.settle()
	w.cache = filepath.Join(w.cache, "file")
	w.must(os.WriteFile(w.cache, []byte("not a directory"), 0o600))
	want := greet + " signed recorded\n"
	if got := w.states(w.project); got != want {
		t.Errorf("got %q", got)
	}
	w.cache = ""
	if got := w.states(w.project); got != want {
		t.Errorf("without a cache: %q", got)
	}
	if runtime.GOOS != "windows" && os.Geteuid() != 0 {
		w.cache = t.TempDir()
		w.must(os.Chmod(w.cache, 0o500))
		if got := w.states(w.project); got != want {
			t.Errorf("read-only: %q", got)
		}
	}
}

// TestCatalogueRacy writes the same number of bytes right after a look. The clock
// of the file system may not have moved, so the time of the file tells nothing.
func TestCatalogueRacy(t *testing.T) {
	w := newWorld(t)
	raw := w.put(w.project, greet, "1.0.0", "hello")
	changed := bytes.Replace(raw, []byte("echo hello"), []byte("echo hallo"), 1)
	for i := range 50 {
		w.write(w.project, greet, raw)
		if got := lines(w.rows()); got != greet+" signed recorded\n" {
			t.Fatalf("round %d: %q", i, got)
		}
		w.write(w.project, greet, changed)
		if got := lines(w.rows()); got != greet+" modified\n" {
			t.Fatalf("round %d, changed: %q", i, got)
		}
	}
}

func TestCatalogueOfManyReadersAndWriters(t *testing.T) {
	w := newWorld(t)
	var changes []store.Change
	for i := range 200 {
		p := fmt.Sprintf("tools/acme/t%03d.sh", i)
		raw := w.sign(w.project, p, body("1.0.0", "hello"))
		w.write(w.project, p, raw)
		changes = append(changes, store.Change{Path: p, Data: raw})
	}
	w.record(w.project, changes...)
	w.settle()
	var wg sync.WaitGroup
	for g := range 4 {
		s := w.stack()
		wg.Go(func() {
			for i := range 10 {
				if g == 0 {
					os.Remove(w.anyCatalogue())
				}
				rows, err := rowsOf(t.Context(), s, s.Project)
				if err != nil || len(rows) != 200 {
					t.Errorf("reader %d, look %d: %d rows, %v", g, i, len(rows), err)
					return
				}
			}
		})
	}
	wg.Wait()
	left, err := filepath.Glob(filepath.Join(w.cache, "catalogue", ".rye-tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func (w *world) anyCatalogue() string {
	all, _ := filepath.Glob(filepath.Join(w.cache, "catalogue", "*.cat"))
	if len(all) == 0 {
		return filepath.Join(w.cache, "none")
	}
	return all[0]
}

// TestCatalogueOfLongWords keeps an item that says too much about itself out of the
// file, and still notices when it goes.
func TestCatalogueOfLongWords(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", strings.Repeat("long ", 20<<10))
	w.settle()
	if got, want := w.states(w.project), greet+" signed recorded\n"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	w.remove(w.project, greet)
	if got, want := w.states(w.project), greet+" absent\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCatalogueSweepsWhatIsOld(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.settle()
	dir := filepath.Join(w.cache, "catalogue")
	w.must(os.MkdirAll(dir, 0o700))
	ages := map[string]time.Duration{"old.cat": 100 * 24 * time.Hour, "young.cat": 24 * time.Hour, ".rye-tmp-1": 2 * time.Hour, ".rye-tmp-2": time.Minute}
	for name, age := range ages {
		w.must(os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		then := time.Now().Add(-age)
		w.must(os.Chtimes(filepath.Join(dir, name), then, then))
	}
	w.rows()
	for name, stays := range map[string]bool{"old.cat": false, "young.cat": true, ".rye-tmp-1": false, ".rye-tmp-2": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s stays: %v, want %v", name, err == nil, stays)
		}
	}
}

// BenchmarkRows is a look at clean items from the catalogue.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			var changes []store.Change
			for i := range n {
				dir := fmt.Sprintf("acme/t%03d", i/100)
				p := fmt.Sprintf("tools/%s/e%05d.sh", dir, i)
				raw := w.sign(w.project, p, bytes.Replace(body("1.0.0", "hello"), []byte("category: acme"), []byte("category: "+dir), 1))
				w.write(w.project, p, raw)
				changes = append(changes, store.Change{Path: p, Data: raw})
			}
			w.record(w.project, changes...)
			w.settle()
			w.rows()
			for b.Loop() {
				w.rows()
			}
		})
	}
}

// TestCatalogueOfTheLibrary: what a catalogue says of the library is what a look at each item
// says, whatever the user takes back, and whatever becomes of the file.
func TestCatalogueOfTheLibrary(t *testing.T) {
	w := newWorld(t)
	check := func(what string) {
		t.Helper()
		for range 2 {
			s := w.stack()
			s.System = space.OpenSystem
			found, err := s.ScanSystem()
			w.must(err)
			k, err := space.LookSystem(t.Context(), s)
			w.must(err)
			if got, want := lines(k.Rows()), lines(space.RowsOf(found, nil)); got != want || k.Len() < 50 {
				t.Errorf("%s: the look says\n%s, want\n%s", what, got, want)
			}
		}
	}
	check("first")
	system, err := space.OpenSystem()
	w.must(err)
	p, _ := system.Locate(ref("tool:rye/core/runtimes/bash_runtime"))
	raw, err := system.File(p)
	w.must(err)
	w.must(w.trust.DenyDigest(objects.DigestOf(raw), "taken back"))
	check("after one was taken back")
	files, err := filepath.Glob(filepath.Join(w.cache, "catalogue", "*.cat"))
	w.must(err)
	if len(files) == 0 {
		t.Fatal("no catalogue was written")
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		w.must(err)
		raw[len(raw)/2] ^= 1
		w.must(os.WriteFile(file, raw, 0o600))
	}
	check("after it was damaged")
}
