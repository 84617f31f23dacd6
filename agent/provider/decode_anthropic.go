package provider

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/rye-os/rye/internal/words"
)

// anthropicDecoder reads answers of the Messages API. An answer is a list of typed blocks; each
// block begins, grows by deltas, and ends.
type anthropicDecoder struct {
	answer
	started bool
	blocks  map[int64]*block
	order   []*block
	drained bool // message_delta arrived
}

// block is one block of an unfinished answer.
type block struct {
	kind      string
	text      []byte // of text and thinking; for a call, its arguments
	signature []byte
	id, name  string
	raw       json.RawMessage // as it began, for kinds that arrive in one piece
	closed    bool
}

type anthropicEvent struct {
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message"`
	Index   int64             `json:"index"`
	Block   json.RawMessage   `json:"content_block"`
	Delta   struct {
		Type       string  `json:"type"`
		Text       string  `json:"text"`
		Thinking   string  `json:"thinking"`
		Signature  string  `json:"signature"`
		Partial    string  `json:"partial_json"`
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
}

type anthropicMessage struct {
	Type       string            `json:"type"`
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason *string           `json:"stop_reason"`
	Usage      json.RawMessage   `json:"usage"`
}

func (d *anthropicDecoder) event(data []byte) (done bool, err error) {
	var ev anthropicEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) && !known[ev.Type] && ev.Type != "" {
			return false, nil // an unknown kind of event may hold anything
		}
		return false, broken("has an event that is not valid JSON: %s", jsonFault(err))
	}
	if ev.Type == "error" {
		v, _ := decodeAny(data)
		return true, d.fail(v)
	}
	if !known[ev.Type] {
		return false, nil
	}
	if ev.Type != "message_start" && !d.started {
		return false, broken("begins with %q", words.Brief(ev.Type))
	}
	switch ev.Type {
	case "message_start":
		return false, d.start(&ev)
	case "content_block_start":
		return false, d.open(ev.Index, ev.Block)
	case "content_block_delta":
		return false, d.more(&ev)
	case "content_block_stop":
		b := d.blocks[ev.Index]
		if b == nil {
			return false, broken("ends block %d, which never began", ev.Index)
		}
		b.closed = true
	case "message_delta":
		if ev.Delta.StopReason != nil {
			d.word = *ev.Delta.StopReason
		}
		d.drained = true
		return false, d.count(ev.Usage)
	case "message_stop":
		if !d.drained {
			return false, broken("ends without a stop reason")
		}
		return true, nil
	}
	return false, nil
}

var known = map[string]bool{"message_start": true, "content_block_start": true, "content_block_delta": true,
	"content_block_stop": true, "message_delta": true, "message_stop": true}

func (d *anthropicDecoder) start(ev *anthropicEvent) error {
	if d.started || ev.Message == nil {
		return broken("begins twice, or without a message")
	}
	d.started, d.began = true, true
	return d.message(ev.Message)
}

// message reads the properties of a message, and the blocks that it begins with.
func (d *anthropicDecoder) message(m *anthropicMessage) error {
	d.model, d.id = m.Model, m.ID
	if m.StopReason != nil {
		d.word = *m.StopReason
	}
	for i, raw := range m.Content {
		if err := d.open(int64(i), raw); err != nil {
			return err
		}
		d.blocks[int64(i)].closed = true
	}
	return d.count(m.Usage)
}

func (d *anthropicDecoder) open(index int64, raw json.RawMessage) error {
	var c struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	if d.blocks[index] != nil {
		return broken("begins block %d twice", index)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return broken("has a block that is not valid JSON: %s", jsonFault(err))
	}
	b := &block{kind: c.Type}
	size := perPart
	switch c.Type {
	case "text":
		b.text = []byte(c.Text)
		d.say(Delta{Text: c.Text})
	case "thinking":
		b.text, b.signature = []byte(c.Thinking), []byte(c.Signature)
		d.say(Delta{Reasoning: c.Thinking})
	case "tool_use":
		if c.Name == "" {
			return broken("has a call without a name")
		}
		b.id, b.name = d.callID(c.ID), c.Name
		if in := bytes.TrimSpace(c.Input); string(in) != "null" && string(in) != "{}" {
			b.text = in
		}
		size += len(b.id) + len(b.name)
		d.say(Delta{CallID: b.id, CallName: b.name})
	default:
		if d.p.echoed(c.Type) {
			b.raw = bytes.Clone(raw)
		}
	}
	d.blocks[index] = b
	d.order = append(d.order, b)
	return d.keep(size + len(b.text) + len(b.signature) + len(b.raw))
}

func (d *anthropicDecoder) more(ev *anthropicEvent) error {
	b := d.blocks[ev.Index]
	if b == nil || b.closed {
		return broken("continues block %d, which is not open", ev.Index)
	}
	piece := ""
	switch x := &ev.Delta; {
	case x.Type == "text_delta" && b.kind == "text":
		piece = x.Text
		d.say(Delta{Text: piece})
	case x.Type == "thinking_delta" && b.kind == "thinking":
		piece = x.Thinking
		d.say(Delta{Reasoning: piece})
	case x.Type == "signature_delta" && b.kind == "thinking":
		b.signature = append(b.signature, x.Signature...)
		return d.keep(len(x.Signature))
	case x.Type == "input_json_delta" && b.kind == "tool_use":
		piece = x.Partial
	default: // citations and unknown kinds
		return nil
	}
	b.text = append(b.text, piece...)
	return d.keep(len(piece))
}

func (d *anthropicDecoder) whole(body []byte) error {
	var m anthropicMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return broken("is not valid JSON: %s", jsonFault(err))
	}
	if m.Type == "error" {
		v, _ := decodeAny(body)
		return d.fail(v)
	}
	if m.Type != "message" || m.StopReason == nil {
		return broken("is not a complete message")
	}
	d.started, d.began = true, true
	return d.message(&m)
}

func (d *anthropicDecoder) parts() (out []Part, err error) {
	for _, b := range d.order {
		switch b.kind {
		case "text":
			if len(b.text) > 0 {
				out = append(out, Part{Text: string(b.text)})
			}
		case "tool_use":
			c := &Call{ID: b.id, Name: b.name}
			c.Args, c.Bad = argsOf(string(b.text))
			out = append(out, Part{Call: c})
		case "thinking":
			if !d.p.echoed("thinking") || len(b.signature) == 0 {
				continue // the provider would refuse it without its signature
			}
			w := &writer{}
			w.open('{')
			w.textMember("type", "thinking")
			w.textMember("thinking", string(b.text))
			w.textMember("signature", string(b.signature))
			w.close('}')
			out = append(out, d.opaque(w.b, string(b.text)))
		default:
			if b.raw != nil {
				out = append(out, d.opaque(b.raw, ""))
			}
		}
	}
	return out, nil
}

func (a *answer) opaque(raw json.RawMessage, text string) Part {
	return Part{Opaque: &Opaque{Provider: a.p.ID, Model: a.m.ID, Raw: raw, Text: text}}
}
