package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/fault"
)

func call(id, name, args string) Part {
	return Part{Call: &Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}
func result(id, text string) Part { return Part{Result: &Result{CallID: id, Text: text}} }
func opaque(provider, model, raw string) Part {
	return Part{Opaque: &Opaque{Provider: provider, Model: model, Raw: json.RawMessage(raw)}}
}
func user(parts ...Part) Message      { return Message{User, parts} }
func assistant(parts ...Part) Message { return Message{Assistant, parts} }

// conversation has all that a request may have.
func conversation() *Request {
	return &Request{
		System: "You are \"careful\" <&> \u2028.", MaxOutput: 1e6,
		Tools: []Tool{
			{Name: "write", Description: "Writes.", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"maximum":1.50},"a":{}}, "required":["a"]}`)},
			{Name: "list"},
		},
		Messages: []Message{
			user(Part{Text: "go"}),
			user(Part{Text: "on"}, Part{Text: "  \n"}),
			assistant(opaque("test/p", "m-1", `{"type":"thinking","thinking":"h","signature":"+/="}`), opaque("other", "m-1", `{"type":"x"}`), opaque("test/p", "m-2", `{"reasoning_content":"x"}`),
				opaque("test/p", "m-1", `{"reasoning_content":"why \u00e9"}`),
				Part{Text: "I do"}, call("toolu_b", "write", `{"z": 1, "a": "</x>"}`), call("strange id!", "list.all", "")),
			user(result("nobody", "x"), Part{Text: "hurry"}, result("toolu_b", "done\x00\xff"), result("toolu_b", "again")),
			assistant(call("toolu_c", "list", `{}`)),
		},
	}
}

// TestRequests compares whole requests with files.
func TestRequests(t *testing.T) {
	for name, text := range map[string]string{"anthropic": anthropicItem, "openai": openaiItem} {
		p, m := parsed(t, text)
		q := conversation()
		if name == "anthropic" {
			q.Effort = "high"
		}
		if name == "openai" { // blocks of the other format are no members of this one
			q.Temperature = new(float64)
		}
		raw, err := p.Encode(m, q)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(raw) {
			t.Errorf("%s: not JSON: %s", name, raw)
		}
		got := lines(raw)
		file := filepath.Join("testdata", "request_"+name+".json")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
	}
}

// lines breaks a request where a reader looks for a beginning; taking the breaks out gives
// the same bytes.
func lines(raw []byte) []byte {
	s := string(raw)
	for _, at := range []string{`{"role"`, `{"type"`, `"tools"`, `"system"`, `"messages"`} {
		s = strings.ReplaceAll(s, at, "\n"+at)
	}
	return []byte(s + "\n")
}

func TestEncodeRefuses(t *testing.T) {
	p, m := parsed(t, strings.Replace(anthropicItem, "    efforts:", "    forbid: [temperature]\n    efforts:", 1))
	hot := 0.5
	for _, c := range []struct {
		name string
		q    Request
		want string
	}{
		{"no output", Request{Messages: say("x")}, "tokens of output"},
		{"temperature", Request{Messages: say("x"), MaxOutput: 1, Temperature: &hot}, "takes no temperature"},
		{"effort", Request{Messages: say("x"), MaxOutput: 1, Effort: "most"}, `effort "most", want one of high`},
		{"no message", Request{MaxOutput: 1, Messages: say(" ")}, "no message"},
		{"prefill", Request{MaxOutput: 1, Messages: []Message{user(Part{Text: "x"}), assistant(Part{Text: "I"})}}, "last message"},
		{"role", Request{MaxOutput: 1, Messages: []Message{{"system", []Part{{Text: "x"}}}}}, `role "system"`},
		{"call of the user", Request{MaxOutput: 1, Messages: []Message{user(call("a", "b", "{}"))}}, "a message of the user cannot have this part"},
		{"result of the assistant", Request{MaxOutput: 1, Messages: []Message{assistant(result("a", "b"))}}, "a message of the assistant cannot have this part"},
		{"two in one", Request{MaxOutput: 1, Messages: []Message{user(Part{Text: "a", Result: &Result{}})}}, "more than one"},
		{"arguments", Request{MaxOutput: 1, Messages: []Message{assistant(call("a", "b", "[1]"))}}, "arguments of b"},
		{"tool name", Request{MaxOutput: 1, Messages: say("x"), Tools: []Tool{{Name: "a.b"}}}, `tool "a.b"`},
		{"tool twice", Request{MaxOutput: 1, Messages: say("x"), Tools: []Tool{{Name: "a"}, {Name: "a"}}}, "twice"},
		{"schema", Request{MaxOutput: 1, Messages: say("x"), Tools: []Tool{{Name: "a", Schema: json.RawMessage(`{} {}`)}}}, "schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := p.Encode(m, &c.q); !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want usage, %q", err, c.want)
			}
		})
	}
	if _, err := p.Encode(m, &Request{MaxOutput: 1, Messages: say(strings.Repeat("x", MaxRequest))}); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v", err)
	}
}

// TestCallsOfOneID: where a history has an id twice, each call has its own result.
func TestCallsOfOneID(t *testing.T) {
	p, m := parsed(t, openaiItem)
	raw, err := p.Encode(m, &Request{MaxOutput: 1, Messages: []Message{user(Part{Text: "x"}), assistant(call("a", "b", ""), call("a", "b", "")), user(result("a", "one"), result("a", "two"))}})
	if err != nil || !strings.Contains(string(raw), `"content":"one"`) || !strings.Contains(string(raw), `"content":"two"`) {
		t.Errorf("%v: %s", err, raw)
	}
}

// TestOneAtATime: a model that makes one call at a time is asked for one.
func TestOneAtATime(t *testing.T) {
	for _, c := range []struct{ item, old, new, want string }{
		{anthropicItem, "", "", ""},
		{anthropicItem, "encoder:", "parallel: true, encoder:", ""},
		{anthropicItem, "encoder:", "parallel: false, encoder:", `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{anthropicItem, "tiers:", "supports: {parallel: false}\n    tiers:", `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{openaiItem, "", "", ""},
		{openaiItem, "encoder:", "parallel: true, encoder:", `"parallel_tool_calls":true`},
		{openaiItem, "encoder:", "parallel: false, encoder:", `"parallel_tool_calls":false`},
		{openaiItem, "tiers:", "supports: {parallel: false}\n    tiers:", `"parallel_tool_calls":false`},
	} {
		p, m := parsed(t, strings.Replace(c.item, c.old, c.new, 1))
		raw, err := p.Encode(m, &Request{MaxOutput: 1, Messages: say("x"), Tools: []Tool{{Name: "a"}}})
		if err != nil || !strings.Contains(string(raw), c.want) || c.want == "" && strings.Contains(string(raw), "parallel") {
			t.Errorf("%s: %v: %s", c.new, err, raw)
		}
		raw, _ = p.Encode(m, &Request{MaxOutput: 1, Messages: say("x")})
		if strings.Contains(string(raw), "parallel") {
			t.Errorf("%s: without tools: %s", c.new, raw)
		}
	}
}

// history draws a conversation of n turns, as it would be recorded: some calls without a
// result, some results without a call, texts with anything in them.
func history(t *rapid.T, n int) []Message {
	text := rapid.StringN(0, 20, 60)
	out := []Message{user(Part{Text: "begin " + text.Draw(t, "text")})}
	for i := range n {
		var parts []Part
		var answers []Part
		if rapid.Bool().Draw(t, "thinks") {
			parts = append(parts, opaque("test/p", rapid.SampledFrom([]string{"m-1", "m-2"}).Draw(t, "model"), `{"type":"thinking","thinking":"x","signature":"y","reasoning_content":"z"}`))
		}
		parts = append(parts, Part{Text: "turn " + text.Draw(t, "text")})
		for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
			id := fmt.Sprintf("call_%d_%d", i, j)
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				id += " é"
			}
			parts = append(parts, call(id, "read", `{"n": `+fmt.Sprint(j)+`}`))
			switch rapid.IntRange(0, 4).Draw(t, "answer") {
			case 0: // none
			case 1:
				answers = append(answers, Part{Result: &Result{CallID: id + "?", Text: "orphan"}})
			default:
				answers = append(answers, Part{Result: &Result{CallID: id, Text: text.Draw(t, "result"), Error: j == 1}})
			}
		}
		answers = append(answers, Part{Text: "next " + text.Draw(t, "text")})
		out = append(out, assistant(parts...), user(rapid.Permutation(answers).Draw(t, "order")...))
	}
	return out
}

var cacheMark = regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}`)

// TestPrefix: the request of a turn begins with the request of the turn before, but for the
// brackets that close it and the marks that move.
func TestPrefix(t *testing.T) {
	for name, text := range map[string]string{"anthropic": anthropicItem, "openai": openaiItem} {
		p, m := parsed(t, text)
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			turns := rapid.IntRange(1, 6).Draw(t, "turns")
			all := history(t, turns)
			tools := []Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object","b":1,"a":2}`)}, {Name: "list"}, {Name: "a"}}
			var before []byte
			for n := 1; n <= len(all); n += 2 {
				q := &Request{System: "be good", Tools: rapid.Permutation(tools).Draw(t, "tools"), MaxOutput: 100, Messages: all[:n]}
				raw, err := p.Encode(m, q)
				if err != nil {
					t.Fatal(err)
				}
				again, _ := p.Encode(m, q)
				if !bytes.Equal(raw, again) || !json.Valid(raw) {
					t.Fatalf("not the same twice, or no JSON: %s", raw)
				}
				if marks := len(cacheMark.FindAll(raw, -1)); marks > 4 || name == "anthropic" && marks == 0 {
					t.Fatalf("%d marks", marks)
				}
				now := cacheMark.ReplaceAll(raw, nil)
				if stem := bytes.TrimRight(before, "]}"); !bytes.HasPrefix(now, stem) {
					t.Fatalf("turn %d does not begin with the one before:\n%s\n%s", n, before, now)
				}
				before = now
				paired(t, name, raw)
			}
		}))
	}
}

// paired checks what providers check: every call is followed at once by its results and no
// others, in one message or one message each.
func paired(t *rapid.T, format string, raw []byte) {
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
			Calls   []struct{ ID string } `json:"tool_calls"`
			For     string                `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	var open []string
	for i, m := range body.Messages {
		if format == "openai" {
			switch {
			case m.Role == "tool":
				if len(open) == 0 || open[0] != m.For {
					t.Fatalf("message %d answers %s, open are %v", i, m.For, open)
				}
				open = open[1:]
			case len(open) > 0:
				t.Fatalf("message %d: %v have no result", i, open)
			}
			for _, c := range m.Calls {
				open = append(open, c.ID)
			}
			continue
		}
		var blocks []struct {
			Type, ID string
			For      string `json:"tool_use_id"`
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil || len(blocks) == 0 {
			t.Fatalf("message %d: %v, %d blocks", i, err, len(blocks))
		}
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			t.Fatalf("message %d is the %s's", i, m.Role)
		}
		var answered []string
		for j, b := range blocks {
			if b.Type == "tool_result" {
				if len(answered) != j {
					t.Fatalf("message %d: a result behind something else", i)
				}
				answered = append(answered, b.For)
			}
		}
		if !slices.Equal(answered, open) {
			t.Fatalf("message %d answers %v, open are %v", i, answered, open)
		}
		open = nil
		for _, b := range blocks {
			if b.Type == "tool_use" {
				open = append(open, b.ID)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v have no result", open)
	}
}

// TestEcho: what a provider sent to be returned comes back byte for byte, through an answer
// and the next request.
func TestEcho(t *testing.T) {
	for _, c := range []struct{ name, item, raw string }{
		{"anthropic", anthropicItem, `{"type":"redacted_thinking",  "data":"a\u00e9/\/=="}`},
		{"openai", openaiItem, `{"reasoning_content":"a\u00e9 \/"}`},
	} {
		p, m := parsed(t, c.item)
		q := &Request{MaxOutput: 1, Messages: []Message{user(Part{Text: "x"}), assistant(opaque("test/p", "m-1", c.raw), Part{Text: "y"}), user(Part{Text: "z"})}}
		want := c.raw
		if c.name == "openai" {
			want = strings.Trim(c.raw, "{}")
		}
		raw, err := p.Encode(m, q)
		if err != nil || !bytes.Contains(raw, []byte(want)) {
			t.Errorf("%s: %v: %s lacks %s", c.name, err, raw, want)
		}
		q.Messages[1].Parts[0].Opaque.Model = "m-0"
		raw, err = p.Encode(m, q)
		if err != nil || bytes.Contains(raw, []byte(want)) {
			t.Errorf("%s: %v: %s holds what another model sent", c.name, err, raw)
		}
	}
}
