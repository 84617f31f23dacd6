package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/rye-os/rye/chain/primitive"
)

// Outcome is what a tool's run means to its caller.
type Outcome struct {
	OK    bool
	Error string          // what the tool said when it failed
	Data  json.RawMessage // always JSON
}

// Read gives the meaning of a result: output that is JSON is the data, and its
// own "success": false is a failure; anything else is handed on as text with the
// exit status. The ancestor's rules.
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

// complaint picks the best words for a failure, in the ancestor's order.
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
	return "the tool reported a failure without words"
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
