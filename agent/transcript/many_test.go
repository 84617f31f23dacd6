package transcript

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/search"
)

// lorem is what a turn of usual length says: some words of many.
func lorem(seed int) string {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "word%d ", (seed*7919+i*i*31)%5000)
	}
	return b.String()
}

// TestManyThreads: a look at a thousand threads of twenty turns reads what it knows of a table,
// and nothing of a journal that did not change.
func TestManyThreads(t *testing.T) {
	threads, turns := 100, 5
	if soak() {
		threads, turns = 1000, 20
	}
	top, cache := t.TempDir(), t.TempDir()
	for n := range threads {
		w := begin(t, top, n)
		w.add(0, "thread_started", `{"directive":"directive:acme/work","model":"m","epoch":1}`)
		for turn := 1; turn < turns; turn++ {
			w.add(turn, append(say(lorem(n*turns+turn)), "tool_call_start", `{"tool":"search","call_id":"1","input":{"query":"parcel"}}`,
				"tool_call_result", `{"call_id":"1","output":"`+lorem(n+turn)+`","duration_ms":1}`)...)
		}
		w.add(turns-1, "thread_completed", `{"cost":{}}`)
	}
	var begun atomic.Int64
	o := Options{Dir: top, Cache: cache, Stem: func(w string) string { return w },
		Begun: func(ctx context.Context, dir string) (Begun, error) { begun.Add(1); return parts{}.begun(ctx, dir) }}
	for look := range 3 {
		start := time.Now()
		s, err := Open(t.Context(), o)
		if err != nil || len(s.Notes) > 0 {
			t.Fatal(err, s.Notes)
		}
		t.Logf("look %d: %d turns of %d threads in %v", look, len(s.spots), threads, time.Since(start))
		if s.Listing().Len != threads*turns {
			t.Errorf("%d turns", s.Listing().Len)
		}
		if look > 0 && begun.Load() != int64(threads) {
			t.Errorf("look %d read %d threads again", look, begun.Load()-int64(threads))
		}
		for i := 1; i < len(s.spots); i++ {
			if search.CompareEntries(s.path(i-1), s.path(i)) >= 0 {
				t.Fatalf("%s stands before %s", s.path(i-1), s.path(i))
			}
		}
	}
}
