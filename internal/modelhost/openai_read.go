package modelhost

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rye-os/rye/agent/provider/script"
)

// openAIMembers are the members that a request may have (OpenAI Chat Completions, as of the Go SDK
// v3.96.0). The members for audio, search and the old functions are left out.
var openAIMembers = []string{
	"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "max_tokens", "max_completion_tokens",
	"temperature", "top_p", "n", "stop", "seed", "store", "metadata", "user", "safety_identifier", "response_format", "reasoning_effort",
	"verbosity", "service_tier", "prompt_cache_key", "prompt_cache_retention", "frequency_penalty", "presence_penalty", "logit_bias",
	"logprobs", "top_logprobs", "modalities", "prediction", "prompt_cache_options", "moderation",
}

// readOpenAI reads a request to POST /v1/chat/completions, and refuses a request that the service
// would refuse.
func readOpenAI(_ http.Header, body any) (*prompt, *refusal) {
	p, err := openAIPrompt(node{"", body})
	if err == nil {
		return p, nil
	}
	r := invalidRequest("Invalid value for '%s': %s", err.path, err.says)
	r.param = err.path
	switch err.kind {
	case missing:
		r.message, r.code = fmt.Sprintf("Missing required parameter: '%s'.", err.path), "missing_required_parameter"
	case unknown:
		r.message, r.code = fmt.Sprintf("Unknown parameter: '%s'.", err.path), "unknown_parameter"
	}
	return nil, r
}

func openAIPrompt(n node) (*prompt, *problem) {
	m, err := n.members(openAIMembers...)
	if err != nil {
		return nil, err
	}
	p := &prompt{Prompt: script.Prompt{Format: script.OpenAI, Model: m.needText("model")}, stream: m.flag("stream")}
	p.maxOutput, _ = m.count("max_completion_tokens", 1, maxTokens)
	if old, there := m.count("max_tokens", 1, maxTokens); there {
		if p.maxOutput != 0 {
			m.fail(node{"max_tokens", nil}.bad("cannot be combined with max_completion_tokens"))
		}
		p.maxOutput = old
	}
	m.number("temperature", 0, 2)
	m.number("top_p", 0, 1)
	m.count("n", 1, 1)
	m.flag("parallel_tool_calls")
	m.read("stream_options", p.readStreamOptions)
	s := newSumming(p.Format, p.Model)
	m.read("tools", func(n node) *problem { return p.readOpenAITools(n, s) })
	m.read("tool_choice", p.checkOpenAIChoice)
	messages := m.need("messages")
	if m.wrong != nil {
		return nil, m.wrong
	}
	if err := p.readOpenAIMessages(messages, s); err != nil {
		return nil, err
	}
	for i := range s.all {
		s.all[i].write = "5m" // the service chooses for itself what to keep
	}
	p.marks, p.Size, p.Seed = s.all, s.size, s.digest()
	return p, nil
}

func (p *prompt) readStreamOptions(n node) *problem {
	if !p.stream {
		return n.bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	m, err := n.members("include_usage", "include_obfuscation")
	if err != nil {
		return err
	}
	p.counted = m.flag("include_usage")
	m.flag("include_obfuscation")
	return m.wrong
}

func (p *prompt) readOpenAITools(n node, s *summing) *problem {
	list, err := n.list()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return n.bad("empty array. Expected an array with minimum length 1")
	}
	for _, n := range list {
		t, err := n.members("type", "function")
		if err != nil {
			return err
		}
		t.needText("type")
		t.oneOf("type", "function")
		f := t.need("function")
		if t.wrong != nil {
			return t.wrong
		}
		m, err := f.members("name", "description", "parameters", "strict")
		if err != nil {
			return err
		}
		name := m.needText("name")
		m.checkName("name", name, 64)
		m.text("description")
		m.flag("strict")
		if slices.Contains(p.Tools, name) {
			m.fail(n.bad("the name %q was given before", name))
		}
		m.read("parameters", checkSchema)
		if m.wrong != nil {
			return m.wrong
		}
		p.Tools = append(p.Tools, name)
		s.add(n.v)
	}
	return nil
}

func (p *prompt) checkOpenAIChoice(n node) *problem {
	if len(p.Tools) == 0 {
		return n.bad("'tool_choice' is only allowed when 'tools' are specified.")
	}
	if s, ok := n.v.(string); ok {
		if !slices.Contains([]string{"none", "auto", "required"}, s) {
			return n.bad("%q is none of none, auto and required", s)
		}
		return nil
	}
	m, err := n.members("type", "function")
	if err != nil {
		return err
	}
	m.needText("type")
	m.oneOf("type", "function")
	f := m.need("function")
	if m.wrong != nil {
		return m.wrong
	}
	g, err := f.members("name")
	if err != nil {
		return err
	}
	if name := g.needText("name"); g.wrong == nil && !slices.Contains(p.Tools, name) {
		return n.bad("Tool choice '%s' not found in 'tools' parameter.", name)
	}
	return g.wrong
}

func (p *prompt) readOpenAIMessages(n node, s *summing) *problem {
	list, err := n.list()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return n.bad("empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	t := openAITalk{p: p, open: map[string]string{}}
	for _, n := range list {
		if err := t.message(n); err != nil {
			return err
		}
		s.add(n.v)
	}
	return t.closed(n)
}

// An openAITalk reads the messages of one request.
type openAITalk struct {
	p      *prompt
	open   map[string]string // calls without an answer: id → name
	asked  []string          // their ids, in order
	system []string
}

func (t *openAITalk) message(n node) *problem {
	m, err := n.members("role", "content", "name", "refusal", "tool_calls", "tool_call_id", "reasoning_content")
	if err != nil {
		return err
	}
	m.needText("role")
	role := m.oneOf("role", "system", "developer", "user", "assistant", "tool")
	text := t.content(m, role)
	if m.wrong != nil {
		return m.wrong
	}
	if role != "tool" {
		if err := t.closed(n); err != nil {
			return err
		}
	}
	for _, x := range []struct{ name, of string }{
		{"tool_calls", "assistant"}, {"refusal", "assistant"}, {"reasoning_content", "assistant"}, {"tool_call_id", "tool"},
	} {
		if other, ok := m.get(x.name); ok && role != x.of {
			return other.bad("is for messages of the role %s", x.of)
		}
	}
	switch role {
	case "system", "developer":
		t.system = append(t.system, text)
		t.p.System = strings.Join(t.system, "\n")
	case "user":
		t.p.Messages = append(t.p.Messages, script.Message{Role: "user", Text: text})
	case "assistant":
		return t.assistant(m, text)
	case "tool":
		return t.result(m, text)
	}
	return nil
}

// content returns the text of a message. Only an assistant's message may lack it, if it has calls
// or a refusal.
func (t *openAITalk) content(m *members, role string) string {
	n, ok := m.get("content")
	if !ok {
		_, calls := m.get("tool_calls")
		_, refuses := m.get("refusal")
		if role != "assistant" || !calls && !refuses {
			m.fail(&problem{m.at("content"), missing, ""})
		}
		return ""
	}
	if s, ok := n.v.(string); ok {
		return s
	}
	list, err := n.list()
	if err != nil {
		m.fail(err)
	}
	var texts []string
	for _, n := range list {
		p, err := n.members("type", "text", "refusal", "image_url", "file")
		if err != nil {
			m.fail(err)
			return ""
		}
		if p.needText("type") == "text" {
			p.need("text")
			texts = append(texts, p.text("text"))
		}
		if p.wrong != nil {
			m.fail(p.wrong)
		}
	}
	return strings.Join(texts, "\n")
}

func (t *openAITalk) assistant(m *members, text string) *problem {
	out := script.Message{Role: "assistant", Text: text}
	m.read("tool_calls", func(n node) *problem {
		list, err := n.list()
		if err == nil && len(list) == 0 {
			err = n.bad("empty array. Expected an array with minimum length 1, but got an empty array instead.")
		}
		for _, n := range list {
			if err == nil {
				err = t.call(n, &out)
			}
		}
		return err
	})
	t.p.Messages = append(t.p.Messages, out)
	return m.wrong
}

func (t *openAITalk) call(n node, out *script.Message) *problem {
	m, err := n.members("id", "type", "function")
	if err != nil {
		return err
	}
	id := m.needText("id")
	m.needText("type")
	m.oneOf("type", "function")
	f := m.need("function")
	if m.wrong != nil {
		return m.wrong
	}
	g, err := f.members("name", "arguments")
	if err != nil {
		return err
	}
	name := g.needText("name")
	g.checkName("name", name, 64)
	g.need("arguments")
	g.text("arguments")
	if _, again := t.open[id]; again {
		g.fail(n.bad("the id %q was given before", id))
	}
	t.open[id] = name
	t.asked = append(t.asked, id)
	out.Calls = append(out.Calls, script.Call{ID: id, Name: name})
	return g.wrong
}

func (t *openAITalk) result(m *members, text string) *problem {
	id := m.needText("tool_call_id")
	if m.wrong != nil {
		return m.wrong
	}
	name, ok := t.open[id]
	if !ok {
		return m.bad("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
	}
	delete(t.open, id)
	r := script.Result{ID: id, Name: name, Text: text}
	if last := len(t.p.Messages) - 1; t.p.Messages[last].Role == "user" {
		t.p.Messages[last].Results = append(t.p.Messages[last].Results, r)
		return nil
	}
	t.p.Messages = append(t.p.Messages, script.Message{Role: "user", Results: []script.Result{r}})
	return nil
}

// closed checks that every call so far has an answer.
func (t *openAITalk) closed(n node) *problem {
	var lost []string
	for _, id := range t.asked {
		if _, ok := t.open[id]; ok {
			lost = append(lost, id)
		}
	}
	t.asked = nil
	if len(lost) == 0 {
		return nil
	}
	return n.bad("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
		"The following tool_call_ids did not have response messages: %s", strings.Join(lost, ", "))
}
