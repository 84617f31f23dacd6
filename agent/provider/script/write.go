package script

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// argument is the number of bytes of a call's arguments in one event.
const argument = 24

// Stops are the reasons to stop in the words of Anthropic Messages.
var Stops = map[string]string{"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}

type obj = map[string]any

// encode writes a JSON value with sorted keys and only necessary escapes.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("script: " + err.Error()) // values come from JSON, or were checked
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Counted is the usage as Anthropic Messages counts it: thinking is part of the output, and cached tokens are
// not part of the input.
func (a *Answer) Counted(output int64) obj {
	u := a.Usage
	return obj{"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite + u.CacheLong, "cache_read_input_tokens": u.CacheRead,
		"cache_creation": obj{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": u.CacheLong},
		"output_tokens":  output, "output_tokens_details": obj{"thinking_tokens": u.Reasoning}}
}

// Events returns the answer as the events of a stream of Anthropic Messages. A failure that is not
// nil is the last of them.
func (a *Answer) Events(f *Failure) [][]byte {
	var s stream
	begun := a.Counted(1)
	delete(begun, "output_tokens_details") // it has not thought yet
	s.send(obj{"type": "message_start", "message": obj{"id": a.ID("msg"), "type": "message", "role": "assistant", "model": a.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": begun}})
	s.send(obj{"type": "ping"})
	if len(a.Think) > 0 {
		s.open(obj{"type": "thinking", "thinking": "", "signature": ""})
		s.deltas("thinking_delta", "thinking", a.Think...)
		s.deltas("signature_delta", "signature", Signature(strings.Join(a.Think, "")))
		s.close()
	}
	if len(a.Say) > 0 {
		s.open(obj{"type": "text", "text": ""})
		s.deltas("text_delta", "text", a.Say...)
		s.close()
	}
	for _, c := range a.Calls {
		s.open(obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": obj{}})
		s.deltas("input_json_delta", "partial_json", "") // as the service begins; a call without arguments sends nothing else
		if c.Args != "{}" {
			s.deltas("input_json_delta", "partial_json", Split(c.Args)...)
		}
		s.close()
	}
	if f != nil {
		return append(s.events, Event("error", f.document()))
	}
	s.send(obj{"type": "message_delta", "delta": obj{"stop_reason": Stops[a.Stop], "stop_sequence": nil}, "usage": a.Counted(a.Usage.Output + a.Usage.Reasoning)})
	s.send(obj{"type": "message_stop"})
	return s.events
}

// A stream collects events.
type stream struct {
	events [][]byte
	index  int // of the block that is open
}

func (s *stream) send(data obj) {
	s.events = append(s.events, Event(data["type"].(string), encode(data)))
}

func (s *stream) open(block obj) {
	s.send(obj{"type": "content_block_start", "index": s.index, "content_block": block})
}

func (s *stream) deltas(kind, name string, texts ...string) {
	for _, t := range texts {
		s.send(obj{"type": "content_block_delta", "index": s.index, "delta": obj{"type": kind, name: t}})
	}
}

func (s *stream) close() {
	s.send(obj{"type": "content_block_stop", "index": s.index})
	s.index++
}

// Event returns an event of a stream; name may be "".
func Event(name string, data []byte) []byte {
	if name != "" {
		name = "event: " + name + "\n"
	}
	return fmt.Appendf(nil, "%sdata: %s\n\n", name, data)
}

// Split cuts a text into short pieces, never inside a character.
func Split(s string) (out []string) {
	for len(s) > argument {
		n := argument
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

// Signature returns the signature of thinking. It derives from the text, so that a request shows
// whether the text came back unchanged.
func Signature(thinking string) string {
	sum := sha256.Sum256([]byte("the scripted model thought:\n" + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// kinds name errors by their status, as the service documents them
// (docs.anthropic.com/en/api/errors).
var kinds = map[int]string{
	401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
	429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}

// Kind returns the type of the error, which follows from the status unless the script has one.
func (f *Failure) Kind() string {
	switch kind := cmp.Or(f.Type, kinds[f.Status]); {
	case kind != "":
		return kind
	case f.Status < 500:
		return "invalid_request_error"
	}
	return "api_error"
}

// document is the error in the form of Anthropic Messages.
func (f *Failure) document() []byte {
	return encode(obj{"type": "error", "error": obj{"type": f.Kind(), "message": f.Message}})
}
