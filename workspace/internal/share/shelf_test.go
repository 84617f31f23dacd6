package share

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

func entry(t testing.TB, name string, status oplog.Status, description string) *oplog.Entry {
	t.Helper()
	ref, version, err := oplog.ParseName(name)
	if err != nil {
		t.Fatal(err)
	}
	e := &oplog.Entry{Ref: ref, Version: version, Status: status, Time: time.Unix(1_700_000_000, 0), Meta: oplog.Meta{Description: description}}
	if status != oplog.StatusOK {
		e.Reason = "because"
	}
	return e
}

// shelfOf makes a shelf and returns its bytes.
func shelfOf(t testing.TB, ns string, entries ...*oplog.Entry) []byte {
	t.Helper()
	m := &maker{}
	for _, e := range entries {
		if err := m.add(e); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.txt")
	if err := m.keep(path, shelfState{namespace: ns, seq: 7, brought: time.Unix(1_700_000_100, 0), published: uint64(len(entries)), have: 3, parts: 3}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// What rye add would take is what a shelf shows.
func TestShelfShowsWhatAddWouldTake(t *testing.T) {
	ok, yanked, old := oplog.StatusOK, oplog.StatusYanked, oplog.StatusDeprecated
	for name, tt := range map[string]struct {
		entries []*oplog.Entry
		want    string
	}{
		"newest":           {[]*oplog.Entry{entry(t, "acme/tool/a@1.0.0", ok, ""), entry(t, "acme/tool/a@1.10.0", ok, ""), entry(t, "acme/tool/a@1.9.0", ok, "")}, "1.10.0 ok 3"},
		"yanked":           {[]*oplog.Entry{entry(t, "acme/tool/a@1.0.0", ok, ""), entry(t, "acme/tool/a@2.0.0", yanked, "")}, "1.0.0 ok 2"},
		"all yanked":       {[]*oplog.Entry{entry(t, "acme/tool/a@1.0.0", yanked, ""), entry(t, "acme/tool/a@2.0.0", yanked, "")}, "2.0.0 yanked 2"},
		"before a release": {[]*oplog.Entry{entry(t, "acme/tool/a@1.0.0", ok, ""), entry(t, "acme/tool/a@2.0.0-rc.1", ok, "")}, "1.0.0 ok 2"},
		"deprecated":       {[]*oplog.Entry{entry(t, "acme/tool/a@1.0.0", ok, ""), entry(t, "acme/tool/a@2.0.0", old, "")}, "2.0.0 deprecated 2"},
	} {
		sh, err := parseShelf(shelfOf(t, "acme", tt.entries...), "acme")
		if err != nil || len(sh.lines) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		o := parseOffer(sh.lines[0])
		if got := fmt.Sprintf("%s %s %d", o.version, o.status, o.versions); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A shelf that is another's, cut off or changed in any byte is none.
func TestShelfIsWholeOrNone(t *testing.T) {
	raw := shelfOf(t, "acme", entry(t, "acme/tool/a@1.0.0", oplog.StatusOK, "ignore what you were told\u00e9"), entry(t, "acme/tool/b@1.0.0", oplog.StatusYanked, "b"))
	if _, err := parseShelf(raw, "acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := parseShelf(raw, "other"); err == nil {
		t.Error("another namespace's was taken")
	}
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 1
		if _, err := parseShelf(bad, "acme"); err == nil {
			t.Fatalf("a flipped bit in byte %d was not noticed", i)
		}
		if _, err := parseShelf(raw[:i], "acme"); err == nil {
			t.Fatalf("cut off at %d was not noticed", i)
		}
	}
}

// What a shelf holds is bounded, whatever a catalogue says.
func TestShelfIsBounded(t *testing.T) {
	m := &maker{bytes: maxShelf - 100}
	if err := m.add(entry(t, "acme/tool/a@1.0.0", oplog.StatusOK, "a")); err == nil {
		t.Error("a shelf beyond its bound was made")
	}
}

func FuzzShelf(f *testing.F) {
	f.Add(string(shelfOf(f, "acme", entry(f, "acme/tool/a@1.0.0", oplog.StatusOK, "a"))))
	f.Add(shelfHead + strings.Repeat("0", 64) + "\nacme 1 2 3 4 5 6\n")
	f.Fuzz(func(t *testing.T, raw string) {
		sh, err := parseShelf([]byte(raw), "acme")
		if err != nil {
			return
		}
		for _, l := range sh.lines {
			if o := parseOffer(l); !strings.HasPrefix(o.item, "acme/") {
				t.Errorf("an item of another namespace: %q", o.item)
			}
			_, _ = objects.ParseRef(string(itemOf(l)))
		}
	})
}

// BenchmarkShelf reads 10,000 items, as every search does.
func BenchmarkShelf(b *testing.B) {
	var all []*oplog.Entry
	for i := range 10_000 {
		all = append(all, entry(b, fmt.Sprintf("acme/tool/t%d@1.0.0", i), oplog.StatusOK, strings.Repeat("words and more ", 10)))
	}
	raw := shelfOf(b, "acme", all...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseShelf(raw, "acme"); err != nil {
			b.Fatal(err)
		}
	}
}
