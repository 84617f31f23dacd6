package oplog

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/store"
)

// TestCatalogueOfManyVersions: 65,536 versions, each with as long a description as there may be,
// are read with the memory of a few shards.
func TestCatalogueOfManyVersions(t *testing.T) {
	if os.Getenv("RYE_SOAK") == "" {
		t.Skip("set RYE_SOAK for the full count")
	}
	ada := newKey("ada")
	s := NewState(Root{}, "acme")
	d := newDraft(s.cat)
	long := strings.TrimSpace(strings.Repeat("word ", MaxDescription/5))
	for i := range 65_536 {
		e := testEntry(ada, fmt.Sprintf("acme/knowledge/k%d@1.0.0", i), "x")
		e.Meta.Description, e.Publisher, e.Seq, e.Time, e.Status = long, ada.fp(), 2, testTime, StatusOK
		if err := d.put(&e); err != nil {
			t.Fatal(err)
		}
	}
	cat, err := (*catalogue)(nil).with(AddressOf([]byte("keys")), d.shards())
	if err != nil {
		t.Fatal(err)
	}
	raws := map[store.OID][]byte{}
	if err := cat.PutNew(nil, func(_ store.Type, data []byte) (store.OID, error) {
		at := AddressOf(data)
		raws[at.ID] = data
		return at.ID, nil
	}); err != nil {
		t.Fatal(err)
	}
	cat, d = OpenCatalogue(cat.at, func(a Address) ([]byte, error) { return raws[a.ID], nil }), draft{}
	s.keys, s.Seq, s.Namespace, s.from = []Key{{Public: ada.pub, Added: 1, State: KeyActive}}, 2, "acme", cat.from
	runtime.GC()
	var was, now runtime.MemStats
	runtime.ReadMemStats(&was)
	n, most := 0, uint64(0)
	err = cat.each(func(i byte, sh *Shard) error {
		if i%16 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		return s.Visit(sh, func(*Entry) error { n++; return nil })
	})
	if err != nil || n != 65_536 || most > was.HeapAlloc+(32<<20) {
		t.Errorf("%d versions, %d MiB more than before, %v", n, (most-was.HeapAlloc)>>20, err)
	}
}
