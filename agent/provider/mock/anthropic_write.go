package mock

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// piece is the number of bytes of generated text in one event, and argument the number of bytes of
// a call's arguments.
const (
	piece    = 4096
	argument = 24
)

type anthropicUsage struct {
	Input      int64          `json:"input_tokens"`
	CacheWrite int64          `json:"cache_creation_input_tokens"`
	CacheRead  int64          `json:"cache_read_input_tokens"`
	Kept       *anthropicKept `json:"cache_creation,omitempty"`
	Output     int64          `json:"output_tokens"`
	Details    *thought       `json:"output_tokens_details,omitempty"`
	Tier       string         `json:"service_tier,omitempty"`
}

type anthropicKept struct {
	Five int64 `json:"ephemeral_5m_input_tokens"`
	Hour int64 `json:"ephemeral_1h_input_tokens"`
}

type thought struct {
	Tokens int64 `json:"thinking_tokens"`
}

// anthropicUsage returns the usage as the service counts it: thinking is part of the output, and
// cached tokens are not part of the input.
func (a *answer) anthropicUsage() anthropicUsage {
	u := a.usage
	out := anthropicUsage{Input: u.Input, CacheWrite: u.CacheWrite + u.CacheLong, CacheRead: u.CacheRead, Output: u.Output + u.Reasoning}
	if u.Reasoning > 0 {
		out.Details = &thought{u.Reasoning}
	}
	return out
}

// total adds the members that only a whole message and the beginning of a stream have.
func (u anthropicUsage) total(a *answer) anthropicUsage {
	u.Kept, u.Tier = &anthropicKept{a.usage.CacheWrite, a.usage.CacheLong}, "standard"
	return u
}

var anthropicStops = map[string]string{"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}

type anthropicMessage struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Role    string         `json:"role"`
	Model   string         `json:"model"`
	Content []any          `json:"content"`
	Stop    *string        `json:"stop_reason"`
	Word    *string        `json:"stop_sequence"`
	Usage   anthropicUsage `json:"usage"`
}

type (
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	toolBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
)

func (a *answer) anthropicMessage() anthropicMessage {
	return anthropicMessage{ID: a.id("msg_"), Type: "message", Role: "assistant", Model: a.model, Content: []any{}, Usage: a.anthropicUsage().total(a)}
}

// wholeAnthropic sends the answer as one document.
func (a *answer) wholeAnthropic(b *body) error {
	m := a.anthropicMessage()
	stop := anthropicStops[a.stop]
	m.Stop = &stop
	if text := strings.Join(a.think, ""); text != "" {
		m.Content = append(m.Content, thinkingBlock{"thinking", text, signature(text)})
	}
	if text := a.text(); text != "" {
		m.Content = append(m.Content, textBlock{"text", text})
	}
	for _, c := range a.calls {
		m.Content = append(m.Content, toolBlock{"tool_use", c.id, c.name, json.RawMessage(c.args)})
	}
	return b.whole(m, a.mark(), a.bytes)
}

// text returns the text of the answer, with a mark at the place of generated text.
func (a *answer) text() string {
	text := strings.Join(a.say, "")
	if a.bytes > 0 {
		text += a.mark()
	}
	return text
}

func (a *answer) mark() string { return a.digest + a.digest }

// streamAnthropic sends the answer as events, and a failure as the last of them.
func (a *answer) streamAnthropic(b *body, failed *refusal) error {
	if err := b.begin(eventStream); err != nil {
		return err
	}
	s := anthropicStream{b: b}
	m := a.anthropicMessage()
	m.Usage.Output, m.Usage.Details = 1, nil
	s.send("message_start", member{"message", m})
	s.send("ping")
	a.blocks(&s)
	switch {
	case s.err != nil:
		return s.err
	case failed != nil:
		if err := b.event("error", failed.anthropic()); err != nil {
			return err
		}
		return b.end()
	}
	s.send("message_delta", member{"delta", object{{"stop_reason", anthropicStops[a.stop]}, {"stop_sequence", nil}}}, member{"usage", a.anthropicUsage()})
	s.send("message_stop")
	if s.err != nil {
		return s.err
	}
	return b.end()
}

func (a *answer) blocks(s *anthropicStream) {
	if len(a.think) > 0 {
		s.open(thinkingBlock{Type: "thinking"})
		for _, t := range a.think {
			s.delta("thinking_delta", "thinking", t)
		}
		s.delta("signature_delta", "signature", signature(strings.Join(a.think, "")))
		s.close()
	}
	if len(a.say) > 0 || a.bytes > 0 {
		s.open(textBlock{Type: "text"})
		for _, t := range a.say {
			s.delta("text_delta", "text", t)
		}
		if s.err == nil {
			s.err = generate(a.bytes, piece, func(t []byte) error { s.delta("text_delta", "text", string(t)); return s.err })
		}
		s.close()
	}
	for _, c := range a.calls {
		s.open(toolBlock{"tool_use", c.id, c.name, json.RawMessage("{}")})
		s.delta("input_json_delta", "partial_json", "") // as the service begins; a call without arguments sends nothing else
		if c.args != "{}" {
			for _, t := range split(c.args, argument) {
				s.delta("input_json_delta", "partial_json", t)
			}
		}
		s.close()
	}
}

// split cuts a text into pieces of about size bytes, never inside a character.
func split(s string, size int) (out []string) {
	for len(s) > size {
		n := size
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out, s = append(out, s[:n]), s[n:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// An anthropicStream sends events; after an error it sends nothing more.
type anthropicStream struct {
	b     *body
	index int // of the block that is open
	err   error
}

// send sends an event; its data begins with the event's name as the type.
func (s *anthropicStream) send(name string, data ...member) {
	if s.err == nil {
		s.err = s.b.event(name, append(object{{"type", name}}, data...))
	}
}

func (s *anthropicStream) open(block any) {
	s.send("content_block_start", member{"index", s.index}, member{"content_block", block})
}

func (s *anthropicStream) delta(kind, name, text string) {
	s.send("content_block_delta", member{"index", s.index}, member{"delta", object{{"type", kind}, {name, text}}})
}

func (s *anthropicStream) close() {
	s.send("content_block_stop", member{"index", s.index})
	s.index++
}
