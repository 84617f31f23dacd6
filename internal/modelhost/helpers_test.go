package modelhost

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/provider/script"
)

// serve starts a server of a script for the length of a test.
func serve(t *testing.T, text string) *Server {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Serve(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading it
}

// paths of the formats.
var paths = map[string]string{script.Anthropic: "/v1/messages", script.OpenAI: "/v1/chat/completions"}

// post sends a request's body.
func post(t *testing.T, v *Server, format, body string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", v.URL+paths[format], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return do(t, r, append([]string{"anthropic-version", "2023-06-01"}, header...)...)
}

func do(t *testing.T, r *http.Request, header ...string) reply {
	t.Helper()
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(r)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(b), err}
}

// ask is a conversation: turns of the model with their calls, between turns of the user.
type ask struct {
	system, prompt string
	turns          []turn
	stream         bool
	more           map[string]any // further members of the request
}

// turn is one of the model and what the user said to it.
type turn struct {
	text    string
	calls   []script.Call
	results []script.Result
}

// body writes the conversation in a format.
func (a ask) body(format string) string {
	body := map[string]any{"model": "m-1", "max_tokens": 1000}
	if a.stream {
		body["stream"] = true
	}
	for k, v := range a.more {
		body[k] = v
	}
	type obj = map[string]any
	tool := obj{"name": "read_file", "description": "reads", "input_schema": obj{"type": "object"}}
	if format == script.Anthropic {
		if body["tools"] == nil {
			body["tools"] = []any{tool}
		}
		if a.system != "" {
			body["system"] = a.system
		}
		messages := []any{obj{"role": "user", "content": a.prompt}}
		for _, u := range a.turns {
			var said, back []any
			if u.text != "" {
				said = append(said, obj{"type": "text", "text": u.text})
			}
			for _, c := range u.calls {
				said = append(said, obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
			}
			for _, r := range u.results {
				back = append(back, obj{"type": "tool_result", "tool_use_id": r.ID, "content": r.Text, "is_error": r.Failed})
			}
			if back == nil {
				back = append(back, obj{"type": "text", "text": "go on"})
			}
			messages = append(messages, obj{"role": "assistant", "content": said}, obj{"role": "user", "content": back})
		}
		body["messages"] = messages
		return string(compact(body))
	}
	if body["tools"] == nil {
		body["tools"] = []any{obj{"type": "function", "function": obj{"name": "read_file", "description": "reads", "parameters": obj{"type": "object"}}}}
	}
	var messages []any
	if a.system != "" {
		messages = append(messages, obj{"role": "system", "content": a.system})
	}
	messages = append(messages, obj{"role": "user", "content": a.prompt})
	for _, u := range a.turns {
		said := obj{"role": "assistant", "content": u.text}
		var calls []any
		for _, c := range u.calls {
			calls = append(calls, obj{"id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": c.Args}})
		}
		if calls != nil {
			said["tool_calls"] = calls
		}
		messages = append(messages, said)
		for _, r := range u.results {
			messages = append(messages, obj{"role": "tool", "tool_call_id": r.ID, "content": r.Text})
		}
		if u.results == nil {
			messages = append(messages, obj{"role": "user", "content": "go on"})
		}
	}
	body["messages"] = messages
	return string(compact(body))
}

// said returns the text of a document that was not streamed, or the error's message.
func said(t *testing.T, r reply) string {
	t.Helper()
	var doc struct {
		Content []struct{ Text string }
		Choices []struct{ Message struct{ Content string } }
		Error   struct{ Message string }
	}
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil {
		t.Fatalf("%v in %q (status %d, %v)", err, r.body, r.status, r.err)
	}
	text := doc.Error.Message
	for _, c := range doc.Content {
		text += c.Text
	}
	for _, c := range doc.Choices {
		text += c.Message.Content
	}
	return text
}

// both runs a test in both formats.
func both(t *testing.T, f func(t *testing.T, format string)) {
	for format := range paths {
		t.Run(format, func(t *testing.T) { f(t, format) })
	}
}

// events returns the events of a stream: what stands behind data.
func events(body string) (out []string) {
	for l := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}
