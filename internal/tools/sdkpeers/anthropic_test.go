package sdkpeers

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/rye-os/rye/internal/modelhost"
)

func anthropicClient(v *modelhost.Server, more ...option.RequestOption) *anthropic.Client {
	c := anthropic.NewClient(append([]option.RequestOption{option.WithBaseURL(v.URL), option.WithAPIKey("k"), option.WithMaxRetries(0)}, more...)...)
	return &c
}

func anthropicParams(messages ...anthropic.MessageParam) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-x", MaxTokens: 4000, Messages: messages,
		System: []anthropic.TextBlockParam{{Text: "You are careful."}},
		Tools: []anthropic.ToolUnionParam{
			{OfTool: &anthropic.ToolParam{Name: "list_all", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
			{OfTool: &anthropic.ToolParam{Name: "read_file", Description: anthropic.String("reads"), InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"path": map[string]any{"type": "string"}}}}},
		},
	}
}

// asked asks streamed and not, and returns what both gave.
func anthropicAsk(t *testing.T, c *anthropic.Client, p anthropic.MessageNewParams) *anthropic.Message {
	t.Helper()
	whole, err := c.Messages.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var m anthropic.Message
	s := c.Messages.NewStreaming(t.Context(), p)
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	if len(m.Content) != len(whole.Content) {
		t.Fatalf("streamed %d blocks, whole %d", len(m.Content), len(whole.Content))
	}
	for i := range m.Content {
		a, b := m.Content[i], whole.Content[i]
		if a.Type != b.Type || a.Text != b.Text || a.Thinking != b.Thinking || a.Signature != b.Signature || a.ID != b.ID || a.Name != b.Name ||
			a.Type == "tool_use" && !sameJSON(t, string(a.Input), string(b.Input)) {
			t.Errorf("block %d: streamed %+v, whole %+v", i, a, b)
		}
	}
	a, b := m.Usage, whole.Usage
	if m.ID != whole.ID || m.Model != whole.Model || m.StopReason != whole.StopReason || a.InputTokens != b.InputTokens || a.OutputTokens != b.OutputTokens ||
		a.CacheReadInputTokens != b.CacheReadInputTokens || a.CacheCreationInputTokens != b.CacheCreationInputTokens {
		t.Errorf("streamed %+v, whole %+v", m, whole)
	}
	return whole
}

// TestAnthropicThread: a thread with thinking and parallel calls, one without arguments, as
// the SDK leads it: it sends back what it got.
func TestAnthropicThread(t *testing.T) {
	v := serve(t, script)
	c := anthropicClient(v)
	p := anthropicParams(anthropic.NewUserMessage(anthropic.NewTextBlock("hello")))
	m := anthropicAsk(t, c, p)
	var kinds []string
	for _, b := range m.Content {
		kinds = append(kinds, b.Type)
	}
	if got := strings.Join(kinds, " "); got != "thinking text tool_use tool_use" || m.StopReason != anthropic.StopReasonToolUse {
		t.Fatalf("%s, %s", got, m.StopReason)
	}
	if m.Content[0].Thinking != "I read first." || m.Content[0].Signature == "" || m.Content[1].Text != "Let me see: <ü>." {
		t.Errorf("%+v", m.Content[:2])
	}
	if r, l := m.Content[2], m.Content[3]; r.Name != "read_file" || !sameJSON(t, string(r.Input), args) || l.Name != "list_all" || !sameJSON(t, string(l.Input), "{}") || r.ID == l.ID {
		t.Errorf("%+v", m.Content[2:])
	}
	if u := m.Usage; u.InputTokens != 100 || u.OutputTokens != 27 || u.OutputTokensDetails.ThinkingTokens != 7 || u.CacheReadInputTokens != 30 ||
		u.CacheCreationInputTokens != 45 || u.CacheCreation.Ephemeral5mInputTokens != 40 || u.CacheCreation.Ephemeral1hInputTokens != 5 {
		t.Errorf("usage %+v", u)
	}
	p.Messages = append(p.Messages, m.ToParam(), anthropic.NewUserMessage(
		anthropic.NewToolResultBlock(m.Content[2].ID, "one.", false), anthropic.NewToolResultBlock(m.Content[3].ID, "two", true)))
	m = anthropicAsk(t, c, p)
	if m.Content[0].Text != "First: one. Second: two" || m.StopReason != anthropic.StopReasonEndTurn {
		t.Errorf("%+v", m)
	}
	for _, want := range []anthropic.StopReason{anthropic.StopReasonMaxTokens, anthropic.StopReasonRefusal, anthropic.StopReasonEndTurn} {
		p.Messages = append(p.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("go on")))
		if m = anthropicAsk(t, c, p); m.StopReason != want {
			t.Errorf("%s, want %s", m.StopReason, want)
		}
	}
	if n := len(m.Content[0].Text); n != 100000 {
		t.Errorf("%d bytes of text", n)
	}
	if all := v.Requests(); len(all) != 10 || all[0].Digest != all[1].Digest || all[9].Turn != 5 {
		t.Errorf("%d requests", len(all))
	}
}

// TestAnthropicErrors: the SDK takes the host's errors for those of the service.
func TestAnthropicErrors(t *testing.T) {
	p := anthropicParams(anthropic.NewUserMessage(anthropic.NewTextBlock("hello")))
	for status, kind := range map[string]anthropic.ErrorType{"429": "rate_limit_error", "529": "overloaded_error", "401": "authentication_error", "400": "invalid_request_error", "500": "api_error"} {
		v := serve(t, "turns: [{error: {status: "+status+", message: no}}]")
		_, err := anthropicClient(v).Messages.New(t.Context(), p)
		var e *anthropic.Error
		if !errors.As(err, &e) || e.Type() != kind || e.RequestID == "" || !strings.Contains(e.RawJSON(), `"message":"no"`) {
			t.Errorf("%s: %v", status, err)
		}
		s := anthropicClient(v).Messages.NewStreaming(t.Context(), p)
		if s.Next() || !errors.As(s.Err(), &e) || e.Type() != kind {
			t.Errorf("%s, streamed: %v", status, s.Err())
		}
	}

	v := serve(t, `turns: [{times: 2, error: {status: 529, headers: {retry-after-ms: "1"}}}, {say: at last}]`)
	m, err := anthropicClient(v, option.WithMaxRetries(2)).Messages.New(t.Context(), p)
	if err != nil || m.Content[0].Text != "at last" || len(v.Requests()) != 3 {
		t.Errorf("after two failures: %v, %d requests", err, len(v.Requests()))
	}

	v = serve(t, `turns: [{say: half, error: {status: 529, message: enough, mid_stream: true}}]`)
	var got anthropic.Message
	s := anthropicClient(v).Messages.NewStreaming(t.Context(), p)
	for s.Next() {
		if err := got.Accumulate(s.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "enough") || got.Content[0].Text != "half" {
		t.Errorf("in the middle of a stream: %v after %+v", s.Err(), got.Content)
	}

	v = serve(t, `turns: [{say: [hello, world], cut: 700}]`)
	s = anthropicClient(v).Messages.NewStreaming(t.Context(), p)
	for s.Next() {
	}
	if !errors.Is(s.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", s.Err())
	}
}

// TestAnthropicRefused: what the SDK lets through and the service would not, the host does
// not take either.
func TestAnthropicRefused(t *testing.T) {
	v := serve(t, script)
	for want, change := range map[string]func(*anthropic.MessageNewParams){
		"max_tokens":           func(p *anthropic.MessageNewParams) { p.MaxTokens = 0 },
		"at least one message": func(p *anthropic.MessageNewParams) { p.Messages = []anthropic.MessageParam{} },
		"unexpected `tool_use_id": func(p *anthropic.MessageNewParams) {
			p.Messages = []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewToolResultBlock("t", "x", false))}
		},
		"greater than thinking.budget_tokens": func(p *anthropic.MessageNewParams) { p.Thinking = anthropic.ThinkingConfigParamOfEnabled(5000) },
	} {
		p := anthropicParams(anthropic.NewUserMessage(anthropic.NewTextBlock("hello")))
		change(&p)
		_, err := anthropicClient(v).Messages.New(t.Context(), p)
		var e *anthropic.Error
		if !errors.As(err, &e) || e.StatusCode != 400 || !strings.Contains(e.RawJSON(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestAnthropicCache: the SDK's marks are counted as the service counts them.
func TestAnthropicCache(t *testing.T) {
	v := serve(t, "{cache: true, turns: [{say: x}]}")
	p := anthropicParams(anthropic.NewUserMessage(anthropic.NewTextBlock("hello")))
	p.System[0].CacheControl = anthropic.CacheControlEphemeralParam{TTL: anthropic.CacheControlEphemeralTTLTTL1h}
	first, err := anthropicClient(v).Messages.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	p.Messages = []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("something else"))}
	second, err := anthropicClient(v).Messages.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	kept := first.Usage.CacheCreation.Ephemeral1hInputTokens
	if kept == 0 || first.Usage.CacheReadInputTokens != 0 || second.Usage.CacheReadInputTokens != kept || second.Usage.CacheCreationInputTokens != 0 {
		t.Errorf("first %+v, second %+v", first.Usage, second.Usage)
	}
}
