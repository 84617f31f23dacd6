package thread

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

func stated(id, event, text string, more ...any) any {
	m := map[string]any{"id": id, "event": event, "action": map[string]any{"action": "note", "text": text}}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

func hooksFrom(t *testing.T, from string, list ...any) []hook {
	t.Helper()
	all, err := readHooks(from, list)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// description is one with these hooks, as thread.json has it.
func description(t *testing.T, hooks []hook) *Description {
	t.Helper()
	raw, err := json.Marshal(hooks)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = (&Description{V: 1, Params: json.RawMessage("{}"), LoopConfig: json.RawMessage("null"), Hooks: raw}).encode(); err != nil {
		t.Fatal(err)
	}
	d, err := parseDescription(raw)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A thread below another has its parent's hooks, all of them and first, whatever it brings; and
// what both have once, though one of the two was read from a file.
func TestHooksAreInherited(t *testing.T) {
	holds := map[string]any{"all": []any{map[string]any{"path": "turn", "op": "gte", "value": 2}, map[string]any{"not": map[string]any{"path": "calls", "op": "eq", "value": 0.5}}}}
	shared := []any{stated("log", "error", "said", "condition", holds), stated("greet", "thread_started", "hello")}
	above := description(t, append(hooksFrom(t, "directive:acme/parent", stated("stop", "limit", "stop")), hooksFrom(t, "config:rye/agent/hooks", shared...)...))
	parent, err := above.hooks()
	if err != nil {
		t.Fatal(err)
	}
	child := append(hooksFrom(t, "directive:acme/child",
		map[string]any{"id": "stop", "event": "limit", "action": map[string]any{"action": "continue"}}, stated("more", "after_step", "more")),
		hooksFrom(t, "config:rye/agent/hooks", shared...)...)
	got, err := description(t, inherited(parent, child)).hooks()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range got {
		names = append(names, h.From+" "+h.ID)
	}
	want := []string{"directive:acme/parent stop", "config:rye/agent/hooks log", "config:rye/agent/hooks greet", "directive:acme/child stop", "directive:acme/child more"}
	if !slices.Equal(names, want) {
		t.Errorf("a child has %q, want %q", names, want)
	}
	p := &process{thread: &thread{o: &Options{Now: time.Now}, d: above, h: newHistory(t.TempDir())}, hooks: got}
	if h := p.decides("limit", nil); h == nil || h.From != "directive:acme/parent" {
		t.Errorf("at a limit %+v decides, want the parent's", h)
	}
	for turn, want := range map[int]bool{1: false, 2: true} {
		if h := p.decides("error", map[string]any{"turn": int64(turn), "calls": int64(1)}); (h != nil) != want {
			t.Errorf("in turn %d %+v decides", turn, h)
		}
	}
	if again := inherited(got, child); !reflect.DeepEqual(again, got) {
		t.Errorf("a grandchild has %+v", again)
	}
	if len(parent) != 3 {
		t.Errorf("the parent has %d hooks now", len(parent))
	}
}

// What a directive states is read strictly, and RYE OS's words for actions count.
func TestReadHooks(t *testing.T) {
	act := func(action map[string]any) any {
		return []any{map[string]any{"event": "error", "action": action}}
	}
	for word, want := range map[string]does{
		"abort": {Action: "fail", Code: "aborted"}, "escalate": {Action: "ask"}, "suspend": {Action: "ask"}, "skip": {Action: "continue"}, "retry": {Action: "retry"}} {
		got, err := readHooks("directive:acme/x", act(map[string]any{"action": word}))
		if err != nil || len(got) != 1 || got[0].Action != want || got[0].ID != "1" {
			t.Errorf("%s: %+v, %v", word, got, err)
		}
	}
	for name, v := range map[string]any{
		"a mapping":            map[string]any{"event": "error"},
		"a text":               []any{"error"},
		"an id that is none":   []any{stated("x", "error", "y", "id", 7)},
		"an id twice":          []any{stated("x", "error", "y"), stated("x", "limit", "y")},
		"too many":             slices.Repeat([]any{map[string]any{"event": "error", "action": map[string]any{"action": "fail"}}}, maxHooks+1),
		"a long text":          []any{stated("x", "error", strings.Repeat("x", maxHookWords+1))},
		"a code that is none":  act(map[string]any{"action": "fail", "code": "Über"}),
		"a tier of a note":     act(map[string]any{"action": "note", "text": "x", "tier": "fast"}),
		"a member of none":     act(map[string]any{"action": "fail", "item": "x"}),
		"a text that is none":  act(map[string]any{"action": "note", "text": 7}),
		"a condition unknown":  []any{stated("x", "error", "y", "condition", map[string]any{"path": "x", "op": "like"})},
		"a member that is law": []any{stated("x", "error", "y", "capabilities", []any{"rye.*"})},
		"from":                 []any{stated("x", "error", "y", "from", "config:rye/agent/hooks")},
	} {
		if got, err := readHooks("directive:acme/x", v); !fault.Is(err, fault.Malformed) && !fault.Is(err, fault.Limit) || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	action := map[string]any{"action": "note", "text": "x"}
	if _, err := readHooks("directive:acme/x", act(action)); err != nil || len(action) != 2 {
		t.Errorf("read, the action is %v: %v", action, err)
	}
}

// Who answers no when asked whether a thread may go on ends it, also when its records are read
// again. Who answers no to a call does not.
func TestDeclined(t *testing.T) {
	for call, want := range map[string]string{"": "fail", `,"call_id":"c1.1.1"`: ""} {
		h := newHistory(t.TempDir())
		for i, r := range []journal.Record{{Type: "approval_requested", Data: []byte(`{"question":"q","topic":"x","text":"y"` + call + `}`)},
			{Type: "approval_answered", Data: []byte(`{"question":"q","answer":"no"}`)}} {
			r.Seq, r.Thread, r.Time = int64(i+1), "01kdyak348041061050r3gg28a", time.Unix(1_800_000_000, 0)
			if err := h.add(r); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(h.next.Kind); got != want {
			t.Errorf("with %q it goes on with %q, want %q", call, got, want)
		}
	}
}

// FuzzHooks: whatever a configuration says, it is refused or read, and read back from
// thread.json it is the same.
func FuzzHooks(f *testing.F) {
	f.Add(`{"hooks":[{"id":"a","event":"error","action":{"action":"retry","tier":"x"},"condition":{"path":"class","op":"eq","value":1}}]}`)
	f.Add(`{"hooks":[{"id":"a"},{"id":"b","event":"acme/x","action":{"action":"note","text":"<&>"}}],"version":"1"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var doc map[string]any
		if json.Unmarshal([]byte(text), &doc) != nil {
			return
		}
		all, err := configured(doc)
		if err != nil || len(all) == 0 {
			return
		}
		got, err := description(t, all).hooks()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if len(got) != len(all) || len(inherited(all, got)) != len(all) {
			t.Errorf("%s: read back it is %+v", text, got)
		}
	})
}
