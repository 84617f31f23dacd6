package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// TestCacheStaysTidy: a cache takes a pack with each fetch; they are put together
// before they are many, and nothing of it is lost, though the cache lacks what
// nobody asked for and cannot be followed to its end.
func TestCacheStaysTidy(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	var names []string
	for i := range 24 {
		names = append(names, fmt.Sprintf("acme/knowledge/n%d@1.0.0", i))
	}
	pub := w.machine(t)
	w.publish(pub, w.ada, names[:2]...)
	w.publish(pub, w.ada, names...)
	for i := range 24 {
		w.publish(pub, w.ada, fmt.Sprintf("acme/knowledge/later%d@1.0.0", i))
	}
	if found, _ := filepath.Glob(filepath.Join(pub.mem.CacheDir(), "objects", "pack", "*.pack")); len(found) > 10 {
		t.Errorf("%d packs after 26 publications", len(found))
	}
	m := w.machine(t)
	w.sync(m, "acme")
	var rels []oplog.Release
	for i := range names {
		rel, err := m.Release(mustRef(fmt.Sprintf("acme/knowledge/n%d", i)), "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Fetch(w.ctx, rel); err != nil {
			t.Fatal(err)
		}
		rels = append(rels, rel)
	}
	packs := func() int {
		found, _ := filepath.Glob(filepath.Join(m.mem.CacheDir(), "objects", "pack", "*.pack"))
		return len(found)
	}
	if n := packs(); n > 10 {
		t.Errorf("%d packs after %d fetches", n, len(rels))
	}
	c, err := m.reading().Compact(w.ctx, store.CompactOptions{Packs: true})
	if err != nil || c.Objects == 0 || packs() != 1 {
		t.Errorf("Compact = %+v, %v; %d packs", c, err, packs())
	}
	off := m.reopen(w, func(o *Options) { o.Offline = true })
	w.sync(off, "acme")
	for _, rel := range rels {
		if _, err := off.Fetch(w.ctx, rel); err != nil {
			t.Errorf("offline, %s: %v", rel.Name(), err)
		}
	}
}

// TestCacheWithoutEmptyDirectories: who clears a cache of empty directories takes some of a
// repository's.
func TestCacheWithoutEmptyDirectories(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/a@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	m.Close()
	for _, gone := range []string{"refs", "objects"} {
		if err := os.RemoveAll(filepath.Join(m.mem.CacheDir(), gone)); err != nil {
			t.Fatal(err)
		}
		m = m.reopen(w, nil)
		w.sync(m, "acme")
		if _, err := m.Select(mustRef("acme/knowledge/a"), mustRange("*")); err != nil {
			t.Errorf("without %s: %v", gone, err)
		}
	}
}
