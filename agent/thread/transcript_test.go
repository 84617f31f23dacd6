package thread

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

const transcriptID = "01kdyak348041061050r3gg28a"

// transcript makes a journal of these records: a type and a payload each.
func transcriptOf(t testing.TB, records ...[2]any) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), transcriptID)
	if err := journal.Make(dir); err != nil {
		t.Fatal(err)
	}
	l, err := journal.Take(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Create()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		data, _ := json.Marshal(r[1])
		if _, err := j.Append(journal.Record{Time: time.Unix(1e9, 0), Turn: i, Type: r[0].(string), Data: data}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	l.Release()
	return dir
}

func saidBy(model string) [2]any {
	return [2]any{"cognition_out", map[string]any{"key": "k", "text": model, "model": "m", "is_partial": false, "truncated": false, "stop": "end"}}
}

func resultOf(text string) [2]any {
	return [2]any{"tool_call_result", map[string]any{"call_id": "c1", "output": text, "duration_ms": 1}}
}

// read asks for a page as a model does, and returns it with its size.
func read(t testing.TB, dir string, q choreArgs) (*page, int) {
	t.Helper()
	v, err := (&chore{dir: dir, q: q}).readTranscript(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := encodeChore(v)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*page), len(raw)
}

// TestPagesOfATranscript: whatever a tool or a model said, a page is as small as was asked for,
// and following next leads through every record once.
func TestPagesOfATranscript(t *testing.T) {
	hostile := []string{
		strings.Repeat("\x01\x02\x7f", 100_000), // in an artifact, and six bytes each in JSON
		strings.Repeat("\u202e\u200b", 5000),
		strings.Repeat("<&>\"\\", 5000),
		strings.Repeat("\xff\xfe", 5000),
		strings.Repeat("😀", 20_000),
		"", "short", `{"records":[],"next":1}`,
	}
	var records [][2]any
	for range 5 {
		for _, text := range hostile {
			records = append(records, resultOf(strings.ToValidUTF8(text, "\ufffd")), [2]any{"budget_released", map[string]any{"key": "k"}})
		}
		records = append(records, [2]any{"tool_call_start", map[string]any{"tool": "execute tool:acme/x", "call_id": "c", "input": map[string]any{"list": hostile[2:3]}}})
	}
	dir := transcriptOf(t, records...)
	for _, q := range []choreArgs{{}, {Bytes: leastBytes}, {Bytes: mostBytes, Limit: mostRecords}, {Limit: 1}, {Bytes: mostBytes, Limit: 1}, {From: -7}} {
		var seen []int64
		for q.From < 1 || len(seen) == 0 || q.From > seen[len(seen)-1] {
			p, size := read(t, dir, q)
			if most := max(q.Bytes, pageBytes) + 1024; q.Bytes != 0 && size > q.Bytes+1024 || size > max(most, pageBytes+1024) {
				t.Errorf("%+v: a page of %d bytes", q, size)
			}
			for _, e := range p.Records {
				if e.Type == "budget_released" {
					t.Errorf("%+v: a record of money", q)
				}
				seen = append(seen, e.Seq)
			}
			if q.From = p.Next; p.Next == 0 {
				break
			}
		}
		for i := range seen {
			if i > 0 && seen[i] <= seen[i-1] {
				t.Fatalf("%+v: %v", q, seen)
			}
		}
		if len(seen) != 45 && len(seen) != 4 {
			t.Errorf("%+v: %d records, want 45, or the last 4 of 7", q, len(seen))
		}
	}
}

// TestOneRecordWhole: what is asked for alone is shown as far as the page goes.
func TestOneRecordWhole(t *testing.T) {
	dir := transcriptOf(t, saidBy("first"), resultOf(strings.Repeat("word ", 6000)), saidBy("last"))
	p, _ := read(t, dir, choreArgs{From: 2, Limit: 1})
	if got := p.Records[0]; got.Left == 0 || got.Left+int64(len(fmt.Sprint(got.Payload["output"])))-int64(len("…")) != 30_000 {
		t.Errorf("left out %d of 30000, shown %d", got.Left, len(fmt.Sprint(got.Payload["output"])))
	}
	if p, _ := read(t, dir, choreArgs{From: 2, Limit: 1, Bytes: mostBytes}); p.Records[0].Left != 0 || p.Next != 3 {
		t.Errorf("of %d bytes left out %d, next %d", mostBytes, p.Records[0].Left, p.Next)
	}
}

// TestDamagedTranscript: what lies before the damage is shown, and that it is damaged; an
// artifact that is not what was kept is not shown.
func TestDamagedTranscript(t *testing.T) {
	dir := transcriptOf(t, saidBy("before"), resultOf(strings.Repeat("kept", 30_000)), saidBy("behind"))
	artifacts, _ := filepath.Glob(filepath.Join(dir, "artifacts", "*"))
	if len(artifacts) != 1 {
		t.Fatalf("artifacts: %v", artifacts)
	}
	if err := os.WriteFile(artifacts[0], []byte(strings.Repeat("evil", 30_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := read(t, dir, choreArgs{})
	if text := fmt.Sprint(p.Records[1].Payload); strings.Contains(text, "evil") || !strings.Contains(text, "it cannot be shown") {
		t.Errorf("an artifact that was changed: %.200s", text)
	}
	path := filepath.Join(dir, "journal.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), "behind", "beyond", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, _ = read(t, dir, choreArgs{}); len(p.Records) != 2 || p.Damage == "" {
		t.Errorf("%d records, damage %q", len(p.Records), p.Damage)
	}
}

// TestSearchOfATranscript: all words in one text, in any case, and a look at what is around.
func TestSearchOfATranscript(t *testing.T) {
	dir := transcriptOf(t, saidBy("Nothing"), resultOf(strings.Repeat("é", 40_000)+" The Needle "+strings.Repeat("é", 100)), saidBy("needle, here"), saidBy("İİİİ needle"),
		[2]any{"budget_released", map[string]any{"key": "needle"}})
	search := func(q choreArgs) *found {
		t.Helper()
		v, err := (&chore{dir: dir, q: q}).searchTranscript(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v.(*found)
	}
	got := search(choreArgs{Words: "NEEDLE"})
	if len(got.Hits) != 3 || got.Hits[0].Seq != 2 || !strings.Contains(got.Hits[0].Excerpt, "The Needle ") || len(got.Hits[0].Excerpt) > 2*around+40 {
		t.Errorf("hits %+v", got)
	}
	if got := search(choreArgs{Words: "needle here"}); len(got.Hits) != 1 || got.Hits[0].Excerpt != "needle, here" {
		t.Errorf("hits %+v", got)
	}
	if got := search(choreArgs{Words: "needle", Limit: 1}); len(got.Hits) != 1 || got.Next != 3 {
		t.Errorf("hits %+v", got)
	}
	if got := search(choreArgs{Words: "needle", From: -1}); len(got.Hits) != 0 {
		t.Errorf("hits %+v", got)
	}
	for _, words := range []string{"", "  ", strings.Repeat("x", mostText+1)} {
		if _, err := (&chore{dir: dir, q: choreArgs{Words: words}}).searchTranscript(t.Context()); !fault.Is(err, fault.Usage) {
			t.Errorf("words %.10q: %v", words, err)
		}
	}
}

type tokenOf struct {
	rye.ThreadToken
	do, deny []string
}

func (tokenOf) Thread() string     { return transcriptID }
func (tokenOf) Parent() string     { return "" }
func (t tokenOf) Do() []string     { return t.do }
func (t tokenOf) Deny() []string   { return t.deny }
func (tokenOf) Expires() time.Time { return time.Time{} }

// TestServeAsksAgain: the functions themselves refuse a thread without the capability for the
// item, and others without the verb, whoever let the call pass before.
func TestServeAsksAgain(t *testing.T) {
	s := New(Options{})
	for name, c := range map[string]rye.Caller{
		"nobody":                    {},
		"within a run":              rye.Inside(),
		"a program":                 rye.Program("robot", "rye.execute.*"),
		"a thread":                  rye.Thread(tokenOf{do: []string{"rye.execute.tool.acme.*"}}),
		"a thread with the verbs":   rye.Thread(tokenOf{do: []string{"rye.thread.*"}}),
		"a thread that is denied":   rye.Thread(tokenOf{do: []string{"rye.execute.*"}, deny: []string{"rye.execute.tool.rye.agent.*"}}),
		"a thread of the neighbour": rye.Thread(tokenOf{do: []string{"rye.execute.tool.rye.agent.threadsx"}}),
	} {
		for function := range chores {
			if _, err := Serve(context.Background(), s, c, rye.ServedCall{Function: servedPrefix + function, Params: json.RawMessage(`{"thread_id":"01k9"}`)}); !fault.Is(err, fault.Denied) {
				t.Errorf("%s, %s: %v, want denied", name, function, err)
			}
		}
	}
	for _, q := range []rye.ResumeRequest{{Loop: true}, {Accept: true}} {
		if _, err := resumeAt(context.Background(), s, rye.Client(), "", q); !fault.Is(err, fault.Denied) {
			t.Errorf("a client resumes %+v: %v, want denied", q, err)
		}
	}
	if _, err := Serve(context.Background(), s, rye.Terminal(), rye.ServedCall{Function: "threads/kill", Params: json.RawMessage("{}")}); !fault.Is(err, fault.Usage) {
		t.Errorf("a function that is none: %v", err)
	}
}
