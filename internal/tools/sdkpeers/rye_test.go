package sdkpeers

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/shared/constant"
	"github.com/openai/openai-go/v3"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/internal/modelhost"
	"github.com/rye-os/rye/objects"
)

// A thread is one that rye leads, with an item of the standard library.
type thread struct {
	t *testing.T
	c *provider.Client
	p *provider.Provider
	m *provider.Model
	q *provider.Request
}

func lead(t *testing.T, v *modelhost.Server, item, effort string) *thread {
	t.Helper()
	raw, err := os.ReadFile("../../../stdlib/system/tools/rye/agent/providers/" + item + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := objects.YAMLValues(raw, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider.Parse("rye/agent/providers/"+item, doc["config"].(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Model("general")
	if err != nil {
		t.Fatal(err)
	}
	return &thread{t, &provider.Client{Base: v.URL, Secret: func(context.Context, string, string) (string, error) { return "k", nil }}, p, m, &provider.Request{
		System: "You are careful.", MaxOutput: 4000, Effort: effort,
		Tools: []provider.Tool{
			{Name: "read_file", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
			{Name: "list_all"},
		},
	}}
}

// say says something to the model and adds its answer to the conversation.
func (h *thread) say(parts ...provider.Part) *provider.Response {
	h.t.Helper()
	h.q.Messages = append(h.q.Messages, provider.Message{Role: provider.User, Parts: parts})
	r, err := h.c.Do(h.t.Context(), h.p, h.m, h.q, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.q.Messages = append(h.q.Messages, provider.Message{Role: provider.Assistant, Parts: r.Parts})
	return r
}

// whole leads the thread of script: three turns.
func (h *thread) whole() (all []*provider.Response) {
	h.t.Helper()
	first := h.say(provider.Part{Text: "hello"})
	var results []provider.Part
	for i, text := range []string{"one.", "two"} {
		c := calls(first)[i]
		results = append(results, provider.Part{Result: &provider.Result{CallID: c.ID, Name: c.Name, Text: text, Error: i == 1}})
	}
	return append(all, first, h.say(results...), h.say(provider.Part{Text: "go on <&> \u2028"}))
}

func calls(r *provider.Response) (out []*provider.Call) {
	for _, p := range r.Parts {
		if p.Call != nil {
			out = append(out, p.Call)
		}
	}
	return out
}

// canonical decodes a request into the form in which two that mean the same are equal: a
// text that stands for content is one block, and what is null is not there. stream is left
// out: the SDKs add it to what they marshal.
func canonical(t *testing.T, raw []byte) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	delete(v, "stream")
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
				continue
			}
			if s, ok := e.(string); ok && k == "content" {
				e = []any{map[string]any{"type": "text", "text": s}}
			}
			v[k] = plain(e)
		}
		if v["type"] == "tool_result" && v["is_error"] == false {
			delete(v, "is_error") // the default, which the SDK writes
		}
	}
	return v
}

// equal compares two requests after canonicalisation.
func equal(t *testing.T, what string, ours, theirs []byte) {
	t.Helper()
	if a, b := canonical(t, ours), canonical(t, theirs); !reflect.DeepEqual(a, b) {
		x, _ := json.MarshalIndent(a, "", " ")
		y, _ := json.MarshalIndent(b, "", " ")
		t.Errorf("%s: rye says\n%s\nthe SDK\n%s", what, x, y)
	}
}

func bodies(v *modelhost.Server) (out [][]byte) {
	for _, r := range v.Requests() {
		out = append(out, r.Body)
	}
	return out
}

// TestAnthropicRequests: the thread that rye leads and the same one that the SDK leads ask
// the same, and hear the same.
func TestAnthropicRequests(t *testing.T) {
	v, w := serve(t, script), serve(t, script)
	heard := lead(t, v, "anthropic", "high").whole()

	mark := anthropic.CacheControlEphemeralParam{Type: constant.ValueOf[constant.Ephemeral]()}
	p := anthropicParams()
	p.Model, p.Messages = "claude-sonnet-5", nil
	p.System[0].CacheControl, p.Tools[1].OfTool.CacheControl = mark, mark
	p.Thinking = anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}}
	p.OutputConfig.Effort = anthropic.OutputConfigEffortHigh
	c := anthropicClient(w)
	var theirs []*anthropic.Message
	ask := func(m anthropic.MessageParam) *anthropic.Message {
		p.Messages = append(p.Messages, m)
		marked := p
		marked.Messages = nil
		for i, m := range p.Messages { // the last two bear marks, as the item says
			m.Content = append([]anthropic.ContentBlockParamUnion{}, m.Content...)
			if i >= len(p.Messages)-2 {
				b := &m.Content[len(m.Content)-1]
				switch {
				case b.OfText != nil:
					x := *b.OfText
					x.CacheControl, b.OfText = mark, &x
				case b.OfToolUse != nil:
					x := *b.OfToolUse
					x.CacheControl, b.OfToolUse = mark, &x
				case b.OfToolResult != nil:
					x := *b.OfToolResult
					x.CacheControl, b.OfToolResult = mark, &x
				}
			}
			marked.Messages = append(marked.Messages, m)
		}
		var got anthropic.Message
		s := c.Messages.NewStreaming(t.Context(), marked)
		for s.Next() {
			if err := got.Accumulate(s.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		p.Messages = append(p.Messages, got.ToParam())
		theirs = append(theirs, &got)
		return &got
	}
	m := ask(anthropic.NewUserMessage(anthropic.NewTextBlock("hello")))
	ask(anthropic.NewUserMessage(anthropic.NewToolResultBlock(m.Content[2].ID, "one.", false), anthropic.NewToolResultBlock(m.Content[3].ID, "two", true)))
	ask(anthropic.NewUserMessage(anthropic.NewTextBlock("go on <&> \u2028")))

	for i, body := range bodies(v) {
		equal(t, "turn", body, bodies(w)[i])
		var back anthropic.MessageNewParams
		if err := json.Unmarshal(body, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back) // without what the SDK does not know
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "decoded by the SDK", body, again)
		if a, b := v.Requests()[i], w.Requests()[i]; a.Path != b.Path || a.Digest != b.Digest || a.Header.Get("x-api-key") != b.Header.Get("x-api-key") ||
			a.Header.Get("anthropic-version") != b.Header.Get("anthropic-version") || a.Header.Get("content-type") != b.Header.Get("content-type") {
			t.Errorf("turn %d: rye %s %v, the SDK %s %v", i+1, a.Path, a.Header, b.Path, b.Header)
		}
	}
	if n := len(bodies(v)); n != 3 || len(bodies(w)) != 3 {
		t.Errorf("%d requests", n)
	}
	stops := map[anthropic.StopReason]string{"tool_use": provider.StopCalls, "end_turn": provider.StopEnd, "max_tokens": provider.StopLength}
	for i, m := range theirs {
		r := heard[i]
		var text, thought string
		var uses []anthropic.ContentBlockUnion
		for _, b := range m.Content {
			text, thought = text+b.Text, thought+b.Thinking
			if b.Type == "tool_use" {
				uses = append(uses, b)
			}
		}
		gotText, gotThought := texts(r)
		if gotText != text || gotThought != thought || r.Stop != stops[m.StopReason] || r.Model != string(m.Model) {
			t.Errorf("turn %d: rye heard %+v, the SDK %s", i+1, r, m.RawJSON())
		}
		for k, c := range calls(r) {
			if u := uses[k]; c.ID != u.ID || c.Name != u.Name || !sameJSON(t, string(c.Args), string(u.Input)) || len(uses) != len(calls(r)) {
				t.Errorf("call %d: rye heard %+v, the SDK %+v", k, c, u)
			}
		}
		u := m.Usage
		if r.Usage.Input != u.InputTokens || r.Usage.CacheRead != u.CacheReadInputTokens || r.Usage.CacheWrite+r.Usage.CacheLong != u.CacheCreationInputTokens || r.Usage.Output+r.Usage.Reasoning != u.OutputTokens {
			t.Errorf("turn %d: rye counted %+v, the SDK %+v", i+1, r.Usage, u)
		}
	}
	if u := heard[0].Usage; u.CacheWrite != 40 || u.CacheLong != 5 {
		t.Errorf("usage %+v", u)
	}
}

func texts(r *provider.Response) (text, thought string) {
	for _, p := range r.Parts {
		text += p.Text
		if p.Opaque != nil {
			thought += p.Opaque.Text
		}
	}
	return text, thought
}

// TestOpenAIRequests: the same for the other format.
func TestOpenAIRequests(t *testing.T) {
	v, w := serve(t, script), serve(t, script)
	heard := lead(t, v, "openai", "high").whole()
	ours := bodies(v)
	var key struct {
		Key string `json:"prompt_cache_key"` // rye's own choice
	}
	if err := json.Unmarshal(ours[0], &key); err != nil || key.Key == "" {
		t.Fatalf("no key for the cache: %v", err)
	}
	p := openaiParams()
	p.Model, p.Messages = "gpt-5-mini", []openai.ChatCompletionMessageParamUnion{openai.DeveloperMessage("You are careful.")}
	p.ReasoningEffort, p.Store, p.PromptCacheKey = openai.ReasoningEffortHigh, openai.Bool(false), openai.String(key.Key)
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	c := openaiClient(w)
	var theirs []*openai.ChatCompletion
	ask := func(m ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionMessage {
		p.Messages = append(p.Messages, m...)
		var acc openai.ChatCompletionAccumulator
		s := c.Chat.Completions.NewStreaming(t.Context(), p)
		for s.Next() {
			acc.AddChunk(s.Current())
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		theirs = append(theirs, &acc.ChatCompletion)
		p.Messages = append(p.Messages, acc.Choices[0].Message.ToParam())
		return acc.Choices[0].Message
	}
	m := ask(openai.UserMessage("hello"))
	ask(openai.ToolMessage("one.", m.ToolCalls[0].ID), openai.ToolMessage("Error: two", m.ToolCalls[1].ID))
	ask(openai.UserMessage("go on <&> \u2028"))

	if len(ours) != 3 || len(bodies(w)) != 3 {
		t.Fatalf("%d requests", len(ours))
	}
	for i, body := range ours {
		equal(t, "turn", body, bodies(w)[i])
		var back openai.ChatCompletionNewParams
		if err := json.Unmarshal(body, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "decoded by the SDK", body, again)
		if a, b := v.Requests()[i], w.Requests()[i]; a.Path != b.Path || a.Header.Get("authorization") != b.Header.Get("authorization") || a.Header.Get("content-type") != b.Header.Get("content-type") {
			t.Errorf("turn %d: rye %s %v, the SDK %s %v", i+1, a.Path, a.Header, b.Path, b.Header)
		}
	}
	stops := map[string]string{"tool_calls": provider.StopCalls, "stop": provider.StopEnd, "length": provider.StopLength}
	for i, m := range theirs {
		r, choice := heard[i], m.Choices[0]
		if text, _ := texts(r); text != choice.Message.Content || r.Stop != stops[choice.FinishReason] || len(calls(r)) != len(choice.Message.ToolCalls) {
			t.Errorf("turn %d: rye heard %+v, the SDK %+v", i+1, r, choice)
		}
		for k, c := range calls(r) {
			if u := choice.Message.ToolCalls[k]; c.ID != u.ID || c.Name != u.Function.Name || !sameJSON(t, string(c.Args), u.Function.Arguments) {
				t.Errorf("call %d: rye heard %+v, the SDK %+v", k, c, u)
			}
		}
		u := m.Usage
		want := rye.Usage{Input: u.PromptTokens - u.PromptTokensDetails.CachedTokens, CacheRead: u.PromptTokensDetails.CachedTokens,
			Output: u.CompletionTokens - u.CompletionTokensDetails.ReasoningTokens, Reasoning: u.CompletionTokensDetails.ReasoningTokens}
		if r.Usage != want {
			t.Errorf("turn %d: rye counted %+v, the SDK %+v", i+1, r.Usage, want)
		}
	}
}

// TestCanonicalBites: a member that the SDK does not know is noticed.
func TestCanonicalBites(t *testing.T) {
	const body = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"x","colour":1}]}]}`
	var back anthropic.MessageNewParams
	if err := json.Unmarshal([]byte(body), &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if reflect.DeepEqual(canonical(t, []byte(body)), canonical(t, again)) {
		t.Error("an unknown member came back")
	}
}
