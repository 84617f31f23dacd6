package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/objects"
)

// client is rye's own client of a script, and the provider item that it asks.
func client(t *testing.T, text string) (*provider.Client, *provider.Provider, *provider.Model) {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../../stdlib/system/tools/rye/agent/providers/anthropic.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := objects.YAMLValues(raw, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider.Parse("rye/agent/providers/anthropic", doc["config"].(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Model("general")
	if err != nil {
		t.Fatal(err)
	}
	secret := func(context.Context, string, string) (string, error) { return "k", nil }
	return &provider.Client{HTTP: &http.Client{Transport: New(s)}, Secret: secret}, p, m
}

func question(texts ...string) *provider.Request {
	q := &provider.Request{System: "Be good.", MaxOutput: 4000, Tools: []provider.Tool{{Name: "look"}}}
	for i, text := range texts {
		q.Messages = append(q.Messages, provider.Message{Role: []string{provider.User, provider.Assistant}[i%2], Parts: []provider.Part{{Text: text}}})
	}
	return q
}

// TestTalk: two turns with thinking, calls and their results, as rye's client hears them.
func TestTalk(t *testing.T) {
	c, p, m := client(t, `
turns:
  - think: hm
    say: [I, " look."]
    calls: [{name: look, args: {at: [1, "${prompt}"], in: "${tools.0}"}}, {name: look, id: mine}]
    usage: {input: 5, output: 6, reasoning: 2, cache_read: 7, cache_write: 8, cache_write_long: 9}
  - say: "${result.0.text}, ${result.0.json.at.0}, ${result.1.name} ${result.1.failed} ${result.5.text}${last}"
`)
	q := question("hello")
	r, err := c.Do(t.Context(), p, m, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	back := provider.Message{Role: provider.User}
	text, thought := "", ""
	for _, part := range r.Parts {
		text += part.Text
		if part.Opaque != nil {
			thought += part.Opaque.Text
		}
		if k := part.Call; k != nil {
			back.Parts = append(back.Parts, provider.Part{Result: &provider.Result{CallID: k.ID, Name: k.Name, Text: string(k.Args), Error: k.ID == "mine"}})
		}
	}
	if text != "I look." || thought != "hm" || r.Stop != provider.StopCalls || len(back.Parts) != 2 {
		t.Errorf("heard %q after %q, %+v", text, thought, r)
	}
	if want := (rye.Usage{Input: 5, CacheRead: 7, CacheWrite: 8, CacheLong: 9, Output: 6, Reasoning: 2}); r.Usage != want && r.Usage != (rye.Usage{Input: 5, CacheRead: 7, CacheWrite: 8, CacheLong: 9, Output: 8}) {
		t.Errorf("used %+v, want %+v", r.Usage, want)
	}
	q.Messages = append(q.Messages, provider.Message{Role: provider.Assistant, Parts: r.Parts}, back)
	r, err = c.Do(t.Context(), p, m, q, nil)
	if want := `{"at":[1,"hello"],"in":"look"}, 1, look true `; err != nil || r.Stop != provider.StopEnd || r.Parts[0].Text != want {
		t.Errorf("%+v, %v; want %q", r, err, want)
	}
}

// TestChoice: which entry answers follows from the request.
func TestChoice(t *testing.T) {
	c, p, m := client(t, `
turns:
  - {when: {directive: acme/child}, say: child}
  - {when: {turn: 2, last: "exit 1"}, say: it failed}
  - {when: {contains: [orchid, vase]}, say: both}
  - say: one
  - {when: {turn: 2, model: other}, say: other}
  - {when: {turn: 2, format: openai}, say: openai}
  - {when: {turn: 2, format: anthropic}, say: two}
`)
	for _, row := range []struct {
		name string
		q    *provider.Request
		want string
	}{
		{"first", question("hello"), "one"},
		{"second", question("hello", "one", "go on"), "two"},
		{"first again", question("hello"), "one"},
		{"in the last text", question("hello", "one", "exit 1"), "it failed"},
		{"in an earlier text", question("exit 1", "one", "go on"), "two"},
		{"both words", question("an orchid", "in a", "vase"), "both"},
		{"one word", question("an orchid"), "one"},
		{"the directive", question("You do directive:acme/child."), "child"},
		{"a longer id", question("acme/children, acme/child/x, my/acme/child, acme/child.old"), "one"},
	} {
		r, err := c.Do(t.Context(), p, m, row.q, nil)
		if err != nil || r.Parts[0].Text != row.want {
			t.Errorf("%s: %+v, %v, want %q", row.name, r, err, row.want)
		}
	}
	_, err := c.Do(t.Context(), p, m, question("hello", "one", "go", "two", "what now"), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.Invalid || !strings.Contains(e.Message, `no answer for turn 3`) || !strings.Contains(e.Message, "what now") {
		t.Errorf("a turn that the script lacks: %v", err)
	}
}

// TestClasses: rye's own client knows what the script's failures are, and its clocks run.
func TestClasses(t *testing.T) {
	for _, x := range []struct {
		name, entry string
		want        provider.Error // Class, Status, After, Streamed
	}{
		{"limited", `{error: {status: 429, headers: {retry-after: "7"}}}`, provider.Error{Class: provider.RateLimited, Status: 429, After: 7 * time.Second}},
		{"overloaded", `{error: {status: 529}}`, provider.Error{Class: provider.Overloaded, Status: 529}},
		{"in the middle", `{say: half, error: {status: 529, mid_stream: true}}`, provider.Error{Class: provider.Overloaded, Status: 200, Streamed: true}},
		{"the key", `{error: {status: 401}}`, provider.Error{Class: provider.Auth, Status: 401}},
		{"too long", `{error: {status: 400, message: "prompt is too long: 9 tokens > 8 maximum"}}`, provider.Error{Class: provider.ContextOverflow, Status: 400}},
		{"cut before the head", `{say: x, cut: 0}`, provider.Error{Class: provider.Transient}},
		{"cut in the middle", `{say: [hello, world], cut: 700}`, provider.Error{Class: provider.Transient, Status: 200, Streamed: true}},
		{"cut after the end", `{say: x, cut: 1000000}`, provider.Error{}},
		{"late", `{say: x, wait: 400s}`, provider.Error{Class: provider.Timeout}},
		{"silence", `{say: x, stall: 0}`, provider.Error{Class: provider.Timeout}},
		{"silence in the middle", `{say: [hello, world], stall: 700}`, provider.Error{Class: provider.Timeout, Status: 200, Streamed: true}},
		{"slow", `{say: [hello, world], pace: 130s}`, provider.Error{Class: provider.Timeout, Status: 200, Streamed: true}},
		{"slow enough", `{say: [hello, world], wait: 4m, pace: 1m55s}`, provider.Error{}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, p, m := client(t, "turns: ["+x.entry+"]")
			synctest.Test(t, func(t *testing.T) {
				_, err := c.Do(t.Context(), p, m, question("hello"), nil)
				if err == nil && x.want == (provider.Error{}) {
					return
				}
				var e *provider.Error
				if !errors.As(err, &e) || e.Class != x.want.Class || e.Status != x.want.Status || e.After != x.want.After || e.Streamed != x.want.Streamed || !e.Sent {
					t.Errorf("%+v, want %+v", err, x.want)
				}
			})
		})
	}
}

// TestTakesItsTime: an answer comes when the script says so, event by event.
func TestTakesItsTime(t *testing.T) {
	for _, text := range []string{`{turns: [{say: [a, b, c], wait: 1m30s, pace: 2s}]}`, `{turns: [{say: [a, b, c], wait: 90000ms, pace: 2000ms}]}`} {
		c, p, m := client(t, text)
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			var at []time.Duration
			if _, err := c.Do(t.Context(), p, m, question("hello"), func(d provider.Delta) {
				if d.Text != "" {
					at = append(at, time.Since(begun))
				}
			}); err != nil {
				t.Fatal(err)
			}
			// Before a come the begin of the message, a ping, and the begin of the block.
			if got, want := fmt.Sprint(at), "[1m36s 1m38s 1m40s]"; got != want {
				t.Errorf("%s: texts came at %s, want %s", text, got, want)
			}
		})
	}
}

// TestCancelled: whatever an answer waits for, it ends at once with its context, and nothing is left.
// The bubble of the test fails where a goroutine or a timer of it is.
func TestCancelled(t *testing.T) {
	for name, entry := range map[string]string{
		"the wait": `{say: x, wait: 1h}`, "the pace": `{say: [a, b], pace: 1h}`, "silence": `{say: x, stall: 0}`, "silence in the middle": `{say: x, stall: 300}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, p, m := client(t, "turns: ["+entry+"]")
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(30*time.Second, cancel)
				begun := time.Now()
				_, err := c.Do(ctx, p, m, question("hello"), nil)
				var e *provider.Error
				if took := time.Since(begun); !errors.As(err, &e) || e.Class != provider.Cancelled || took != 30*time.Second {
					t.Errorf("it ended after %s with %v, want 30s and the end of its context", took, err)
				}
			})
		})
	}
}

// TestClosed: a reader that waits for the next event ends when another goroutine closes the body.
func TestClosed(t *testing.T) {
	s, err := Parse([]byte(`turns: [{say: x, stall: 300}]`))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		res := ask(t, New(s), request(t, `{"model":"m","messages":[]}`))
		time.AfterFunc(time.Minute, func() { res.Body.Close() })
		got, err := io.ReadAll(res.Body)
		if len(got) != 300 || err == nil {
			t.Errorf("%d bytes, %v; want 300 and an error", len(got), err)
		}
	})
}

func request(t testing.TB, body string) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), "POST", "https://models.example.com/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ask(t testing.TB, m *Model, r *http.Request) *http.Response {
	res, err := m.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestTimes: a failure happens as often as it says, and then the entry behind it answers.
func TestTimes(t *testing.T) {
	s, err := Parse([]byte(`turns: [{times: 2, error: {status: 503, message: later}}, {times: 1, cut: 0}, {say: at last}]`))
	if err != nil {
		t.Fatal(err)
	}
	m := New(s)
	for i, want := range []string{"503 later", "503 later", "EOF", "200 at last", "200 at last"} {
		res, err := m.RoundTrip(request(t, `{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			if err.Error() != want {
				t.Errorf("try %d: %v, want %s", i+1, err, want)
			}
			continue
		}
		raw, err := io.ReadAll(res.Body)
		status, text, _ := strings.Cut(want, " ")
		if fmt.Sprint(res.StatusCode) != status || !strings.Contains(string(raw), text) || err != nil {
			t.Errorf("try %d: %d %s, %v, want %s", i+1, res.StatusCode, raw, err, want)
		}
	}
}

// TestCut: the answer breaks off after so many bytes, wherever that is.
func TestCut(t *testing.T) {
	read := func(more string) (string, error) {
		s, err := Parse([]byte(`turns: [{say: [hello, world]` + more + `}]`))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(ask(t, New(s), request(t, `{}`)).Body)
		return string(raw), err
	}
	whole, err := read("")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 40, len(whole) - 1, len(whole), len(whole) + 100} {
		got, err := read(fmt.Sprintf(", cut: %d", n))
		if want := whole[:min(n, len(whole))]; err != io.ErrUnexpectedEOF || got != want {
			t.Errorf("cut at %d: %v, %d bytes, want %d", n, err, len(got), len(want))
		}
	}
}

// TestNoConnection: a client's trace hears that there is a connection and nothing of a dial, and the
// body of the request is closed.
func TestNoConnection(t *testing.T) {
	s, err := Parse([]byte(`turns: [{say: x}]`))
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	r := request(t, `{}`)
	body := &closed{Reader: r.Body}
	r.Body = body
	ask(t, New(s), r.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { heard = append(heard, "connection") },
		DNSStart:     func(httptrace.DNSStartInfo) { heard = append(heard, "name") },
		ConnectStart: func(_, _ string) { heard = append(heard, "dial") },
	})))
	if fmt.Sprint(heard) != "[connection]" || !body.yes {
		t.Errorf("heard %v; the body is closed: %t", heard, body.yes)
	}
}

type closed struct {
	io.Reader
	yes bool
}

func (c *closed) Close() error { c.yes = true; return nil }

// FuzzScript: a script is refused, or answers the same request twice with the same bytes.
func FuzzScript(f *testing.F) {
	for _, e := range docExamples(f) {
		f.Add(e)
	}
	f.Add(`turns: [{say: "${result.0.json || last}", calls: [{name: f, args: {a: ["${turn}"]}, id: x}]}]`)
	f.Add(`{turns: [{cut: 20, times: 1, think: x}, {error: {status: 599, mid_stream: true}, say: x}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, slow := range []string{"wait", "pace", "stall"} {
			if strings.Contains(text, slow) {
				return
			}
		}
		s, err := Parse([]byte(text))
		if err != nil {
			return
		}
		if one, two := once(t, s, `{"messages":[{"role":"user","content":"x"}]}`), once(t, s, `{"messages":[{"role":"user","content":"x"}]}`); one != two {
			t.Errorf("%q, then %q", one, two)
		}
	})
}

// FuzzRequest: a request of any form gets an answer that is a stream or JSON.
func FuzzRequest(f *testing.F) {
	f.Add(`{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"p"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"{\"a\":1}"}],"is_error":true}]}]}`)
	f.Add(`{"messages":[{"role":"user","content":null}],"system":null}`)
	s, err := Parse([]byte(`turns: [{when: {last: x}, say: "${result.0.json.a} ${last} ${system}"}, {when: {contains: y, directive: a/b}, say: z}, {say: one}]`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if got := once(t, s, body); !strings.Contains(got, "event: message_stop") && !json.Valid([]byte(got)) {
			t.Errorf("%q", got)
		}
	})
}

// once is what a new model of a script answers.
func once(t *testing.T, s *Script, body string) string {
	res, err := New(s).RoundTrip(request(t, body))
	if err != nil {
		return err.Error()
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
