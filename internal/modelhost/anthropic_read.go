package modelhost

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rye-os/rye/agent/provider/script"

	"github.com/rye-os/rye/objects/expr"
)

// anthropicMembers are the members that a request may have (Anthropic Messages, version 2023-06-01,
// as of the Go SDK v1.84.0). The members that select another machine are left out: container,
// inference_geo.
var anthropicMembers = []string{
	"model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "temperature", "top_p", "top_k",
	"stop_sequences", "metadata", "thinking", "output_config", "service_tier", "cache_control", "speed", "diagnostics",
}

// readAnthropic reads a request to POST /v1/messages, and refuses a request that the service would
// refuse.
func readAnthropic(h http.Header, body any) (*prompt, *refusal) {
	if h.Get("anthropic-version") == "" {
		return nil, invalidRequest("anthropic-version: header is required")
	}
	p, err := anthropicPrompt(node{"", body})
	if err != nil {
		switch err.kind {
		case missing:
			return nil, invalidRequest("%s: Field required", err.path)
		case unknown:
			return nil, invalidRequest("%s: Extra inputs are not permitted", err.path)
		}
		return nil, invalidRequest("%s", err)
	}
	return p, nil
}

func anthropicPrompt(n node) (*prompt, *problem) {
	m, err := n.members(anthropicMembers...)
	if err != nil {
		return nil, err
	}
	p := &prompt{Prompt: script.Prompt{Format: script.Anthropic, Model: m.needText("model")}, stream: m.flag("stream")}
	m.need("max_tokens")
	p.maxOutput, _ = m.count("max_tokens", 1, maxTokens)
	m.number("temperature", 0, 1)
	m.number("top_p", 0, 1)
	m.count("top_k", 0, maxTokens)
	m.texts("stop_sequences")
	m.read("thinking", func(n node) *problem { return checkThinking(n, m, p.maxOutput) })
	s := newSumming(p.Format, p.Model)
	m.read("tools", func(n node) *problem { return p.readAnthropicTools(n, s) })
	m.read("tool_choice", p.checkToolChoice)
	m.read("system", func(n node) (err *problem) {
		p.System, err = readSystem(n, s)
		return err
	})
	messages := m.need("messages")
	if m.wrong != nil {
		return nil, m.wrong
	}
	if err := p.readAnthropicMessages(messages, s); err != nil {
		return nil, err
	}
	if keep, there, err := m.cacheControl(); err != nil {
		return nil, err
	} else if there {
		s.all[len(s.all)-1].write = keep
	}
	return p, p.finish(s, n)
}

// finish stores the sums. It refuses more than four cache marks.
func (p *prompt) finish(s *summing, n node) *problem {
	p.marks, p.Size, p.Seed = s.all, s.size, s.digest()
	kept := 0
	for _, m := range p.marks {
		if m.write != "" {
			kept++
		}
	}
	if kept > 4 {
		return node{"cache_control", nil}.bad("A maximum of 4 blocks with cache_control may be provided. Found %d.", kept)
	}
	return nil
}

func checkThinking(n node, request *members, most int64) *problem {
	m, err := n.members("type", "budget_tokens", "display")
	if err != nil {
		return err
	}
	m.needText("type")
	kind := m.oneOf("type", "enabled", "disabled", "adaptive")
	m.oneOf("display", "", "summarized", "omitted")
	budget, there := m.count("budget_tokens", 1024, maxTokens)
	switch {
	case m.wrong != nil:
		return m.wrong
	case there != (kind == "enabled"):
		return n.bad("budget_tokens is for enabled thinking, and needed there")
	case there && budget >= most:
		return node{"max_tokens", nil}.bad("must be greater than thinking.budget_tokens")
	}
	if t, ok := request.get("temperature"); ok && kind != "disabled" {
		if f, _ := expr.Number(t.v); f != 1 {
			return t.bad("may only be set to 1 when thinking is enabled")
		}
	}
	return nil
}

// cacheControl reads the member cache_control of an object.
func (m *members) cacheControl() (keep string, there bool, _ *problem) {
	n, there := m.get("cache_control")
	if !there {
		return "", false, nil
	}
	c, err := n.members("type", "ttl")
	if err != nil {
		return "", false, err
	}
	c.needText("type")
	c.oneOf("type", "ephemeral")
	return c.oneOf("ttl", "5m", "1h"), true, c.wrong
}

func (p *prompt) readAnthropicTools(n node, s *summing) *problem {
	list, err := n.list()
	if err != nil {
		return err
	}
	for _, n := range list {
		m, err := n.members("name", "description", "input_schema", "type", "strict", "cache_control",
			"eager_input_streaming", "defer_loading", "allowed_callers", "input_examples")
		if err != nil {
			return err
		}
		name := m.needText("name")
		m.checkName("name", name, 128)
		m.text("description")
		m.oneOf("type", "custom")
		if slices.Contains(p.Tools, name) {
			m.fail(node{"tools", nil}.bad("Tool names must be unique."))
		}
		p.Tools = append(p.Tools, name)
		schema := m.need("input_schema")
		keep, _, err := m.cacheControl()
		if m.wrong == nil {
			m.wrong = checkSchema(schema)
		}
		if m.wrong == nil {
			m.wrong = err
		}
		if m.wrong != nil {
			return m.wrong
		}
		s.addKept(n.v, keep)
	}
	return nil
}

// checkSchema applies the checks of both services to the schema of a tool's arguments.
func checkSchema(n node) *problem {
	m, err := n.members()
	if err != nil {
		return err
	}
	m.needText("type")
	m.oneOf("type", "object")
	return m.wrong
}

func (p *prompt) checkToolChoice(n node) *problem {
	m, err := n.members("type", "name", "disable_parallel_tool_use")
	if err != nil {
		return err
	}
	m.needText("type")
	kind := m.oneOf("type", "auto", "any", "tool", "none")
	name := m.text("name")
	m.flag("disable_parallel_tool_use")
	switch {
	case m.wrong != nil:
		return m.wrong
	case (name != "") != (kind == "tool"):
		return n.bad("name is for the type tool, and needed there")
	case name != "" && !slices.Contains(p.Tools, name):
		return n.bad("Tool '%s' not found in provided tools", name)
	case len(p.Tools) == 0 && kind != "none":
		return n.bad("may only be specified while providing `tools`.")
	}
	return nil
}

func readSystem(n node, s *summing) (string, *problem) {
	if text, ok := n.v.(string); ok {
		s.add(map[string]any{"type": "text", "text": text})
		return text, nil
	}
	list, err := n.list()
	if err != nil {
		return "", err
	}
	var texts []string
	for _, n := range list {
		m, err := n.members("type", "text", "cache_control", "citations")
		if err != nil {
			return "", err
		}
		m.needText("type")
		m.oneOf("type", "text")
		texts = append(texts, m.needText("text"))
		keep, _, err := m.cacheControl()
		if m.wrong == nil {
			m.wrong = err
		}
		if m.wrong != nil {
			return "", m.wrong
		}
		s.addKept(n.v, keep)
	}
	return strings.Join(texts, "\n"), nil
}

func (p *prompt) readAnthropicMessages(n node, s *summing) *problem {
	list, err := n.list()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return n.bad("at least one message is required")
	}
	a := anthropicTalk{p: p, s: s, seen: map[string]bool{}}
	for i, n := range list {
		if err := a.message(n); err != nil {
			return err
		}
		if err := a.pairs(i, n); err != nil {
			return err
		}
	}
	if last := p.Messages[len(p.Messages)-1]; last.Role == "assistant" {
		return n.bad("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

// An anthropicTalk reads the messages of one request.
type anthropicTalk struct {
	p    *prompt
	s    *summing
	seen map[string]bool // ids of calls
}

func (a *anthropicTalk) message(n node) *problem {
	m, err := n.members("role", "content")
	if err != nil {
		return err
	}
	m.needText("role")
	out := script.Message{Role: m.oneOf("role", "user", "assistant")}
	content := m.need("content")
	if m.wrong != nil {
		return m.wrong
	}
	if text, ok := content.v.(string); ok {
		content.v = []any{map[string]any{"type": "text", "text": text}}
	}
	blocks, err := content.list()
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		return n.bad("all messages must have non-empty content")
	}
	a.s.add(out.Role)
	var texts []string
	for _, b := range blocks {
		text, keep, err := a.block(b, &out)
		if err != nil {
			return err
		}
		if text != "" {
			texts = append(texts, text)
		}
		a.s.addKept(b.v, keep)
	}
	out.Text = strings.Join(texts, "\n")
	a.p.Messages = append(a.p.Messages, out)
	return nil
}

// block reads a content block into out, or returns its text.
func (a *anthropicTalk) block(n node, out *script.Message) (text, keep string, _ *problem) {
	m, err := n.members()
	if err != nil {
		return "", "", err
	}
	kind := m.needText("type")
	if m.wrong != nil {
		return "", "", m.wrong
	}
	read, ok := anthropicBlocks[kind]
	if !ok || read.role != "" && read.role != out.Role {
		return "", "", n.bad("%q is not a content block that the mock knows in a message of the role %s", kind, out.Role)
	}
	if m, err = n.members(append([]string{"type"}, read.members...)...); err != nil {
		return "", "", err
	}
	if text, err = read.read(a, m, out); err == nil {
		err = m.wrong
	}
	if err == nil && slices.Contains(read.members, "cache_control") {
		keep, _, err = m.cacheControl()
	}
	return text, keep, err
}

type blockReader struct {
	role    string // "" means either
	members []string
	read    func(a *anthropicTalk, m *members, out *script.Message) (string, *problem)
}

var anthropicBlocks = map[string]blockReader{
	"text": {"", []string{"text", "cache_control", "citations"}, func(_ *anthropicTalk, m *members, _ *script.Message) (string, *problem) {
		text := m.text("text")
		if text == "" {
			return "", node{"messages", nil}.bad("text content blocks must be non-empty")
		}
		return text, nil
	}},
	"image":    {"user", []string{"source", "cache_control"}, needSource},
	"document": {"user", []string{"source", "cache_control", "title", "context", "citations"}, needSource},
	"thinking": {"assistant", []string{"thinking", "signature"}, func(_ *anthropicTalk, m *members, _ *script.Message) (string, *problem) {
		m.need("thinking")
		if text, sum := m.text("thinking"), m.needText("signature"); m.wrong == nil && sum != script.Signature(text) {
			return "", m.bad("Invalid `signature` in `thinking` block")
		}
		return "", nil
	}},
	"redacted_thinking": {"assistant", []string{"data"}, func(_ *anthropicTalk, m *members, _ *script.Message) (string, *problem) {
		m.needText("data")
		return "", nil
	}},
	"tool_use":    {"assistant", []string{"id", "name", "input", "cache_control", "caller"}, (*anthropicTalk).toolUse},
	"tool_result": {"user", []string{"tool_use_id", "content", "is_error", "cache_control"}, (*anthropicTalk).toolResult},
}

func needSource(_ *anthropicTalk, m *members, _ *script.Message) (string, *problem) {
	_, err := m.need("source").members()
	return "", err
}

func (a *anthropicTalk) toolUse(m *members, out *script.Message) (string, *problem) {
	id, name := m.needText("id"), m.needText("name")
	m.checkName("id", id, 256)
	m.checkName("name", name, 200)
	input := m.need("input")
	if m.wrong != nil {
		return "", m.wrong
	}
	if _, err := input.members(); err != nil {
		return "", err
	}
	if a.seen[id] {
		return "", node{"messages", nil}.bad("`tool_use` ids must be unique")
	}
	a.seen[id] = true
	if len(a.p.Tools) == 0 {
		return "", node{"tools", nil}.bad("Requests which include `tool_use` or `tool_result` blocks must define tools")
	}
	out.Calls = append(out.Calls, script.Call{ID: id, Name: name})
	return "", nil
}

func (a *anthropicTalk) toolResult(m *members, out *script.Message) (string, *problem) {
	r := script.Result{ID: m.needText("tool_use_id"), Failed: m.flag("is_error")}
	if m.wrong != nil {
		return "", m.wrong
	}
	var err *problem
	if n, ok := m.get("content"); ok {
		r.Text, err = resultText(n)
	}
	out.Results = append(out.Results, r)
	return "", err
}

// resultText returns the text of a tool's result, which is a text or a list of blocks. It skips
// blocks that are not text.
func resultText(n node) (string, *problem) {
	if s, ok := n.v.(string); ok {
		return s, nil
	}
	list, err := n.list()
	if err != nil {
		return "", err
	}
	var texts []string
	for _, n := range list {
		m, err := n.members()
		if err != nil {
			return "", err
		}
		if m.needText("type") == "text" {
			texts = append(texts, m.text("text"))
		}
		if m.wrong != nil {
			return "", m.wrong
		}
	}
	return strings.Join(texts, "\n"), nil
}

// pairs checks that message i alternates with the one before it and answers its calls.
func (a *anthropicTalk) pairs(i int, n node) *problem {
	this := &a.p.Messages[i]
	top := node{"messages", nil}
	if i == 0 {
		if this.Role != "user" {
			return top.bad("first message must use the \"user\" role")
		}
		if len(this.Results) > 0 {
			return unexpectedResult(n, this.Results[0].ID)
		}
		return nil
	}
	before := a.p.Messages[i-1]
	if before.Role == this.Role {
		return top.bad("roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", this.Role)
	}
	open := map[string]string{}
	for _, c := range before.Calls {
		open[c.ID] = c.Name
	}
	for k := range this.Results {
		r := &this.Results[k]
		name, ok := open[r.ID]
		if !ok {
			return unexpectedResult(n, r.ID)
		}
		r.Name = name
		delete(open, r.ID)
	}
	var lost []string
	for _, c := range before.Calls {
		if _, ok := open[c.ID]; ok {
			lost = append(lost, c.ID)
		}
	}
	if len(lost) > 0 || !resultsFirst(n, len(this.Results)) {
		return node{fmt.Sprintf("messages.%d", i-1), nil}.bad("`tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
			"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(lost, ", "))
	}
	return nil
}

func unexpectedResult(n node, id string) *problem {
	return n.bad("unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
		"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", id)
}

// resultsFirst reports whether the n results of a message come before its other blocks.
func resultsFirst(message node, n int) bool {
	m, _ := message.v.(map[string]any)
	blocks, _ := m["content"].([]any)
	for i := range n {
		b, _ := blocks[i].(map[string]any)
		if b["type"] != "tool_result" {
			return false
		}
	}
	return true
}
