package modelhost_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/internal/modelhost"
	"github.com/rye-os/rye/objects"
)

// item is a provider of the standard library that waits so many seconds for the first byte
// and between two.
func item(t *testing.T, name, first, idle string) (*provider.Provider, *provider.Model) {
	t.Helper()
	raw, err := os.ReadFile("../../stdlib/system/tools/rye/agent/providers/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	const times = "{connect: 15, first_byte: 300, idle: 120}"
	if !strings.Contains(string(raw), times) {
		t.Fatalf("%s has other times than %s", name, times)
	}
	text := strings.Replace(string(raw), times, "{first_byte: "+first+", idle: "+idle+"}", 1)
	doc, err := objects.YAMLValues([]byte(text), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider.Parse("rye/agent/providers/"+name, doc["config"].(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Model("general")
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

func start(t *testing.T, script string) (*modelhost.Server, *provider.Client) {
	t.Helper()
	s, err := modelhost.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	v, err := modelhost.Serve(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v, &provider.Client{Base: v.URL, Secret: func(context.Context, string, string) (string, error) { return "k", nil }}
}

func question() *provider.Request {
	return &provider.Request{System: "Be good.", MaxOutput: 4000, Tools: []provider.Tool{{Name: "look"}},
		Messages: []provider.Message{{Role: provider.User, Parts: []provider.Part{{Text: "hello"}}}}}
}

// TestThread: a thread that rye's own client leads, with thinking that goes back and
// calls that are answered.
func TestThread(t *testing.T) {
	for _, name := range []string{"anthropic", "openai"} {
		v, c := start(t, `
turns:
  - think: hm
    say: [I, " look."]
    calls: [{name: look, args: {at: [1, "${prompt}"]}}, {name: look}]
    usage: {input: 5, output: 6, cache_read: 7}
  - say: "${result.0.text}, ${result.1.text}"
`)
		p, m := item(t, name, "60", "60")
		q := question()
		var shown string
		r, err := c.Do(t.Context(), p, m, q, func(d provider.Delta) { shown += d.Text })
		if err != nil {
			t.Fatal(name, err)
		}
		back := provider.Message{Role: provider.User}
		var args []string
		for _, part := range r.Parts {
			if k := part.Call; k != nil {
				args = append(args, string(k.Args))
				back.Parts = append(back.Parts, provider.Part{Result: &provider.Result{CallID: k.ID, Name: k.Name, Text: string(k.Args)}})
			}
		}
		if got, want := strings.Join(args, " "), `{"at":[1,"hello"]} {}`; got != want || shown != "I look." || r.Stop != provider.StopCalls {
			t.Errorf("%s: calls %s, want %s; shown %q; %+v", name, got, want, shown, r)
		}
		if want := (rye.Usage{Input: 5, CacheRead: 7, Output: 6}); r.Usage != want {
			t.Errorf("%s: used %+v, want %+v", name, r.Usage, want)
		}
		q.Messages = append(q.Messages, provider.Message{Role: provider.Assistant, Parts: r.Parts}, back)
		r, err = c.Do(t.Context(), p, m, q, nil)
		if err != nil || r.Stop != provider.StopEnd || r.Parts[0].Text != `{"at":[1,"hello"]}, {}` {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if got := v.Requests(); len(got) != 2 || got[1].Turn != 2 || got[1].Entry != "turns.1" {
			t.Errorf("%s: %d requests", name, len(got))
		}
	}
}

// TestClasses: rye's own client knows what the script's failures are.
func TestClasses(t *testing.T) {
	for _, x := range []struct {
		name, entry, only string
		want              provider.Error // Class, Status, After, Streamed
	}{
		{"limited", `{error: {status: 429, headers: {retry-after: "7"}}}`, "", provider.Error{Class: provider.RateLimited, Status: 429, After: 7 * time.Second}},
		{"overloaded", `{error: {status: 529}}`, "anthropic", provider.Error{Class: provider.Overloaded, Status: 529}},
		{"in the middle", `{say: half, error: {status: 529, mid_stream: true}}`, "anthropic", provider.Error{Class: provider.Overloaded, Status: 200, Streamed: true}},
		{"the key", `{error: {status: 401}}`, "", provider.Error{Class: provider.Auth, Status: 401}},
		{"the quota", `{error: {status: 429, type: insufficient_quota, code: insufficient_quota}}`, "openai", provider.Error{Class: provider.Quota, Status: 429}},
		{"a proxy", `{error: {status: 502, body: "<html>"}}`, "", provider.Error{Class: provider.Transient, Status: 502}},
		{"too long", `{error: {status: 400, message: "prompt is too long: 9 tokens > 8 maximum"}}`, "anthropic", provider.Error{Class: provider.ContextOverflow, Status: 400}},
		{"cut before the head", `{say: x, cut: 0}`, "", provider.Error{Class: provider.Transient}},
		{"cut in the middle", `{say: [hello, world], bytes: 9999, cut: 2000}`, "", provider.Error{Class: provider.Transient, Status: 200, Streamed: true}},
		{"silence", `{say: x, stall: 0}`, "", provider.Error{Class: provider.Timeout}},
		{"silence in the middle", `{say: [hello, world], bytes: 9999, stall: 2000}`, "", provider.Error{Class: provider.Timeout, Status: 200, Streamed: true}},
		{"no answer", `{when: {turn: 9}, say: x}`, "", provider.Error{Class: provider.Invalid, Status: 400}},
	} {
		for _, name := range []string{"anthropic", "openai"} {
			if x.only != "" && x.only != name {
				continue
			}
			t.Run(name+" "+x.name, func(t *testing.T) {
				t.Parallel()
				_, c := start(t, "turns: ["+x.entry+"]")
				first, idle := "60", "60"
				if x.want.Class == provider.Timeout && x.want.Streamed {
					idle = "0.1"
				} else if x.want.Class == provider.Timeout {
					first = "0.1"
				}
				p, m := item(t, name, first, idle)
				_, err := c.Do(t.Context(), p, m, question(), nil)
				var e *provider.Error
				if !errors.As(err, &e) || e.Class != x.want.Class || e.Status != x.want.Status || e.After != x.want.After || e.Streamed != x.want.Streamed {
					t.Errorf("%+v, want %+v", err, x.want)
				}
			})
		}
	}
}

// TestStopsAndBroken: refusals, limits and arguments that are no JSON reach rye as what
// they are.
func TestStopsAndBroken(t *testing.T) {
	for _, name := range []string{"anthropic", "openai"} {
		p, m := item(t, name, "60", "60")
		for entry, want := range map[string]string{
			`{say: no, stop: refusal}`: provider.StopRefusal, `{say: so, stop: length}`: provider.StopLength,
			`{calls: [{name: look}], stop: end}`: provider.StopCalls, `{calls: [{name: look, raw: '{"a": '}]}`: provider.StopCalls,
		} {
			_, c := start(t, "turns: ["+entry+"]")
			r, err := c.Do(t.Context(), p, m, question(), nil)
			if err != nil || r.Stop != want {
				t.Errorf("%s %s: %+v, %v, want %s", name, entry, r, err, want)
				continue
			}
			if k := r.Parts[len(r.Parts)-1].Call; k != nil && (k.Bad != "") != strings.Contains(entry, "raw") {
				t.Errorf("%s %s: %+v", name, entry, k)
			}
		}
	}
}

// TestDigest: the digest is what the package says it is.
func TestDigest(t *testing.T) {
	want := map[string]string{
		"anthropic": `["anthropic","claude-sonnet-5"]
{"input_schema":{"properties":{},"type":"object"},"name":"look"}
{"text":"Be good.","type":"text"}
"user"
{"text":"hello","type":"text"}
"assistant"
{"id":"c1","input":{"content":null,"n":1.50},"name":"look","type":"tool_use"}
"user"
{"content":[{"text":"<a>","type":"text"}],"tool_use_id":"c1","type":"tool_result"}
`,
		"openai": `["openai","gpt-5-mini"]
{"function":{"name":"look","parameters":{"properties":{},"type":"object"}},"type":"function"}
{"content":[{"text":"Be good.","type":"text"}],"role":"developer"}
{"content":[{"text":"hello","type":"text"}],"role":"user"}
{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"n\":1.50,\"content\":null}","name":"look"},"id":"c1","type":"function"}]}
{"content":[{"text":"<a>","type":"text"}],"role":"tool","tool_call_id":"c1"}
`,
	}
	for name, want := range want {
		v, c := start(t, "turns: [{say: x}, {say: y}]")
		p, m := item(t, name, "60", "60")
		q := question()
		q.Messages = append(q.Messages,
			provider.Message{Role: provider.Assistant, Parts: []provider.Part{{Call: &provider.Call{ID: "c1", Name: "look", Args: json.RawMessage(`{"n":1.50,"content":null}`)}}}},
			provider.Message{Role: provider.User, Parts: []provider.Part{{Result: &provider.Result{CallID: "c1", Name: "look", Text: "<a>"}}}})
		if _, err := c.Do(t.Context(), p, m, q, nil); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(want))
		if got, want := v.Requests()[0].Digest, "sha256:"+hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
