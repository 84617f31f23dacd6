package store

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/fault"
)

// underRun makes this the run of the machine with a name, until the test ends.
func underRun(t *testing.T, name string) {
	was := bootID
	bootID = func() string { return name }
	t.Cleanup(func() { bootID = was })
}

// fill writes an object by itself, a pack and a ref.
func fill(t *testing.T, r *Repo) (loose, packed OID) {
	t.Helper()
	ctx := context.Background()
	loose, err := r.Put(ctx, TypeBlob, []byte("by itself"))
	must(t, err)
	b := r.NewBatch()
	for i := range 200 {
		packed, err = b.Add(TypeBlob, bytes.Repeat([]byte{byte(i), 'x'}, 400))
		must(t, err)
	}
	must(t, b.Flush(ctx))
	b.Release()
	must(t, r.Swap(ctx, "refs/rye/one", OID{}, packed, "test"))
	return loose, packed
}

func TestCacheWaitsForNoDisk(t *testing.T) {
	var waits atomic.Int32
	testOnlySync = func(*os.File, string) { waits.Add(1) }
	t.Cleanup(func() { testOnlySync = nil })
	for run, want := range map[string]bool{"one run": false, "": true} {
		underRun(t, run)
		waits.Store(0)
		r, err := InitCache(filepath.Join(t.TempDir(), "c.git"), testHead)
		must(t, err)
		fill(t, r)
		must(t, r.Close())
		if got := waits.Load() > 0; got != want {
			t.Errorf("run %q: waited %d times", run, waits.Load())
		}
	}
}

func TestCacheAfterTheMachineWentDown(t *testing.T) {
	glob := func(pattern string) func(dir string, _ OID) string {
		return func(dir string, _ OID) string {
			all, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", pattern))
			return all[0]
		}
	}
	object := func(dir string, id OID) string { return loosePath(filepath.Join(dir, "objects"), id) }
	cut := func(raw []byte) []byte { return raw[:len(raw)/2] }
	zeros := func(raw []byte) []byte { return make([]byte, len(raw)) }
	none := func([]byte) []byte { return nil }
	for name, row := range map[string]struct {
		file   func(dir string, loose OID) string
		damage func([]byte) []byte
	}{
		"pack, its end":      {glob("*.pack"), cut},
		"pack, its content":  {glob("*.pack"), zeros},
		"pack, all":          {glob("*.pack"), none},
		"index, its end":     {glob("*.idx"), cut},
		"index, all":         {glob("*.idx"), none},
		"object, its end":    {object, cut},
		"object, all":        {object, none},
		"object, zeros":      {object, zeros},
		"ref, all":           {func(dir string, _ OID) string { return filepath.Join(dir, "refs", "rye", "one") }, none},
		"ref, zeros":         {func(dir string, _ OID) string { return filepath.Join(dir, "refs", "rye", "one") }, zeros},
		"HEAD, all":          {func(dir string, _ OID) string { return filepath.Join(dir, "HEAD") }, none},
		"HEAD, zeros":        {func(dir string, _ OID) string { return filepath.Join(dir, "HEAD") }, zeros},
		"nothing is damaged": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c.git")
			underRun(t, "before")
			r, err := InitCache(dir, testHead)
			must(t, err)
			loose, packed := fill(t, r)
			must(t, r.Close())
			if row.file != nil {
				path := row.file(dir, loose)
				raw, err := os.ReadFile(path)
				must(t, err)
				must(t, os.Remove(path)) // it is read-only
				must(t, os.WriteFile(path, row.damage(raw), 0o644))
			}
			underRun(t, "after")
			r, err = OpenCache(t.Context(), dir)
			if row.file != nil {
				if !fault.Is(err, fault.Integrity) {
					t.Fatalf("opened: %v", err)
				}
				return
			}
			must(t, err)
			defer r.Close()
			if at, err := r.Ref("refs/rye/one"); err != nil || at != packed || !r.Has(loose) {
				t.Errorf("at %s, %v", at, err)
			}
			if raw, _ := os.ReadFile(filepath.Join(dir, bootName)); string(raw) != "after" {
				t.Errorf("the run is noted as %q", raw)
			}
		})
	}
}
