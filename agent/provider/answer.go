package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rye-os/rye/internal/words"
)

// Bounds of an answer, in bytes. What is kept of it is bounded by what was asked for; what
// comes over the wire besides (names, pings, what nobody knows) by a multiple of that.
const (
	maxKept      = 64 << 20
	keptBase     = 1 << 20
	keptPerToken = 256 // runs of spaces make the longest tokens, 128 of them
	wireFactor   = 8
	perPart      = 64 // what a part costs besides its text
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

// answer is what both decoders gather besides the parts.
type answer struct {
	p     *Provider
	m     *Model
	on    func(Delta)
	fail  func(body any) *Error // makes a failure of what the provider says of one
	seed  [32]byte              // for the names of calls that have none
	left  int64                 // bytes that may still be kept
	began bool                  // something of the answer came

	tally   tally
	model   string
	id      string
	word    string // what ended it, in the provider's word
	refused bool   // it said so in another way than by that word
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

// broken is an answer that breaks its format or ends in the middle.
func broken(format string, args ...any) *Error {
	return &Error{Class: Transient, Message: words.Printable("the answer " + fmt.Sprintf(format, args...))}
}

// beyond is an answer that passes a bound.
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

// callID returns the id of the call that begins: its own, or a new one where it has none or
// that of another call of the answer.
func (a *answer) callID(id string) string {
	if id == "" || len(id) > 512 || a.ids[id] {
		sum := sha256.Sum256(append(a.seed[:], strconv.Itoa(len(a.ids))...))
		id = "call_" + hex.EncodeToString(sum[:12])
	}
	a.ids[id] = true
	return id
}

// finishWords are what the formats document; an item may say more.
var finishWords = map[string]map[string]string{
	anthropicMessages: {"end_turn": StopEnd, "stop_sequence": StopEnd, "tool_use": StopCalls, "max_tokens": StopLength,
		"model_context_window_exceeded": StopLength, "refusal": StopRefusal, "pause_turn": StopPause},
	openaiChat: {"stop": StopEnd, "tool_calls": StopCalls, "function_call": StopCalls, "length": StopLength, "content_filter": StopFilter},
}

// stop says what ended the answer, and which of its parts count. Calls count whatever the
// provider's word is, but two: an answer that ends in a refusal has none that may be made,
// and one that was cut off lacks the call that it was in the middle of.
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
	case s == "", s == StopCalls: // an unknown word, or one that is not true
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

// response puts the answer together.
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
