package thread

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/provider"
)

// TestStatesOfSealedTurns: what waits for the branch is not written over by later turns, and
// putting it there changes nothing that goes on.
func TestStatesOfSealedTurns(t *testing.T) {
	h := newHistory(t.TempDir())
	states := []string{`{"turn":8}`, `{"turn":9}`, `{"turn":10}`}
	for i, s := range states {
		data, _ := json.Marshal(map[string]any{"next": "continue", "state": json.RawMessage(s), "detail": map[string]any{"running_ms": 1}})
		if err := h.add(journal.Record{Seq: int64(i + 1), Thread: "01kdyak348041061050r3gg28a", Time: time.Unix(1e9, 0), Turn: i, Type: "turn_done", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	p := &scribe{&thread{h: h, d: &Description{}, dir: t.TempDir()}}
	for i := 1; i < len(states); i++ { // turn 0 has the files of the beginning, too
		c, err := p.commitOf(h.ready[i])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(c.Files["state/loop.json"]), states[i]+"\n"; got != want {
			t.Errorf("state of turn %d on the branch: %q, want %q", i, got, want)
		}
	}
	if got := string(h.state); got != states[2] {
		t.Errorf("the state goes on as %q, want %q", got, states[2])
	}
}

// TestNoneIsAList: records want a list where there is nothing, not null.
func TestNoneIsAList(t *testing.T) {
	_, calls, stored := store("1.0", []provider.Part{})
	held, _ := capabilities(rye.Terminal(), nil, nil)
	for name, v := range map[string]any{"parts": stored, "calls": calls, "capabilities": held} {
		if raw, err := json.Marshal(v); err != nil || string(raw) != "[]" {
			t.Errorf("%s of nothing: %s, %v, want []", name, raw, err)
		}
	}
}

// TestSuspensionIsNoDeath: a thread that suspended itself may be resumed as often as a person
// likes; only a process that died counts.
func TestSuspensionIsNoDeath(t *testing.T) {
	h := newHistory(t.TempDir())
	add := func(typ, data string) {
		t.Helper()
		if err := h.add(journal.Record{Seq: h.last.Seq + 1, Thread: "01kdyak348041061050r3gg28a", Time: time.Unix(1e9, 0), Type: typ, Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		add("thread_resumed", `{"epoch":1}`)
		add("thread_suspended", `{"suspend_reason":"auth","detail":"x"}`)
	}
	add("thread_resumed", `{"epoch":1}`)
	if h.deaths != 1 {
		t.Errorf("%d deaths, want 1: of the process that runs", h.deaths)
	}
}
