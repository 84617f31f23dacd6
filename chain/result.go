package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/web"
)

// Outcome is the result of a tool's run, as its caller reads it.
type Outcome struct {
	OK    bool
	Error string          // the tool's message when it failed
	Data  json.RawMessage // always JSON
}

// Read interprets a result by RYE OS's rules. Output that is JSON is the data, and "success":
// false in it is a failure. Other output becomes text in the data, with the exit status.
func Read(r primitive.Result) Outcome {
	out := Outcome{OK: r.Exit == 0 && !r.TimedOut}
	text := bytes.TrimSpace(r.Stdout)
	var data any
	if !r.Truncated && isJSON(text, &data) {
		out.Data = json.RawMessage(bytes.Clone(text))
	} else {
		data = nil
		out.Data, _ = encodeJSON(map[string]any{"stdout": string(r.Stdout), "stderr": string(r.Stderr), "return_code": r.Exit})
	}
	m, _ := data.(map[string]any)
	if ok, said := m["success"].(bool); said && !ok {
		out.OK = false
	}
	if !out.OK {
		out.Error = complaint(r, m)
	}
	return out
}

// complaint picks the best message for a failure, in RYE OS's order.
func complaint(r primitive.Result, data map[string]any) string {
	if s := bytes.TrimSpace(r.Stderr); len(s) > 0 {
		return string(s)
	}
	for _, key := range []string{"error", "stderr"} {
		if s, ok := data[key].(string); ok && s != "" {
			return s
		}
	}
	if r.Signal != "" {
		return "ended by " + r.Signal
	}
	if r.Exit != 0 {
		return "exit status " + paramText(r.Exit)
	}
	return "the tool reported a failure without a message"
}

// ReadResponse interprets an answer. A status from 200 to 399 is success. The data has the
// status, the headers and the body, as JSON where the body is JSON. A stream has its events
// instead of a body. These are RYE OS's rules.
func ReadResponse(r *web.Response) Outcome {
	data := map[string]any{"status_code": r.Status, "headers": r.Header}
	var body any
	switch {
	case r.Streamed:
		events := r.Events
		if events == nil {
			events = []web.Event{}
		}
		data["events"], data["stream_events_count"] = events, r.Count
	case !r.Truncated && isJSON(bytes.TrimSpace(r.Body), &body):
		data["body"] = json.RawMessage(bytes.TrimSpace(r.Body))
	case utf8.Valid(r.Body):
		data["body"] = string(r.Body)
	case r.Truncated && utf8.Valid(bytes.TrimRightFunc(r.Body, func(c rune) bool { return c == utf8.RuneError })):
		data["body"] = strings.ToValidUTF8(string(r.Body), "") // cut inside a character
	default:
		data["body_base64"] = r.Body
	}
	out := Outcome{OK: r.Status >= 200 && r.Status < 400}
	if !out.OK {
		out.Error = "answered " + r.Says()
		if words := saying(body); words != "" {
			out.Error += ": " + words
		}
	}
	out.Data, _ = encodeJSON(data)
	return out
}

// saying finds an error's message in its usual places: error, error.message, message, detail.
func saying(body any) string {
	m, _ := body.(map[string]any)
	if inner, ok := m["error"].(map[string]any); ok {
		m = inner
	}
	for _, key := range []string{"error", "message", "detail"} {
		if s, ok := m[key].(string); ok && s != "" {
			return s[:min(len(s), 2000)]
		}
	}
	return ""
}

func isJSON(text []byte, into *any) bool {
	if len(text) == 0 {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(into) != nil {
		return false
	}
	_, err := dec.Token()
	return errors.Is(err, io.EOF)
}
