package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/internal/modelhost"
)

// playedModel is a model that makes its calls one after another, and looks at each answer. While
// it waits for the next, a person answers the questions that its requests name.
type playedModel struct {
	t     *testing.T
	h     *home
	calls []modelCall
	name  string // what the client calls a tool

	mu       sync.Mutex
	seen     int   // answers looked at
	form     []any // how the client showed them
	answered map[string]bool
}

// A wireOf is how a service is spoken to: it returns how many answers to calls a request has,
// and the last of them, -1 for a request that is about something else; and it replies.
type wireOf struct {
	read  func(body map[string]any) (answers int, last any)
	reply http.HandlerFunc // gets the body again
}

func (s *playedModel) serve(w wireOf) (url string) {
	v := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, 32<<20))
		var body map[string]any
		if err == nil && len(raw) > 0 && json.Unmarshal(raw, &body) == nil {
			if n, last := w.read(body); n > 0 {
				s.look(n, last)
			}
		}
		r.Body = io.NopCloser(strings.NewReader(string(raw)))
		w.reply(rw, r)
	}))
	s.t.Cleanup(v.Close)
	return v.URL
}

// look checks the newest answer, and answers as the person what it says that they are asked.
func (s *playedModel) look(n int, last any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= s.seen || n > len(s.calls) {
		return // asked again, or more than the script knows
	}
	s.seen = n
	text := leaves(last)
	for _, want := range s.calls[n-1].sees {
		if !strings.Contains(text, want) {
			s.t.Errorf("%s, call %d: the model does not see %q in\n%.3000s", s.calls[n-1].tool, n, want, text)
		}
	}
	s.form = append(s.form, last)
	for _, m := range idIn.FindAllStringSubmatch(text, -1) {
		s.person(m[1])
	}
}

// person says yes to the first question, and no to the others.
func (s *playedModel) person(id string) {
	if s.answered[id] {
		return
	}
	if s.answered == nil {
		s.answered = map[string]bool{}
		if shown, exit := terminal(s.t, s.h, "[y/N]", "y\n", "approve", id); exit != 0 {
			s.t.Errorf("approve: %d, %s", exit, shown)
		}
	} else {
		s.h.rye("deny", id)
	}
	s.answered[id] = true
}

// call returns the call that comes after so many answers; none at the end.
func (s *playedModel) call(answers int) (name, args string, ok bool) {
	if answers >= len(s.calls) {
		return "", "", false
	}
	raw, err := json.Marshal(s.calls[answers].args)
	if err != nil {
		s.t.Error(err)
	}
	return fmt.Sprintf(s.name, s.calls[answers].tool), string(raw), true
}

func (s *playedModel) done() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen == len(s.calls)
}

// shown logs in which form the client gives its model an answer of two texts, and one of two
// texts and a link: each with its beginning and its end.
func (s *playedModel) shown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, of := range []string{1: "a text", 4: "a long text and its link"} {
		if of != "" && n < len(s.form) {
			s.t.Logf("%-14s   its model is shown of %s: %s", "MCP model", of, clipped(s.form[n]))
		}
	}
}

// clipped is a value as JSON, with the middle of its texts left out.
func clipped(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(clip(v))
	return strings.TrimSpace(b.String())
}

func clip(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > 260 {
			return v[:150] + " … " + v[len(v)-100:]
		}
	case []any:
		for i := range v {
			v[i] = clip(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = clip(v[k])
		}
	}
	return v
}

// leaves are all texts in a value, also in texts that are JSON themselves.
func leaves(v any) string {
	switch v := v.(type) {
	case string:
		var within any
		if json.Unmarshal([]byte(v), &within) == nil {
			return v + "\n" + leaves(within)
		}
		return v + "\n"
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(leaves(e))
		}
		return b.String()
	case map[string]any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(leaves(e))
		}
		return b.String()
	}
	return ""
}

// find returns the objects in a value that have this type.
func find(v any, kind string) (all []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			all = append(all, find(e, kind)...)
		}
	case map[string]any:
		if v["type"] == kind {
			return []map[string]any{v}
		}
		for _, name := range []string{"content", "parts"} {
			all = append(all, find(v[name], kind)...)
		}
	}
	return all
}

// newest is the count of objects, and a member of the last.
func newest(all []map[string]any, member string) (int, any) {
	if len(all) == 0 {
		return 0, nil
	}
	return len(all), all[len(all)-1][member]
}

// host plays the script strictly. What is not about the work gets a word.
func (s *playedModel) host() http.Handler {
	turns := []map[string]any{{"when": map[string]any{"contains": "You are a title generator"}, "say": "Work"}}
	for i := range s.calls {
		name, args, _ := s.call(i)
		turns = append(turns, map[string]any{"calls": []any{map[string]any{"name": name, "args": json.RawMessage(args)}}})
	}
	raw, err := json.Marshal(map[string]any{"turns": append(turns, map[string]any{"say": "Done."})})
	if err != nil {
		s.t.Fatal(err)
	}
	script, err := modelhost.Parse(raw)
	if err != nil {
		s.t.Fatal(err)
	}
	model := modelhost.New(script)
	s.t.Cleanup(func() {
		for _, r := range model.Requests() {
			if r.Status != 200 && r.Method == "POST" && s.t.Failed() {
				s.t.Logf("%s: %d: turn %d, %.600s … %s", r.Path, r.Status, r.Turn, r.Body, r.Body[max(0, len(r.Body)-300):])
			}
		}
	})
	return model
}

// anthropicWire is Anthropic Messages by the strict host, without what belongs to betas.
func anthropicWire(s *playedModel) wireOf {
	model := s.host()
	return wireOf{
		read: func(body map[string]any) (int, any) { return newest(find(body["messages"], "tool_result"), "content") },
		reply: func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			if raw, _ := io.ReadAll(r.Body); json.Unmarshal(raw, &body) == nil {
				delete(body, "context_management")
				var kept []any
				messages, _ := body["messages"].([]any)
				for _, m := range messages {
					if m.(map[string]any)["role"] != "system" {
						kept = append(kept, m)
					}
				}
				body["messages"] = kept
				raw, _ = json.Marshal(body)
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(raw))), int64(len(raw))
			}
			model.ServeHTTP(w, r)
		},
	}
}

// openAIWire is OpenAI Chat Completions by the strict host.
func openAIWire(s *playedModel) wireOf {
	return wireOf{
		read: func(body map[string]any) (n int, last any) {
			messages, _ := body["messages"].([]any)
			for _, m := range messages {
				if m := m.(map[string]any); m["role"] == "tool" {
					n, last = n+1, m["content"]
				}
			}
			return n, last
		},
		reply: s.host().ServeHTTP,
	}
}

// events sends server-sent events; each is an object with its type.
func events(w http.ResponseWriter, all ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range all {
		raw, _ := json.Marshal(e)
		if kind, ok := e["type"]; ok {
			fmt.Fprintf(w, "event: %s\n", kind)
		}
		fmt.Fprintf(w, "data: %s\n\n", raw)
	}
}

// responsesWire is as much of OpenAI Responses as the script needs.
func responsesWire(s *playedModel) wireOf {
	read := func(body map[string]any) (int, any) {
		return newest(find(body["input"], "function_call_output"), "output")
	}
	return wireOf{read: read, reply: func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if !strings.HasSuffix(r.URL.Path, "/responses") || json.NewDecoder(r.Body).Decode(&body) != nil {
			http.NotFound(w, r)
			return
		}
		n, _ := read(body)
		item := map[string]any{"type": "message", "role": "assistant", "id": "m", "content": []any{map[string]any{"type": "output_text", "text": "Done."}}}
		if name, args, ok := s.call(n); ok {
			space, name, _ := strings.Cut(name, "/")
			item = map[string]any{"type": "function_call", "id": fmt.Sprint("f", n), "call_id": fmt.Sprint("c", n), "namespace": space, "name": name, "arguments": args}
		}
		id := fmt.Sprint("r", n)
		events(w, map[string]any{"type": "response.created", "response": map[string]any{"id": id}},
			map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item},
			map[string]any{"type": "response.completed", "response": map[string]any{"id": id, "output": []any{item},
				"usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
	}}
}

// geminiWire is as much of generateContent as the script needs.
func geminiWire(s *playedModel) wireOf {
	read := func(body map[string]any) (n int, last any) {
		contents, _ := body["contents"].([]any)
		for _, c := range contents {
			parts, _ := c.(map[string]any)["parts"].([]any)
			for _, p := range parts {
				if f, ok := p.(map[string]any)["functionResponse"].(map[string]any); ok {
					n, last = n+1, f["response"]
				}
			}
		}
		return n, last
	}
	return wireOf{read: read, reply: func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if !strings.Contains(r.URL.Path, ":streamGenerateContent") || json.NewDecoder(r.Body).Decode(&body) != nil {
			http.Error(w, `{"error":{"code":400,"message":"only streamGenerateContent","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
			return
		}
		n, _ := read(body)
		part := map[string]any{"text": "Done."}
		if name, args, ok := s.call(n); ok {
			part = map[string]any{"functionCall": map[string]any{"name": name, "args": json.RawMessage(args)}}
		}
		events(w, map[string]any{"candidates": []any{map[string]any{"index": 0, "finishReason": "STOP", "content": map[string]any{"role": "model", "parts": []any{part}}}},
			"usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})
	}}
}
