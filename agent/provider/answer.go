package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rye-os/rye/internal/words"
)

// Bounds of an answer, in bytes. The kept part is bounded by the requested output. All bytes from
// the network, including names, pings and unknown events, are bounded by a multiple of that.
const (
	maxKept      = 64 << 20
	keptBase     = 1 << 20
	keptPerToken = 256 // runs of spaces make the longest tokens, 128 of them
	wireFactor   = 8
	perPart      = 64 // cost of a part besides its text
)

func keptBytes(maxOutput int64) int64 {
	if maxOutput <= 0 || maxOutput > (maxKept-keptBase)/keptPerToken {
		return maxKept
	}
	return keptBase + maxOutput*keptPerToken
}

// decoder reads one answer, as a stream of events or as a whole.
type decoder interface {
	event(data []byte) (done bool, err error)
	whole(body []byte) error
	parts() ([]Part, error)
	common() *answer
}

// answer is the part of an answer that both decoders share, besides the parts.
type answer struct {
	p     *Provider
	m     *Model
	on    func(Delta)
	fail  func(body any) *Error // makes an *Error from the provider's description of a failure
	seed  [32]byte              // for the ids of calls that lack one
	left  int64                 // bytes that may still be kept
	began bool                  // a part of the answer has come

	tally   tally
	model   string
	id      string
	word    string // the provider's word for the end
	refused bool   // the provider refused in another way than by that word
	ids     map[string]bool
}

func (a *answer) common() *answer { return a }

func (p *Provider) decoder(a answer) decoder {
	a.ids = map[string]bool{}
	if p.request.encoder == anthropicMessages {
		return &anthropicDecoder{answer: a, blocks: map[int64]*block{}}
	}
	return &openaiDecoder{answer: a, fields: map[string]json.RawMessage{}, byIndex: map[int64]*openCall{}}
}

// broken is the error for an answer that breaks its format or ends in the middle.
func broken(format string, args ...any) *Error {
	return &Error{Class: Transient, Message: words.Printable("the answer " + fmt.Sprintf(format, args...))}
}

// beyond is the error for an answer that exceeds a bound.
func beyond(format string, args ...any) *Error {
	return &Error{Class: Invalid, Message: "the answer has " + fmt.Sprintf(format, args...)}
}

func (a *answer) keep(n int) error {
	if a.left -= int64(n); a.left < 0 {
		return beyond("more bytes than the requested %d tokens can have", a.m.MaxOutput)
	}
	return nil
}

func (a *answer) say(d Delta) {
	if a.on != nil && d != (Delta{}) {
		a.on(d)
	}
}

func (a *answer) count(usage json.RawMessage) error {
	if err := a.tally.take(&a.p.usage, usage); err != nil {
		return broken("has an invalid count: %v", err)
	}
	return nil
}

// callID returns the id of a new call. A missing id, or the id of another call in the answer, is
// replaced by a new one.
func (a *answer) callID(id string) string {
	if id == "" || len(id) > 512 || a.ids[id] {
		sum := sha256.Sum256(append(a.seed[:], strconv.Itoa(len(a.ids))...))
		id = "call_" + hex.EncodeToString(sum[:12])
	}
	a.ids[id] = true
	return id
}

// finishWords are the documented words of the formats; an item may add others.
var finishWords = map[string]map[string]string{
	anthropicMessages: {"end_turn": StopEnd, "stop_sequence": StopEnd, "tool_use": StopCalls, "max_tokens": StopLength,
		"model_context_window_exceeded": StopLength, "refusal": StopRefusal, "pause_turn": StopPause},
	openaiChat: {"stop": StopEnd, "tool_calls": StopCalls, "function_call": StopCalls, "length": StopLength, "content_filter": StopFilter},
}

// stop returns the reason for the end of the answer, and the parts that are valid. Calls are valid
// whatever the provider's word is, with two exceptions: none may be made after a refusal, and an
// answer that was cut off lacks its unfinished call.
func (a *answer) stop(parts []Part) ([]Part, string, error) {
	s := a.p.finish[a.word]
	if s == "" {
		s = finishWords[a.p.request.encoder][a.word]
	}
	if a.refused && (s == "" || s == StopEnd) {
		s = StopRefusal
	}
	switch s {
	case "failed":
		e := a.fail(map[string]any{"error": map[string]any{"code": a.word, "message": "the provider ended the answer"}})
		return nil, "", e
	case StopRefusal, StopFilter:
		parts = withoutCalls(parts)
	case StopLength:
		if n := len(parts) - 1; n >= 0 && parts[n].Call != nil && parts[n].Call.Bad != "" {
			parts = parts[:n]
		}
	}
	switch n := len(calls(parts)); {
	case n > 0:
		s = StopCalls
	case s == "", s == StopCalls: // an unknown word, or a word for calls without any call
		s = StopEnd
	}
	return parts, s, nil
}

func withoutCalls(parts []Part) (out []Part) {
	for _, part := range parts {
		if part.Call == nil {
			out = append(out, part)
		}
	}
	return out
}

// response assembles the Response.
func (a *answer) response(parts []Part) (*Response, error) {
	parts, stop, err := a.stop(parts)
	if err != nil {
		return nil, err
	}
	u, known := a.tally.usage(&a.p.usage, a.p.caching.mode == "breakpoints" && a.p.caching.ttl == "1h")
	r := &Response{Parts: parts, Stop: stop, Usage: u, Model: words.Clip(words.Printable(a.model), 200), RequestID: words.Clip(words.Printable(a.id), 200)}
	switch {
	case a.tally.costed:
		r.Cost, r.CostKnown = a.tally.cost, true
	case known:
		r.Cost, r.CostKnown = a.p.Cost(a.m, u)
	}
	return r, nil
}
