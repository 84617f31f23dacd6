package modelhost

import (
	"strings"

	"github.com/rye-os/rye/agent/provider/script"
)

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
func openAIUsageOf(a *script.Answer) *openAIUsage {
	u := a.Usage
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

func openAIHeadOf(a *script.Answer, object string) openAIHead {
	return openAIHead{a.ID("chatcmpl"), object, created, a.Model, "default", "fp_host"}
}

// wholeOpenAI is the answer as one document.
func wholeOpenAI(a *script.Answer) (any, error) {
	m := openAIMessage{Role: "assistant", Reasoning: strings.Join(a.Think, ""), Notes: []any{}}
	if text := strings.Join(a.Say, ""); a.Stop == "refusal" {
		m.Refusal = &text
	} else if text != "" || len(a.Calls) == 0 {
		m.Content = &text
	}
	for _, c := range a.Calls {
		m.Calls = append(m.Calls, openAICall{nil, c.ID, "function", openAIFunc{c.Name, c.Args}})
	}
	finish := openAIStops[a.Stop]
	return struct {
		openAIHead
		Choices []openAIChoice `json:"choices"`
		Usage   *openAIUsage   `json:"usage"`
	}{openAIHeadOf(a, "chat.completion"), []openAIChoice{{Message: &m, Finish: &finish}}, openAIUsageOf(a)}, nil
}

// streamOpenAI is the answer as chunks, and a failure as the last of them.
func streamOpenAI(a *script.Answer, p *prompt, f *script.Failure, code string) [][]byte {
	s := openAIStream{head: openAIHeadOf(a, "chat.completion.chunk"), counted: p.counted}
	said := "content"
	if a.Stop == "refusal" {
		said = "refusal"
	}
	first := member{"content", nil}
	if said == "content" && len(a.Say) > 0 {
		first.value = ""
	}
	s.delta(member{"role", "assistant"}, first)
	for _, t := range a.Think {
		s.delta(member{"reasoning_content", t})
	}
	for _, t := range a.Say {
		s.delta(member{said, t})
	}
	for i, c := range a.Calls {
		s.delta(member{"tool_calls", []openAICall{{&i, c.ID, "function", openAIFunc{c.Name, ""}}}})
		for _, t := range script.Split(c.Args) {
			s.delta(member{"tool_calls", []openAICall{{&i, "", "", openAIFunc{"", t}}}})
		}
	}
	if f != nil {
		return append(s.events, script.Event("", compact(refused(f, code).openAI())))
	}
	finish := openAIStops[a.Stop]
	s.chunk([]openAIChoice{{Delta: object{}, Finish: &finish}}, nil)
	if p.counted {
		s.chunk([]openAIChoice{}, openAIUsageOf(a))
	}
	return append(s.events, script.Event("", []byte("[DONE]")))
}

// An openAIStream collects chunks.
type openAIStream struct {
	events  [][]byte
	head    openAIHead
	counted bool // each chunk has a member usage
}

func (s *openAIStream) delta(d ...member) {
	s.chunk([]openAIChoice{{Delta: object(d)}}, nil)
}

func (s *openAIStream) chunk(choices []openAIChoice, u *openAIUsage) {
	type plain struct {
		openAIHead
		Choices []openAIChoice `json:"choices"`
	}
	var doc any = plain{s.head, choices}
	if s.counted {
		doc = struct {
			plain
			Usage *openAIUsage `json:"usage"`
		}{plain{s.head, choices}, u}
	}
	s.events = append(s.events, script.Event("", compact(doc)))
}
