package sdkpeers

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/rye-os/rye/internal/modelhost"
)

func openaiClient(v *modelhost.Server, more ...option.RequestOption) *openai.Client {
	c := openai.NewClient(append([]option.RequestOption{option.WithBaseURL(v.URL + "/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0)}, more...)...)
	return &c
}

func openaiParams(messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "gpt-x", MaxCompletionTokens: openai.Int(4000), Messages: append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You are careful.")}, messages...),
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "list_all", Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{}}}),
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "read_file", Description: openai.String("reads"), Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}}}),
		},
	}
}

// openaiAsk asks streamed and not, and returns what both gave.
func openaiAsk(t *testing.T, c *openai.Client, p openai.ChatCompletionNewParams) *openai.ChatCompletion {
	t.Helper()
	whole, err := c.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	var acc openai.ChatCompletionAccumulator
	s := c.Chat.Completions.NewStreaming(t.Context(), p)
	for s.Next() {
		if !acc.AddChunk(s.Current()) {
			t.Fatalf("the SDK does not take %s", s.Current().RawJSON())
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	a, b := acc.Choices[0], whole.Choices[0]
	if a.Message.Content != b.Message.Content || a.Message.Refusal != b.Message.Refusal || a.FinishReason != b.FinishReason || len(a.Message.ToolCalls) != len(b.Message.ToolCalls) {
		t.Errorf("streamed %+v, whole %+v", a, b)
	}
	for i := range a.Message.ToolCalls {
		if x, y := a.Message.ToolCalls[i], b.Message.ToolCalls[i]; x.ID != y.ID || x.Function.Name != y.Function.Name || x.Function.Arguments != y.Function.Arguments {
			t.Errorf("call %d: streamed %+v, whole %+v", i, x, y)
		}
	}
	x, y := acc.Usage, whole.Usage
	if acc.ID != whole.ID || acc.Model != whole.Model || x.PromptTokens != y.PromptTokens || x.CompletionTokens != y.CompletionTokens || x.TotalTokens != y.TotalTokens ||
		x.PromptTokensDetails.CachedTokens != y.PromptTokensDetails.CachedTokens || x.CompletionTokensDetails.ReasoningTokens != y.CompletionTokensDetails.ReasoningTokens {
		t.Errorf("streamed %+v, whole %+v", acc, whole)
	}
	return whole
}

// TestOpenAIThread: the same thread as TestAnthropicThread.
func TestOpenAIThread(t *testing.T) {
	v := serve(t, script)
	c := openaiClient(v)
	p := openaiParams(openai.UserMessage("hello"))
	r := openaiAsk(t, c, p)
	m := r.Choices[0].Message
	if m.Content != "Let me see: <ü>." || r.Choices[0].FinishReason != "tool_calls" || len(m.ToolCalls) != 2 || m.JSON.ExtraFields["reasoning_content"].Raw() != `"I read first."` {
		t.Fatalf("%s", r.RawJSON())
	}
	if f := m.ToolCalls[0].Function; f.Name != "read_file" || !sameJSON(t, f.Arguments, args) || m.ToolCalls[1].Function.Arguments != "{}" {
		t.Errorf("%+v", m.ToolCalls)
	}
	if u := r.Usage; u.PromptTokens != 175 || u.CompletionTokens != 27 || u.TotalTokens != 202 || u.PromptTokensDetails.CachedTokens != 30 || u.CompletionTokensDetails.ReasoningTokens != 7 {
		t.Errorf("usage %+v", u)
	}
	p.Messages = append(p.Messages, m.ToParam(), openai.ToolMessage("one.", m.ToolCalls[0].ID), openai.ToolMessage("two", m.ToolCalls[1].ID))
	r = openaiAsk(t, c, p)
	if got := r.Choices[0].Message.Content; got != "First: one. Second: two" || r.Choices[0].FinishReason != "stop" {
		t.Errorf("%s", r.RawJSON())
	}
	for _, want := range []string{"length", "stop", "stop"} {
		p.Messages = append(p.Messages, r.Choices[0].Message.ToParam(), openai.UserMessage("go on"))
		if r = openaiAsk(t, c, p); r.Choices[0].FinishReason != want {
			t.Errorf("%s, want %s", r.Choices[0].FinishReason, want)
		}
		if turn := v.Requests()[len(v.Requests())-1].Turn; turn == 4 && r.Choices[0].Message.Refusal != "I would rather not." {
			t.Errorf("no refusal: %s", r.RawJSON())
		}
	}
	if n := len(r.Choices[0].Message.Content); n != 100000 {
		t.Errorf("%d bytes of text", n)
	}
}

// TestOpenAIErrors: the SDK takes the host's errors for those of the service.
func TestOpenAIErrors(t *testing.T) {
	p := openaiParams(openai.UserMessage("hello"))
	for status, code := range map[string]string{"429": "rate_limit_exceeded", "401": "invalid_api_key", "400": "", "500": ""} {
		v := serve(t, "turns: [{error: {status: "+status+", message: no}}]")
		_, err := openaiClient(v).Chat.Completions.New(t.Context(), p)
		var e *openai.Error
		if !errors.As(err, &e) || e.Message != "no" || e.Code != code || e.Type == "" {
			t.Errorf("%s: %v", status, err)
		}
	}

	v := serve(t, `turns: [{times: 2, error: {status: 429, headers: {retry-after-ms: "1"}}}, {say: at last}]`)
	r, err := openaiClient(v, option.WithMaxRetries(2)).Chat.Completions.New(t.Context(), p)
	if err != nil || r.Choices[0].Message.Content != "at last" || len(v.Requests()) != 3 {
		t.Errorf("after two failures: %v, %d requests", err, len(v.Requests()))
	}

	v = serve(t, `turns: [{say: half, error: {status: 500, message: enough, mid_stream: true}}]`)
	var acc openai.ChatCompletionAccumulator
	s := openaiClient(v).Chat.Completions.NewStreaming(t.Context(), p)
	for s.Next() {
		acc.AddChunk(s.Current())
	}
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "enough") || acc.Choices[0].Message.Content != "half" {
		t.Errorf("in the middle of a stream: %v after %+v", s.Err(), acc.Choices)
	}

	v = serve(t, `turns: [{say: [hello, world], cut: 500}]`)
	s = openaiClient(v).Chat.Completions.NewStreaming(t.Context(), p)
	for s.Next() {
	}
	if !errors.Is(s.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", s.Err())
	}

	v = serve(t, "turns: []")
	p.Messages = append(p.Messages, openai.ToolMessage("x", "nobody"))
	_, err = openaiClient(v).Chat.Completions.New(t.Context(), p)
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != 400 || !strings.Contains(e.Message, "must be a response to a preceding message") {
		t.Errorf("a result of nothing: %v", err)
	}
}
