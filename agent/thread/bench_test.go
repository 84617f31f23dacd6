package thread

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
)

// longAgo writes the journal of a thread of so many turns, whose answers have 4 KiB each and
// whose loop asks the host seven things a turn, and returns its directory.
func longAgo(tb testing.TB, turns int) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "01kdyak348041061050r3gg28a")
	if err := journal.Make(dir); err != nil {
		tb.Fatal(err)
	}
	lease, err := journal.Take(dir, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	defer lease.Release()
	j, err := lease.Create()
	if err != nil {
		tb.Fatal(err)
	}
	defer j.Close()
	turn := 0
	add := func(typ string, payload map[string]any) {
		raw, err := json.Marshal(payload)
		if err == nil {
			_, err = j.Append(journal.Record{Time: time.Unix(1e9, 0), Turn: turn, Type: typ, Data: raw}, false)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	state := map[string]any{"config": map[string]any{"failures": 3, "repeats": 5}, "turn": 1, "view": map[string]any{}}
	host := func(k int, name string, outcome any) {
		add("host_call", map[string]any{"index": k, "name": name, "args": strings.Repeat("ab", 32), "outcome": outcome})
	}
	done := func() {
		add("turn_done", map[string]any{"next": "continue", "state": state, "detail": map[string]any{"running_ms": 1}})
	}
	add("thread_started", map[string]any{"directive": "directive:acme/talk", "model": "m", "provider": "p", "limits": map[string]any{}, "epoch": 1,
		"loop": "l", "capabilities": []string{}, "boot_id": ""})
	add("cognition_in", map[string]any{"text": "Talk on.", "role": "user", "source": "directive"})
	done()
	limits := map[string]any{"turns": map[string]any{"used": 1, "limit": 2}, "tokens": map[string]any{"used": 1, "limit": 2}}
	for turn = 1; turn <= turns; turn++ {
		key := fmt.Sprintf("01kdyak348041061050r3gg28a/%d.2/1", turn)
		text := strings.Repeat(fmt.Sprintf("Line %d: \"it\" says so.\n", turn), 4096/24)
		host(0, "limits", limits)
		host(1, "prompt", map[string]any{"id": "view:0:", "tokens": 1000, "window": 100000, "turns": []any{}})
		add("budget_held", map[string]any{"key": key, "money": 1, "tokens": 2, "epoch": 1})
		add("model_intent", map[string]any{"key": key, "model": "m", "provider": "p", "request": strings.Repeat("ab", 32), "prompt_bytes": 1, "max_output": 1, "view": map[string]any{"apart": false}})
		add("cognition_out", map[string]any{"key": key, "text": text, "model": "m", "is_partial": false, "truncated": true, "stop": "length", "calls": []call{},
			"parts": []storedPart{{}}, "usage": map[string]any{"input": 1, "output": 1}, "cost": 1, "cost_known": true, "request_id": "r"})
		add("budget_settled", map[string]any{"key": key, "money": 1, "tokens": 2, "uncertain": false, "overdrawn": false})
		host(2, "model", reference{fmt.Sprintf("%d.2", turn)})
		add("cognition_in", map[string]any{"text": "Go on.", "role": "user", "source": "loop"})
		host(3, "note", nil)
		host(4, "hook", nil)
		done()
	}
	return dir
}

// BenchmarkHistory is what a process reads of 1,000 turns before it goes on, and what who
// looks at the thread reads.
func BenchmarkHistory(b *testing.B) {
	dir := longAgo(b, 1000)
	for _, readOnly := range []bool{false, true} {
		b.Run(fmt.Sprint("readOnly=", readOnly), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h := newHistory(dir)
				h.readOnly = readOnly
				if _, _, err := journal.Read(context.Background(), dir, h.add); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("journal", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := journal.Read(context.Background(), dir, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
