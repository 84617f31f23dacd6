package modelhost

import (
	"encoding/json"
	"strings"

	"github.com/rye-os/rye/agent/provider/script"
	"github.com/rye-os/rye/fault"
)

// wholeAnthropic is the answer as one document. Unlike a stream it cannot carry arguments that are
// not an object.
func wholeAnthropic(a *script.Answer) (any, error) {
	type obj = map[string]any
	content := []any{}
	if text := strings.Join(a.Think, ""); text != "" {
		content = append(content, obj{"type": "thinking", "thinking": text, "signature": script.Signature(text)})
	}
	if text := strings.Join(a.Say, ""); text != "" {
		content = append(content, obj{"type": "text", "text": text})
	}
	for _, c := range a.Calls {
		v, _ := decodeJSON([]byte(c.Args))
		if _, ok := v.(map[string]any); !ok {
			return nil, fault.New(fault.Malformed, "the arguments of %s are not a JSON object, and only a stream can carry them", c.Name)
		}
		content = append(content, obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
	}
	return obj{"id": a.ID("msg"), "type": "message", "role": "assistant", "model": a.Model, "content": content,
		"stop_reason": script.Stops[a.Stop], "stop_sequence": nil, "usage": a.Counted(a.Usage.Output + a.Usage.Reasoning)}, nil
}
