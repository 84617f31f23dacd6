package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// openai writes a request of the Chat Completions API, as documented by OpenAI and used by many
// other servers.
func (e *encoding) openai(w *writer) {
	e.head(w)
	if e.streamed() {
		w.member("stream", []byte("true"))
		if e.p.request.usage {
			w.member("stream_options", []byte(`{"include_usage":true}`))
		}
	}
	tools := e.openaiTools()
	if len(e.tools) > 0 && e.p.request.parallel != nil || len(e.tools) > 0 && !e.m.Supports.Parallel {
		w.member("parallel_tool_calls", []byte(map[bool]string{true: "false", false: "true"}[e.oneAtATime()]))
	}
	if e.p.caching.mode == "key" && e.m.Supports.Cache {
		sum := sha256.New()
		for _, part := range [][]byte{[]byte(e.m.ID), tools, []byte(e.q.System)} {
			sum.Write(part)
			sum.Write([]byte{0})
		}
		w.textMember(e.p.caching.key, "rye-"+hex.EncodeToString(sum.Sum(nil)[:16]))
	}
	if tools != nil {
		w.member("tools", tools)
	}
	w.name("messages")
	w.open('[')
	if e.q.System != "" {
		w.open('{')
		w.textMember("role", e.p.request.systemRole)
		w.textMember("content", e.q.System)
		w.close('}')
	}
	for _, msg := range e.messages {
		if msg.Role == Assistant {
			e.openaiAssistant(w, msg)
		} else {
			e.openaiUser(w, msg)
		}
	}
	w.close(']')
}

func (e *encoding) openaiTools() []byte {
	if len(e.tools) == 0 {
		return nil
	}
	w := &writer{}
	w.open('[')
	for _, t := range e.tools {
		w.open('{')
		w.textMember("type", "function")
		w.name("function")
		w.open('{')
		w.textMember("name", t.Name)
		if t.Description != "" {
			w.textMember("description", t.Description)
		}
		w.member("parameters", t.Schema)
		w.close('}')
		w.close('}')
	}
	w.close(']')
	return w.b
}

// openaiUser writes one message for each result, and then one for the text.
func (e *encoding) openaiUser(w *writer, msg Message) {
	for _, part := range msg.Parts {
		if part.Result == nil {
			continue
		}
		text := part.Result.Text
		if part.Result.Error { // the format has no member for errors
			text = "Error: " + text
		}
		w.open('{')
		w.textMember("role", "tool")
		w.textMember("tool_call_id", callID(part.Result.CallID))
		w.textMember("content", text)
		w.close('}')
	}
	if text := joined(msg.Parts); text != "" {
		w.open('{')
		w.textMember("role", "user")
		w.textMember("content", text)
		w.close('}')
	}
}

func joined(parts []Part) string {
	var texts []string
	for _, part := range parts {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func (e *encoding) openaiAssistant(w *writer, msg Message) {
	text, all := joined(msg.Parts), calls(msg.Parts)
	opaque := e.openaiOpaque(msg)
	w.open('{')
	w.textMember("role", "assistant")
	if text == "" && len(all) > 0 {
		w.member("content", []byte("null"))
	} else {
		w.textMember("content", text)
	}
	w.members(opaque)
	if len(all) > 0 {
		w.name("tool_calls")
		w.open('[')
		for _, c := range all {
			args, _ := compact(c.Args) // takeTurns has checked it
			w.open('{')
			w.textMember("id", callID(c.ID))
			w.textMember("type", "function")
			w.name("function")
			w.open('{')
			w.textMember("name", e.callName(c.Name))
			w.textMember("arguments", string(args))
			w.close('}')
			w.close('}')
		}
		w.close(']')
	}
	w.close('}')
}

// openaiOpaque returns the members of an answer that are sent back unchanged, in the order of the
// item. The later of two members with the same name wins.
func (e *encoding) openaiOpaque(msg Message) (out members) {
	have := map[string]json.RawMessage{}
	for _, part := range msg.Parts {
		if part.Opaque != nil {
			_ = json.Unmarshal(part.Opaque.Raw, &have) // an object: takeTurns has checked it
		}
	}
	for _, name := range e.p.echo {
		if raw, ok := have[name]; ok {
			out = append(out, member{name, raw})
		}
	}
	return out
}
