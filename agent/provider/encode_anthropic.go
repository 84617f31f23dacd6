package provider

import "slices"

// anthropic writes a request of the Messages API (anthropic-version 2023-06-01).
func (e *encoding) anthropic(w *writer) {
	e.head(w)
	if e.streamed() {
		w.member("stream", []byte("true"))
	}
	marks := e.p.caching
	if marks.mode != "breakpoints" || !e.m.Supports.Cache {
		marks = caching{}
	}
	if len(e.tools) > 0 {
		if e.oneAtATime() {
			w.member("tool_choice", []byte(`{"type":"auto","disable_parallel_tool_use":true}`))
		}
		w.name("tools")
		w.open('[')
		for i, t := range e.tools {
			w.open('{')
			w.textMember("name", t.Name)
			if t.Description != "" {
				w.textMember("description", t.Description)
			}
			w.member("input_schema", t.Schema)
			marks.mark(w, marks.tools && i == len(e.tools)-1)
			w.close('}')
		}
		w.close(']')
	}
	if e.q.System != "" {
		w.name("system")
		w.open('[')
		w.open('{')
		w.textMember("type", "text")
		w.textMember("text", e.q.System)
		marks.mark(w, marks.system)
		w.close('}')
		w.close(']')
	}
	w.name("messages")
	w.open('[')
	for i, msg := range e.messages {
		e.anthropicMessage(w, &marks, msg, len(e.messages)-i <= marks.last)
	}
	w.close(']')
}

// oneAtATime reports whether the request asks for at most one call in an answer.
func (e *encoding) oneAtATime() bool {
	return e.p.request.parallel != nil && !*e.p.request.parallel || !e.m.Supports.Parallel
}

// mark adds a cache mark to the end of a block: the prompt up to it may be read from the cache
// later.
func (c *caching) mark(w *writer, here bool) {
	switch {
	case !here:
	case c.ttl == "1h":
		w.member("cache_control", []byte(`{"type":"ephemeral","ttl":"1h"}`))
	default:
		w.member("cache_control", []byte(`{"type":"ephemeral"}`))
	}
}

func (e *encoding) anthropicMessage(w *writer, marks *caching, msg Message, mark bool) {
	last := -1 // the last block that may have a mark: a thinking block may not
	if mark {
		last = len(msg.Parts) - 1
		for last >= 0 && msg.Parts[last].Opaque != nil {
			last--
		}
	}
	w.open('{')
	w.textMember("role", msg.Role)
	w.name("content")
	w.open('[')
	for i, part := range msg.Parts {
		if part.Opaque != nil {
			w.raw(part.Opaque.Raw)
			continue
		}
		w.open('{')
		switch {
		case part.Call != nil:
			args, _ := compact(part.Call.Args) // takeTurns has checked it
			w.textMember("type", "tool_use")
			w.textMember("id", callID(part.Call.ID))
			w.textMember("name", e.callName(part.Call.Name))
			w.member("input", args)
		case part.Result != nil:
			w.textMember("type", "tool_result")
			w.textMember("tool_use_id", callID(part.Result.CallID))
			if part.Result.Error {
				w.member("is_error", []byte("true"))
			}
			w.textMember("content", part.Result.Text)
		default:
			w.textMember("type", "text")
			w.textMember("text", part.Text)
		}
		marks.mark(w, i == last)
		w.close('}')
	}
	w.close(']')
	w.close('}')
}

// echoed reports whether the item sends a kind of opaque part back.
func (p *Provider) echoed(kind string) bool { return slices.Contains(p.echo, kind) }
