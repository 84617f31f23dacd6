package memory

import (
	"maps"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

func FuzzMemory(f *testing.F) {
	id := objects.DigestOf([]byte("registry"))
	p := oplog.Point{Genesis: id, Seq: 3, Tip: store.SHA1.Hash(store.TypeBlob, nil), Sum: id, Owners: 1}
	f.Add(Points{"": p, "acme": p}.text("https://example.org/r.git", id))
	skips := p
	skips.Last = oplog.Position{Seq: 2, ID: p.Tip, Sum: id}
	f.Add(Points{"": p, "acme": skips}.text("https://example.org/r.git", id))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseMemory(raw, id)
		if err != nil {
			wantCoded(t, err)
			return
		}
		again, err := parseMemory(m.text("", id), id)
		if err != nil || !maps.Equal(again, m) {
			t.Fatalf("%+v becomes %+v (%v)", m, again, err)
		}
	})
}

func FuzzSkips(f *testing.F) {
	id := objects.DigestOf([]byte("operation"))
	p := oplog.Position{Seq: 4, ID: store.SHA1.Hash(store.TypeBlob, nil), Sum: id}
	f.Add(skipsText(oplog.Skips{List: []oplog.Skipped{{Position: p, By: objects.Fingerprint{}, Why: "Grüße \"x\""}, {Position: p, Voided: 5}}, More: 3, UpTo: 9}))
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := parseSkips(text); err != nil {
			wantCoded(t, err)
		} else if skipsText(k) != text {
			t.Fatalf("%q becomes %q", text, skipsText(k))
		}
	})
}

// What was noted of sightings is read as it was written, or refused.
func FuzzSightings(f *testing.F) {
	f.Add([]byte("3 -\n9 2026-01-02T03:04:05Z\n"))
	f.Add([]byte("3 -\n9 2026-01-02T03:04:05Z\n11 2025-01-02T03:04:05Z\n"))
	f.Add([]byte("0 -\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := parseSightings(raw)
		if err != nil {
			return
		}
		for i := 1; i < len(all); i++ {
			if all[i].seq <= all[i-1].seq || all[i].when.Before(all[i-1].when) {
				t.Fatalf("%q: %v is no order", raw, all)
			}
		}
	})
}

func wantCoded(t *testing.T, err error) {
	t.Helper()
	switch fault.CodeOf(err) {
	case fault.Malformed, fault.Limit, fault.Untrusted, fault.Integrity:
	default:
		t.Fatalf("code %q: %v", fault.CodeOf(err), err)
	}
}
