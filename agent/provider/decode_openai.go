package provider

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rye-os/rye/internal/words"
)

// openaiDecoder reads answers of the Chat Completions API, and of the many servers that follow it
// more or less exactly.
type openaiDecoder struct {
	answer
	text     []byte
	thoughts []byte
	fields   map[string]json.RawMessage // opaque members that are not texts
	texts    map[string][]byte          // opaque members that are texts
	list     []*openCall
	byIndex  map[int64]*openCall
	finished bool
}

type openCall struct {
	id, sent, name string // sent is the id as received
	args           []byte
	said           bool
}

type openaiChunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Index   int64                      `json:"index"`
		Delta   map[string]json.RawMessage `json:"delta"`
		Message map[string]json.RawMessage `json:"message"`
		Finish  *string                    `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (d *openaiDecoder) event(data []byte) (done bool, err error) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		if !d.finished {
			return false, broken("ends without a stop reason")
		}
		return true, nil
	}
	return false, d.chunk(data, false)
}

func (d *openaiDecoder) whole(body []byte) error {
	if err := d.chunk(body, true); err != nil {
		return err
	}
	if !d.finished {
		return broken("is not a complete message")
	}
	return nil
}

func (d *openaiDecoder) chunk(data []byte, whole bool) error {
	var c openaiChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return broken("has a chunk that is not valid JSON: %s", jsonFault(err))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		v, _ := decodeAny(data)
		return d.fail(v)
	}
	if c.Model != "" {
		d.model = c.Model
	}
	if c.ID != "" {
		d.id = c.ID
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // the request asked for only one choice
		}
		d.began = true
		piece := choice.Delta
		if whole {
			piece = choice.Message
		}
		if err := d.piece(piece, whole); err != nil {
			return err
		}
		if choice.Finish != nil && *choice.Finish != "" {
			d.word, d.finished = *choice.Finish, true
		}
	}
	return d.count(c.Usage)
}

// piece reads one delta, or a whole message.
func (d *openaiDecoder) piece(m map[string]json.RawMessage, whole bool) error {
	text, err := textOrParts(m["content"])
	if err != nil {
		return err
	}
	refusal, err := textOrParts(m["refusal"])
	if err != nil {
		return err
	}
	if refusal != "" {
		d.refused = true
	}
	d.say(Delta{Text: text + refusal})
	d.text = append(append(d.text, text...), refusal...)
	if err := d.keep(len(text) + len(refusal)); err != nil {
		return err
	}
	for _, name := range d.p.echo {
		if err := d.field(name, m[name]); err != nil {
			return err
		}
	}
	raw := m["tool_calls"]
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var frags []fragment
	if err := json.Unmarshal(raw, &frags); err != nil {
		return broken("has calls that are not valid JSON: %s", jsonFault(err))
	}
	for _, f := range frags {
		if err := d.fragment(f, whole); err != nil {
			return err
		}
	}
	return nil
}

// textOrParts reads a text; some servers send it as a list of parts.
func textOrParts(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", broken("has a text that is not a string: %s", jsonFault(err))
	}
	var b strings.Builder
	for _, part := range parts {
		if part.Type == "text" {
			b.WriteString(part.Text)
		}
	}
	return b.String(), nil
}

// field collects an opaque member: texts and lists grow, any other value is replaced.
func (d *openaiDecoder) field(name string, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if d.texts == nil {
			d.texts = map[string][]byte{}
		}
		d.texts[name] = append(d.texts[name], s...)
		d.thoughts = append(d.thoughts, s...)
		d.say(Delta{Reasoning: s})
		return d.keep(2 * len(s))
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return broken("has a %s that is not JSON", words.Brief(name))
	}
	raw = b.Bytes()
	old := d.fields[name]
	if len(old) > 2 && old[0] == '[' && len(raw) > 2 && raw[0] == '[' {
		old = append(append(old[:len(old)-1], ','), raw[1:]...)
		d.fields[name] = old
	} else if len(old) == 0 || raw[0] != '[' {
		d.fields[name] = raw
	}
	return d.keep(len(raw))
}

// fragment is a piece of a call. Its index identifies the call. Its id does so if a server leaves
// out the index or gives every call the same index.
type fragment struct {
	Index    *int64 `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (d *openaiDecoder) fragment(f fragment, whole bool) error {
	c := d.callOf(f, whole)
	if c == nil {
		if len(f.Function.Args) == 0 && f.ID == "" && f.Function.Name == "" && f.Index == nil {
			return nil
		}
		c = &openCall{sent: f.ID, id: d.callID(f.ID)}
		d.list = append(d.list, c)
		if err := d.keep(perPart + len(c.id)); err != nil {
			return err
		}
	}
	if f.Index != nil {
		d.byIndex[*f.Index] = c
	}
	if c.name == "" {
		c.name = f.Function.Name
	}
	if c.name != "" && !c.said {
		c.said = true
		d.say(Delta{CallID: c.id, CallName: c.name})
	}
	args := f.Function.Args
	if len(args) == 0 || string(args) == "null" {
		return nil
	}
	var s string
	if json.Unmarshal(args, &s) != nil {
		s = string(args) // an object instead of its text
	}
	c.args = append(c.args, s...)
	return d.keep(len(s))
}

// callOf returns the call that a fragment continues; nil when it begins one.
func (d *openaiDecoder) callOf(f fragment, whole bool) *openCall {
	if whole {
		return nil
	}
	if f.Index != nil {
		c := d.byIndex[*f.Index]
		if c != nil && f.ID != "" && f.ID != c.sent && f.Function.Name != "" {
			return nil // another call with the same index
		}
		return c
	}
	if f.ID != "" {
		for _, c := range d.list {
			if c.sent == f.ID {
				return c
			}
		}
		return nil
	}
	if f.Function.Name != "" || len(d.list) == 0 {
		return nil
	}
	return d.list[len(d.list)-1]
}

func (d *openaiDecoder) parts() (out []Part, err error) {
	if raw := d.opaqueFields(); raw != nil {
		out = append(out, d.opaque(raw, string(d.thoughts)))
	}
	if len(d.text) > 0 {
		out = append(out, Part{Text: string(d.text)})
	}
	for _, c := range d.list {
		if c.name == "" {
			return nil, broken("has a call (%s) without a name", words.Brief(c.id))
		}
		call := &Call{ID: c.id, Name: c.name}
		call.Args, call.Bad = argsOf(string(c.args))
		out = append(out, Part{Call: call})
	}
	return out, nil
}

// opaqueFields returns an object of the members that are sent back, in the order of the item.
func (d *openaiDecoder) opaqueFields() []byte {
	w := &writer{}
	w.open('{')
	some := false
	for _, name := range d.p.echo {
		if s, ok := d.texts[name]; ok {
			w.textMember(name, string(s))
			some = true
		} else if raw, ok := d.fields[name]; ok {
			w.member(name, raw)
			some = true
		}
	}
	if !some {
		return nil
	}
	w.close('}')
	return w.b
}
