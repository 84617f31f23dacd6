package mock

import "strings"

// created is the time of every answer, in seconds since 1970, so that equal requests get equal
// bytes.
const created = 1_767_225_600 // 2026-01-01

type openAIUsage struct {
	Prompt     int64         `json:"prompt_tokens"`
	Completion int64         `json:"completion_tokens"`
	Total      int64         `json:"total_tokens"`
	In         openAIDetails `json:"prompt_tokens_details"`
	Out        openAIOutput  `json:"completion_tokens_details"`
}

type openAIDetails struct {
	Cached int64 `json:"cached_tokens"`
	Audio  int64 `json:"audio_tokens"`
}

type openAIOutput struct {
	Reasoning int64 `json:"reasoning_tokens"`
	Audio     int64 `json:"audio_tokens"`
	Accepted  int64 `json:"accepted_prediction_tokens"`
	Rejected  int64 `json:"rejected_prediction_tokens"`
}

// openAIUsage returns the usage as the service counts it: cached tokens are part of the prompt, and
// reasoning is part of the completion.
func (a *answer) openAIUsage() *openAIUsage {
	u := a.usage
	out := openAIUsage{Prompt: u.Input + u.CacheRead + u.CacheWrite + u.CacheLong, Completion: u.Output + u.Reasoning}
	out.Total = out.Prompt + out.Completion
	out.In.Cached, out.Out.Reasoning = u.CacheRead, u.Reasoning
	return &out
}

var openAIStops = map[string]string{"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "stop"}

type (
	openAICall struct {
		Index    *int       `json:"index,omitempty"`
		ID       string     `json:"id,omitempty"`
		Type     string     `json:"type,omitempty"`
		Function openAIFunc `json:"function"`
	}
	openAIFunc struct {
		Name string `json:"name,omitempty"`
		Args string `json:"arguments"`
	}
	openAIMessage struct {
		Role      string       `json:"role"`
		Content   *string      `json:"content"`
		Refusal   *string      `json:"refusal"`
		Reasoning string       `json:"reasoning_content,omitempty"`
		Notes     []any        `json:"annotations"`
		Calls     []openAICall `json:"tool_calls,omitempty"`
	}
	openAIChoice struct {
		Index    int            `json:"index"`
		Message  *openAIMessage `json:"message,omitempty"`
		Delta    any            `json:"delta,omitempty"`
		Logprobs *string        `json:"logprobs"`
		Finish   *string        `json:"finish_reason"`
	}
	openAIHead struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		Model   string `json:"model"`
		Tier    string `json:"service_tier"`
		System  string `json:"system_fingerprint"`
	}
)

func (a *answer) openAIHead(object string) openAIHead {
	return openAIHead{a.id("chatcmpl-"), object, created, a.model, "default", "fp_mock"}
}

// wholeOpenAI sends the answer as one document.
func (a *answer) wholeOpenAI(b *body) error {
	m := openAIMessage{Role: "assistant", Reasoning: strings.Join(a.think, ""), Notes: []any{}}
	if text := a.text(); a.stop == "refusal" {
		m.Refusal = &text
	} else if text != "" || len(a.calls) == 0 {
		m.Content = &text
	}
	for _, c := range a.calls {
		m.Calls = append(m.Calls, openAICall{nil, c.id, "function", openAIFunc{c.name, c.args}})
	}
	finish := openAIStops[a.stop]
	return b.whole(struct {
		openAIHead
		Choices []openAIChoice `json:"choices"`
		Usage   *openAIUsage   `json:"usage"`
	}{a.openAIHead("chat.completion"), []openAIChoice{{Message: &m, Finish: &finish}}, a.openAIUsage()}, a.mark(), a.bytes)
}

// streamOpenAI sends the answer as chunks, and a failure as the last of them. counted reports
// whether the request asked for the usage.
func (a *answer) streamOpenAI(b *body, failed *refusal, counted bool) error {
	if err := b.begin(eventStream); err != nil {
		return err
	}
	s := openAIStream{b: b, head: a.openAIHead("chat.completion.chunk"), counted: counted}
	said := "content"
	if a.stop == "refusal" {
		said = "refusal"
	}
	first := member{"content", nil}
	if said == "content" && (len(a.say) > 0 || a.bytes > 0) {
		first.value = ""
	}
	s.delta(member{"role", "assistant"}, first)
	for _, t := range a.think {
		s.delta(member{"reasoning_content", t})
	}
	for _, t := range a.say {
		s.delta(member{said, t})
	}
	if s.err == nil {
		s.err = generate(a.bytes, piece, func(t []byte) error { s.delta(member{said, string(t)}); return s.err })
	}
	a.callChunks(&s)
	if s.err != nil {
		return s.err
	}
	if failed != nil {
		if err := b.event("", failed.openAI()); err != nil {
			return err
		}
		return b.end()
	}
	finish := openAIStops[a.stop]
	s.chunk([]openAIChoice{{Delta: object{}, Finish: &finish}}, nil)
	if counted {
		s.chunk([]openAIChoice{}, a.openAIUsage())
	}
	if s.err == nil {
		s.err = b.raw("", []byte("[DONE]"))
	}
	if s.err != nil {
		return s.err
	}
	return b.end()
}

func (a *answer) callChunks(s *openAIStream) {
	for i, c := range a.calls {
		s.delta(member{"tool_calls", []openAICall{{&i, c.id, "function", openAIFunc{c.name, ""}}}})
		for _, t := range split(c.args, argument) {
			s.delta(member{"tool_calls", []openAICall{{&i, "", "", openAIFunc{"", t}}}})
		}
	}
}

// An openAIStream sends chunks; after an error it sends nothing more.
type openAIStream struct {
	b       *body
	head    openAIHead
	counted bool
	err     error
}

func (s *openAIStream) delta(d ...member) {
	s.chunk([]openAIChoice{{Delta: object(d)}}, nil)
}

func (s *openAIStream) chunk(choices []openAIChoice, u *openAIUsage) {
	if s.err != nil {
		return
	}
	type plain struct {
		openAIHead
		Choices []openAIChoice `json:"choices"`
	}
	if !s.counted {
		s.err = s.b.event("", plain{s.head, choices})
		return
	}
	s.err = s.b.event("", struct {
		plain
		Usage *openAIUsage `json:"usage"`
	}{plain{s.head, choices}, u})
}
